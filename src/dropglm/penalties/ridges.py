"""How the ridge is spread over the features: λ_j = λ · weight_j.

``RIDGES`` turns a name into a function of (design, y, weights of the rows) that returns the weights, (d, K).
"""

from collections.abc import Callable

import numpy as np

from dropglm.design import Design

# Log ratios nearer to 0 than this are taken as this: no feature's ridge exceeds 10,000 λ.
FLOOR = 0.01


def uniform(design: Design, y: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The same for all features."""
    return np.ones((design.shape[1], y.shape[1]), design.dtype)


def naive_bayes(design: Design, y: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The weights 1/r_j², r_j the log ratio of a feature's frequencies in the class and in the others.

    Frequencies are smoothed by adding one, as in NB-SVM (Wang and Manning 2012), which scales features by
    r_j. Seen as a prior that is a ridge of its own for each feature; the dropout penalty does not change
    when features are scaled.
    """
    if design.smallest < 0.0:
        raise ValueError("ridge 'naive_bayes' needs features that are not negative; use 'uniform'.")
    own = design.transposed_dot(weights[:, None] * y)
    other = design.transposed_dot(weights[:, None] * (1.0 - y))
    # Features of rows without a weight or a label are no part of the vocabulary.
    seen = own + other > 0.0
    frequencies = [np.where(seen, 1.0 + counts, 0.0) for counts in (own, other)]
    shares = [counts / counts.sum(axis=0) for counts in frequencies]
    r = np.log(np.where(seen, shares[0], 1.0)) - np.log(np.where(seen, shares[1], 1.0))
    return np.maximum(np.abs(r), FLOOR).astype(design.dtype) ** -2


Ridge = Callable[[Design, np.ndarray, np.ndarray], np.ndarray]

RIDGES: dict[str, Ridge] = {"uniform": uniform, "naive_bayes": naive_bayes}
