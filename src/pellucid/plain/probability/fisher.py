"""Fisher's discriminant: the direction that separates two classes best. The labels y are 0 and 1.

    objective   maximise  (w'(m1 - m0))^2 / (w'Sw)
                the squared distance of the projected class means over the projected scatter, with
                S = sum_i (x_i - m_(y_i)) (x_i - m_(y_i))'
    solution    the ratio does not depend on the length of w; its gradient is zero where Sw is
                proportional to m1 - m0:  w = S^-1 (m1 - m0)

1. Compute the class means m0 and m1.
2. Add up the scatter of the rows around the mean of their own class.
3. Solve S w = m1 - m0.
4. Project the rows on w; the cut-off is halfway between the projected means.
"""

import numpy as np


class FisherDiscriminant:
    """Fisher's direction for two classes, with the cut-off at the midpoint."""

    def fit(self, X, y):
        m0, m1 = X[y == 0].mean(axis=0), X[y == 1].mean(axis=0)  # step 1
        D0, D1 = X[y == 0] - m0, X[y == 1] - m1
        S = D0.T @ D0 + D1.T @ D1  # step 2
        self.w = np.linalg.solve(S, m1 - m0)  # step 3
        self.cutoff = self.w @ (m0 + m1) / 2  # step 4
        return self

    def transform(self, X):
        return X @ self.w

    def predict(self, X):
        return (self.transform(X) > self.cutoff).astype(int)
