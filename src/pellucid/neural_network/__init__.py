"""Feed-forward networks: a classifier, a regressor, and the network that both train."""

from pellucid.neural_network.layers import Dense
from pellucid.neural_network.mlp_classifier import MLPClassifier
from pellucid.neural_network.mlp_regressor import MLPRegressor
from pellucid.neural_network.network import Network

__all__ = ["Dense", "MLPClassifier", "MLPRegressor", "Network"]
