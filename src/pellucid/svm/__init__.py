"""Support vector machines: linear, or with a kernel."""

from pellucid.svm.linear_svc import LinearSVC
from pellucid.svm.linear_svr import LinearSVR
from pellucid.svm.one_class_svm import OneClassSVM
from pellucid.svm.svc import SVC
from pellucid.svm.svr import SVR

__all__ = ["SVC", "SVR", "LinearSVC", "LinearSVR", "OneClassSVM"]
