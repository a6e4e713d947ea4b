"""Every method built from first principles: short NumPy code to read, not to run fast.

Each file states the objective as a formula and the numbered steps of the algorithm, and the same
numbers stand beside the lines of code. The constructions check no input. Tests compare each of them
with the class of the library. `pellucid show METHOD --plain` prints the file.
"""

from pellucid.plain.linear.least_squares import LeastSquares, LeastSquaresDescent
from pellucid.plain.nonlinear.k_neighbors import KDTree, KNearestClassifier, KNearestRegressor
from pellucid.plain.nonlinear.network import FeedForward
from pellucid.plain.nonlinear.svm import SVM, OneVsOneSVM
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

# The constructions of each method, by the name that `pellucid show` uses.
METHODS = {
    "ols": (LeastSquares, LeastSquaresDescent),
    "tree": (CART, CostComplexityPruning),
    "bagging": (BaggedTrees,),
    "forest": (RandomForest,),
    "adaboost": (AdaBoostSAMME, AdaBoostR2),
    "gradient_boosting": (GradientBoostedTrees,),
    "knn": (KNearestClassifier, KNearestRegressor, KDTree),
    "svm_rbf": (SVM, OneVsOneSVM),
    "mlp": (FeedForward,),
    "kmeans": (LloydKMeans,),
    "gaussian_mixture": (GaussianMixtureEM,),
    "tsne": (ExactTSNE,),
}

__all__ = ["METHODS", *sorted({made.__name__ for several in METHODS.values() for made in several})]
