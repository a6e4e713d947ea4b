"""What the comparison concludes, checked on tables whose truth is known.

    python -m scorecard statistics [--quick]                       both stages, and the verdict
    python -m scorecard.statistics simulate --cache DIR            stage 1: the predictions
    python -m scorecard.statistics judge --cache DIR --factor 1,2  stage 2: what rules conclude

1. `simulate` draws tables (`populations`), fits models (`learners`) in 5 folds and keeps the
   out-of-fold predictions and the true scores of the fitted models (`store`). It takes an hour.
2. `judge` asks rules (`rules`, and `by_folds`, the rule they replace) what they conclude from
   these predictions, counts how often they are wrong (`rates`) and compares the counts with
   what is promised (`card`). It takes minutes, so rules can be compared without fitting again.
"""
