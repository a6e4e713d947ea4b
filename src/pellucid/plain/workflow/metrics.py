"""Metrics: how far are predictions from the truth?

Labels. Row i of the confusion matrix counts the rows of true class i by predicted class. With one
class called positive, its cells are TP (found), FN (missed), FP (false alarm) and TN:

1. accuracy = share of equal labels = trace of the confusion matrix / n.
2. precision = TP / (TP + FP): which share of the alarms is right?
   recall = TP / (TP + FN): which share of the positives is found?
   F1 = 2 precision recall / (precision + recall), their harmonic mean.

Probabilities and scores.

3. log loss = -mean_i log P(true class of row i): minus the mean log-likelihood.
4. The ROC curve lowers a threshold from the highest score to the lowest, one distinct score at a time,
   and plots the share of positives above it (true positive rate) against the share of negatives
   above it (false positive rate).
5. AUC is the area under the ROC curve, by trapezoids. It equals the probability that a random
   positive has a higher score than a random negative, where equal scores count 1/2.

Numbers.

6. RMSE = sqrt(mean (y - predicted)^2).
7. R2 = 1 - sum (y - predicted)^2 / sum (y - mean y)^2: 0 for the mean, 1 for a perfect prediction.
"""

import numpy as np


def confusion_matrix(y, predicted, classes):
    return np.array([[np.sum((y == i) & (predicted == j)) for j in classes] for i in classes])


def accuracy(y, predicted):
    return np.mean(y == predicted)  # step 1


def precision(y, predicted, positive=1):
    return np.mean(y[predicted == positive] == positive)  # step 2


def recall(y, predicted, positive=1):
    return np.mean(predicted[y == positive] == positive)


def f1(y, predicted, positive=1):
    p, r = precision(y, predicted, positive), recall(y, predicted, positive)
    return 2 * p * r / (p + r)


def log_loss(y, proba, classes):
    column = np.searchsorted(classes, y)
    return -np.mean(np.log(proba[np.arange(len(y)), column]))  # step 3


def roc_curve(y, score, positive=1):
    """False and true positive rates, from (0, 0) to (1, 1)."""
    is_positive = y == positive
    fpr, tpr = [0.0], [0.0]
    for threshold in np.unique(score)[::-1]:  # step 4
        above = score >= threshold
        tpr.append(np.mean(above[is_positive]))
        fpr.append(np.mean(above[~is_positive]))
    return np.array(fpr), np.array(tpr)


def auc(y, score, positive=1):
    fpr, tpr = roc_curve(y, score, positive)
    return np.sum(np.diff(fpr) * (tpr[1:] + tpr[:-1]) / 2)  # step 5


def rmse(y, predicted):
    return np.sqrt(np.mean((y - predicted) ** 2))  # step 6


def r2(y, predicted):
    return 1 - np.sum((y - predicted) ** 2) / np.sum((y - y.mean()) ** 2)  # step 7
