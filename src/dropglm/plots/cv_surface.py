"""The scores of a cross-validation over dropout and ridge."""

from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from dropglm.plots.axes import COLOURS, fresh_axes


class CVSurfaceDisplay:
    """Mean score over the folds against dropout and l2, at the chosen ridge and discount.

    Parameters
    ----------
    dropouts : ndarray of shape (a,)
    l2s : ndarray of shape (b,)
        Both rising.
    scores : ndarray of shape (a, b)
        Mean score.
    chosen : tuple of (dropout, l2)
        What the search chose.
    title : str

    Attributes
    ----------
    ax_, figure_
        What ``plot`` drew on.

    Examples
    --------
    >>> from dropglm import LogisticRegressionCV
    >>> X, y = [[0.0], [1.0], [2.0], [0.5]] * 5, [0, 1, 1, 0] * 5
    >>> model = LogisticRegressionCV(dropout=(0.2, 0.5), l2=(0.1, 1.0, 10.0), cv=2).fit(X, y)
    >>> CVSurfaceDisplay.from_estimator(model).scores.shape
    (2, 3)
    """

    def __init__(
        self,
        dropouts: np.ndarray,
        l2s: np.ndarray,
        scores: np.ndarray,
        chosen: tuple[float, float],
        title: str = "Cross-validation",
    ) -> None:
        self.dropouts = dropouts
        self.l2s = l2s
        self.scores = scores
        self.chosen = chosen
        self.title = title

    @classmethod
    def from_estimator(cls, estimator: Any) -> Self:
        """Take the scores of a fitted ``LogisticRegressionCV``."""
        check_is_fitted(estimator, "cv_results_")
        found, best = estimator.cv_results_, estimator.best_index_
        here = [
            k
            for k, params in enumerate(found["params"])
            if params["l2_weights"] is found["params"][best]["l2_weights"]
            and params["discount"] == found["params"][best]["discount"]
        ]
        dropout, l2 = (found[f"param_{name}"][here].astype(float) for name in ("dropout", "l2"))
        dropouts, l2s = np.unique(dropout), np.unique(l2)
        scores = np.full((len(dropouts), len(l2s)), np.nan)
        scores[np.searchsorted(dropouts, dropout), np.searchsorted(l2s, l2)] = found["mean_test_score"][here]
        ridge = estimator.l2_weights_ if isinstance(estimator.l2_weights_, str) else "given"
        title = f"Mean score over the folds, ridge {ridge.replace('_', ' ')}"
        return cls(dropouts, l2s, scores, (estimator.dropout_, estimator.l2_), title)

    def plot(self, ax: Any = None) -> Self:
        """Draw the surface with its numbers, on new axes if none are given."""
        ax = fresh_axes() if ax is None else ax
        # Drawn as rectangles, which stay sharp; the numbers say what a colour bar would.
        ax.pcolormesh(range(len(self.l2s)), range(len(self.dropouts)), self.scores, cmap="Blues")
        low, high = np.nanmin(self.scores), np.nanmax(self.scores)
        for (a, b), score in np.ndenumerate(self.scores):
            dark = high > low and (score - low) / (high - low) > 0.6
            ax.text(b, a, f"{score:.3g}", ha="center", va="center", color="white" if dark else "black")
        place = np.searchsorted(self.l2s, self.chosen[1]), np.searchsorted(self.dropouts, self.chosen[0])
        corner = place[0] - 0.46, place[1] - 0.46
        frame = {"fill": False, "edgecolor": COLOURS[1], "linewidth": 3}
        ax.add_patch(_rectangle(corner, **frame))
        ax.set_xticks(range(len(self.l2s)), [f"{l2:g}" for l2 in self.l2s])
        ax.set_yticks(range(len(self.dropouts)), [f"{dropout:g}" for dropout in self.dropouts])
        ax.set(xlabel="l2", ylabel="dropout", title=self.title)
        self.ax_, self.figure_ = ax, ax.figure
        return self


def _rectangle(corner: tuple[float, float], **style: Any) -> Any:
    from matplotlib.patches import Rectangle

    return Rectangle(corner, 0.92, 0.92, **style)
