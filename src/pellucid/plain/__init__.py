"""Every method built from first principles: short NumPy code to read, not to run fast.

Each file states the objective as a formula and the numbered steps of the algorithm, and the same
numbers stand beside the lines of code. The constructions check no input. Tests compare each of them
with the class of the library. `pellucid show METHOD --plain` prints the file.
"""

from pellucid.plain.linear.elastic_net import ElasticNet
from pellucid.plain.linear.glm import GeneralizedLinearModel
from pellucid.plain.linear.lasso import Lasso, LassoProximal
from pellucid.plain.linear.least_squares import LeastSquares, LeastSquaresDescent
from pellucid.plain.linear.logistic import LogisticDescent, LogisticNewton
from pellucid.plain.linear.logistic_sgd import LogisticSGD
from pellucid.plain.linear.pca import PCA
from pellucid.plain.linear.perceptron import Perceptron
from pellucid.plain.linear.ridge import Ridge
from pellucid.plain.linear.softmax import SoftmaxRegression
from pellucid.plain.nonlinear.k_neighbors import KDTree, KNearestClassifier, KNearestRegressor
from pellucid.plain.nonlinear.network import FeedForward
from pellucid.plain.nonlinear.svm import SVM, OneVsOneSVM
from pellucid.plain.probability.baseline import MajorityVote, Mean
from pellucid.plain.probability.bayesian_regression import BayesianRegression
from pellucid.plain.probability.bayesian_ridge import BayesianRidge
from pellucid.plain.probability.discriminants import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from pellucid.plain.probability.fisher import FisherDiscriminant
from pellucid.plain.probability.mixed_bayes import MixedNB
from pellucid.plain.probability.naive_bayes import (
    BernoulliNB,
    CategoricalNB,
    GaussianNB,
    MultinomialNB,
)
from pellucid.plain.trees.adaboost import AdaBoostSAMME
from pellucid.plain.trees.adaboost_r2 import AdaBoostR2
from pellucid.plain.trees.bagging import BaggedTrees
from pellucid.plain.trees.decision_tree import CART
from pellucid.plain.trees.gradient_boosting import GradientBoostedTrees
from pellucid.plain.trees.pruning import CostComplexityPruning
from pellucid.plain.trees.random_forest import RandomForest
from pellucid.plain.unsupervised.gaussian_mixture import GaussianMixtureEM
from pellucid.plain.unsupervised.kmeans import LloydKMeans
from pellucid.plain.unsupervised.tsne import ExactTSNE
from pellucid.plain.workflow.bootstrap import Bootstrap
from pellucid.plain.workflow.cross_validation import (
    choose,
    cross_validate,
    k_folds,
    nested_cross_validate,
)
from pellucid.plain.workflow.metrics import (
    accuracy,
    auc,
    average_precision,
    brier,
    confusion_matrix,
    f1,
    log_loss,
    mae,
    precision,
    precision_recall_curve,
    r2,
    recall,
    rmse,
    roc_curve,
)

# The constructions of each method, by the name that `pellucid show` uses.
METHODS = {
    # linear
    "ols": (LeastSquares, LeastSquaresDescent),
    "ridge": (Ridge,),
    "lasso": (Lasso, LassoProximal),
    "elastic_net": (ElasticNet,),
    "poisson": (GeneralizedLinearModel,),
    "glm": (GeneralizedLinearModel,),
    "logistic": (LogisticDescent, LogisticNewton, LogisticSGD),
    "sgd": (LogisticSGD,),
    "softmax": (SoftmaxRegression,),
    "perceptron": (Perceptron,),
    "pca": (PCA,),
    # probability
    "majority": (MajorityVote,),
    "mean": (Mean,),
    "bayesian_regression": (BayesianRegression,),
    "bayesian_ridge": (BayesianRidge,),
    "fisher": (FisherDiscriminant,),
    "lda": (LinearDiscriminantAnalysis,),
    "qda": (QuadraticDiscriminantAnalysis,),
    "naive_bayes": (GaussianNB, BernoulliNB, MultinomialNB, CategoricalNB, MixedNB),
    "multinomial_nb": (MultinomialNB,),
    # trees
    "tree": (CART, CostComplexityPruning),
    "bagging": (BaggedTrees,),
    "forest": (RandomForest,),
    "adaboost": (AdaBoostSAMME, AdaBoostR2),
    "gradient_boosting": (GradientBoostedTrees,),
    # nonlinear
    "knn": (KNearestClassifier, KNearestRegressor, KDTree),
    "svm_rbf": (SVM, OneVsOneSVM),
    "mlp": (FeedForward,),
    # unsupervised
    "kmeans": (LloydKMeans,),
    "gaussian_mixture": (GaussianMixtureEM,),
    "tsne": (ExactTSNE,),
    # workflow
    "metrics": (
        *(accuracy, confusion_matrix, precision, recall, f1, log_loss, brier),
        *(roc_curve, auc, precision_recall_curve, average_precision, rmse, mae, r2),
    ),
    "cross_validation": (k_folds, cross_validate, choose, nested_cross_validate),
    "bootstrap": (Bootstrap,),
}

__all__ = ["METHODS", *sorted({made.__name__ for several in METHODS.values() for made in several})]
