"""Metrics: how far are predictions from the truth?

Labels. Row i of the confusion matrix counts the rows of true class i by predicted class. With one
class called positive, its cells are TP (found), FN (missed), FP (false alarm) and TN:

1. accuracy = share of equal labels = trace of the confusion matrix / n.
2. precision = TP / (TP + FP): which share of the alarms is right?
   recall = TP / (TP + FN): which share of the positives is found?
   F1 = 2 precision recall / (precision + recall), their harmonic mean.

Probabilities and scores.

3. log loss = -mean_i log P(true class of row i): minus the mean log-likelihood.
   Brier score = mean_i (1[row i is positive] - P(positive))^2: a mean squared error of probabilities.
4. The ROC curve lowers a threshold from the highest score to the lowest, one distinct score at a time,
   and plots the share of positives above it (true positive rate) against the share of negatives
   above it (false positive rate).
5. AUC is the area under the ROC curve, by trapezoids. It equals the probability that a random
   positive has a higher score than a random negative, where equal scores count 1/2.
6. The precision-recall curve lowers the same threshold and plots precision against recall. Average
   precision adds up its steps: sum_t (recall_t - recall_{t-1}) precision_t, without interpolation.

Numbers.

7. RMSE = sqrt(mean (y - predicted)^2);  MAE = mean |y - predicted|.
8. R2 = 1 - sum (y - predicted)^2 / sum (y - mean y)^2: 0 for the mean, 1 for a perfect prediction.
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


def brier(y, probability, positive=1):
    return np.mean(((y == positive) - probability) ** 2)


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


def precision_recall_curve(y, score, positive=1):
    """Precision and recall, from the highest threshold to the lowest."""
    thresholds = np.unique(score)[::-1]
    precisions = [np.mean(y[score >= t] == positive) for t in thresholds]  # step 6
    recalls = [np.mean(score[y == positive] >= t) for t in thresholds]
    return np.array(precisions), np.array(recalls)


def average_precision(y, score, positive=1):
    precisions, recalls = precision_recall_curve(y, score, positive)
    return np.sum(np.diff(recalls, prepend=0) * precisions)


def rmse(y, predicted):
    return np.sqrt(np.mean((y - predicted) ** 2))  # step 7


def mae(y, predicted):
    return np.mean(np.abs(y - predicted))


def r2(y, predicted):
    return 1 - np.sum((y - predicted) ** 2) / np.sum((y - y.mean()) ** 2)  # step 8
