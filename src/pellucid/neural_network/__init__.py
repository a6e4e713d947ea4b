"""Feed-forward networks: the classifier, the regressor, and the network they are made of."""

from pellucid.neural_network.layers import Dense
from pellucid.neural_network.mlp_classifier import MLPClassifier
from pellucid.neural_network.mlp_regressor import MLPRegressor
from pellucid.neural_network.network import Network

__all__ = ["Dense", "MLPClassifier", "MLPRegressor", "Network"]
