import numpy as np

from pellucid.cluster._loops import Pass

class GroupPass(Pass):
    def bind(
        self, groups: np.ndarray, shift: np.ndarray, drift: np.ndarray, half: np.ndarray
    ) -> None: ...
    def run_groups(self, stop: np.ndarray) -> None: ...
