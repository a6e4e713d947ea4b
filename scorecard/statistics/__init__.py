"""The conclusions of the comparison, checked on simulated tables whose truth is known.

    python -m scorecard statistics [--quick]                       both stages and the verdict
    python -m scorecard.statistics simulate --cache DIR            stage 1: the predictions
    python -m scorecard.statistics judge --cache DIR --factor 1,2  stage 2: the conclusions

1. `simulate` draws tables (`populations`), fits models (`learners`) in 5 folds and keeps the
   out-of-fold predictions and the true scores of the fitted models (`store`). It takes an hour.
2. `judge` applies rules to these predictions (`rules`, and `by_folds`, the previous rule), counts how
   often they are wrong (`rates`) and compares the counts with the promises (`verdict`, `card`). It
   takes minutes, so rules can be compared without fitting again.
"""
