"""Cross-validation: estimate the loss on new rows without new rows.

    estimate    CV = 1/K sum_k  loss of (model fitted without fold k) on fold k

A model must not be judged on rows that it was fitted on. If K-fold cross-validation also chooses a
setting, the smallest CV is too low as an estimate: the choice has seen all rows. Nested
cross-validation repeats the choice inside each training part.

k_folds:
1. Shuffle the row numbers and deal them out to K folds in turn.

cross_validate:
2. For each fold: fit on the other folds, and compute the loss on the fold.

choose:
3. Cross-validate each setting; the smallest mean loss wins, and the earlier one of equals.

nested_cross_validate:
4. For each outer fold: choose the setting by cross-validation within the other folds, refit with it
   on all of them, and compute the loss on the outer fold, which took no part in the choice.

`make(setting)` gives an unfitted model, `loss(y, predicted)` a number.
"""

import numpy as np


def k_folds(n, K, rng):
    """The (train, test) row numbers of each of K folds."""
    fold = np.empty(n, dtype=int)
    fold[rng.permutation(n)] = np.arange(n) % K  # step 1
    return [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(K)]


def cross_validate(make, setting, X, y, folds, loss):
    """The loss on each fold of models fitted without it."""
    losses = []
    for train, test in folds:  # step 2
        model = make(setting).fit(X[train], y[train])
        losses.append(loss(y[test], model.predict(X[test])))
    return np.array(losses)


def choose(make, settings, X, y, folds, loss):
    """The setting with the smallest mean loss, and the mean losses of all."""
    means = [cross_validate(make, setting, X, y, folds, loss).mean() for setting in settings]
    return settings[int(np.argmin(means))], np.array(means)  # step 3


def nested_cross_validate(make, settings, X, y, K_outer, K_inner, loss, rng):
    """The loss on each outer fold, and the setting that was chosen without it."""
    losses, chosen = [], []
    for train, test in k_folds(len(y), K_outer, rng):  # step 4
        inner = k_folds(len(train), K_inner, rng)
        best, _ = choose(make, settings, X[train], y[train], inner, loss)
        model = make(best).fit(X[train], y[train])
        losses.append(loss(y[test], model.predict(X[test])))
        chosen.append(best)
    return np.array(losses), chosen
