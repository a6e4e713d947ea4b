"""Support vector machines: wide margins, in the space of a kernel."""

from pellucid.svm.one_class_svm import OneClassSVM
from pellucid.svm.svc import SVC
from pellucid.svm.svr import SVR

__all__ = ["SVC", "SVR", "OneClassSVM"]
