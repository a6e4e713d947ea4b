"""Support vector machines: wide margins, in the space of a kernel."""

from pellucid.svm.svc import SVC

__all__ = ["SVC"]
