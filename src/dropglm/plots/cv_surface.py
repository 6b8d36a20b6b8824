"""Cross-validation scores over dropout and l2."""

from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from dropglm.blocks import PerBlock
from dropglm.estimators import LogisticRegressionCV
from dropglm.plots.axes import COLORS, one_panel
from dropglm.text import TextClassifier


class CVSurfaceDisplay:
    """Mean cross-validation score against dropout and l2.

    The scores are those at the ``l2_weights`` and the ``discount`` that the search chose; a frame marks the
    chosen dropout and l2. It is recommended to use :meth:`from_estimator` to create a display.

    Parameters
    ----------
    dropouts : ndarray of shape (n_dropouts,)
        Values of dropout in increasing order.
    l2s : ndarray of shape (n_l2s,)
        Values of l2 in increasing order.
    scores : ndarray of shape (n_dropouts, n_l2s)
        Mean score over the folds.
    chosen : tuple of (float, float)
        The dropout and l2 that the search chose.
    title : str, default="Cross-validation"
        Title of the plot.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes of the plot.
    figure_ : matplotlib Figure
        Figure of the plot.
    surface_ : matplotlib QuadMesh
        The coloured cells.
    text_ : ndarray of shape (n_dropouts, n_l2s) of matplotlib Text
        The scores written into the cells.
    frame_ : matplotlib Rectangle
        The frame around the chosen cell.

    See Also
    --------
    ConvergenceDisplay : Convergence of a fit.

    Examples
    --------
    >>> from dropglm import LogisticRegressionCV
    >>> from dropglm.plots import CVSurfaceDisplay
    >>> X, y = [[0.0], [1.0], [2.0], [0.5]] * 5, [0, 1, 1, 0] * 5
    >>> grid = {"dropout": (0.2, 0.5), "l2": (0.1, 1.0, 10.0)}
    >>> model = LogisticRegressionCV(**grid, cv=2, extend_l2=False).fit(X, y)
    >>> display = CVSurfaceDisplay.from_estimator(model, cmap="Greens")
    >>> display.scores.shape, display.ax_.get_xlabel()
    ((2, 3), 'l2')
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
    def from_estimator(cls, estimator: Any, *, ax: Any = None, **kwargs: Any) -> Self:
        """Plot the cross-validation scores of a fitted estimator.

        Parameters
        ----------
        estimator : LogisticRegressionCV or TextClassifier
            A fitted :class:`~dropglm.LogisticRegressionCV`, or a :class:`~dropglm.TextClassifier` that was
            fitted with tuning.
        ax : matplotlib Axes, default=None
            Axes to draw on. If None, a new figure is created.
        **kwargs : dict
            Keyword arguments of ``matplotlib.axes.Axes.pcolormesh``.

        Returns
        -------
        CVSurfaceDisplay
            The display.
        """
        if not isinstance(estimator, (LogisticRegressionCV, TextClassifier)):
            raise TypeError(
                "CVSurfaceDisplay supports LogisticRegressionCV and TextClassifier, got "
                f"{type(estimator).__name__}."
            )
        check_is_fitted(estimator)
        if isinstance(estimator, TextClassifier):
            if not hasattr(estimator, "search_"):
                raise ValueError(
                    "This TextClassifier has no cross-validation scores, since it was fitted without tuning "
                    "or loaded from a file."
                )
            estimator = estimator.search_
        found, best = estimator.cv_results_, estimator.best_index_
        chosen = found["params"][best]
        here = [
            k
            for k, params in enumerate(found["params"])
            if params["l2_weights"] is chosen["l2_weights"]
            and (params["discount"], params["noise_std"]) == (chosen["discount"], chosen["noise_std"])
            and _rates(params["dropout"])[1:] == _rates(chosen["dropout"])[1:]
        ]
        dropout = np.array([float(_rates(rates)[0]) for rates in found["param_dropout"][here]])
        l2 = found["param_l2"][here].astype(float)
        dropouts, l2s = np.unique(dropout), np.unique(l2)
        scores = np.full((len(dropouts), len(l2s)), np.nan)
        scores[np.searchsorted(dropouts, dropout), np.searchsorted(l2s, l2)] = found["mean_test_score"][here]
        weights = estimator.l2_weights_ if isinstance(estimator.l2_weights_, str) else "array"
        title = f"Mean score over the folds, {weights.replace('_', ' ')} l2 weights"
        best_point = _rates(estimator.dropout_)[0], estimator.l2_
        display = cls(dropouts, l2s, scores, best_point, title)
        return display.plot(ax, **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw the scores as coloured cells with their values.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on. If None, a new figure is created.
        **kwargs : dict
            Keyword arguments of ``matplotlib.axes.Axes.pcolormesh``.

        Returns
        -------
        CVSurfaceDisplay
            The display itself.
        """
        ax = one_panel(ax)
        # Cells rather than an image, since they stay sharp; the written values replace a colour bar.
        columns, rows = range(len(self.l2s)), range(len(self.dropouts))
        self.surface_ = ax.pcolormesh(columns, rows, self.scores, **({"cmap": "Blues"} | kwargs))
        low, high = np.nanmin(self.scores), np.nanmax(self.scores)
        self.text_ = np.empty(self.scores.shape, dtype=object)
        for (a, b), score in np.ndenumerate(self.scores):
            dark = high > low and (score - low) / (high - low) > 0.6
            color = "white" if dark else "black"
            self.text_[a, b] = ax.text(b, a, f"{score:.3g}", ha="center", va="center", color=color)
        column, row = (
            np.searchsorted(self.l2s, self.chosen[1]),
            np.searchsorted(self.dropouts, self.chosen[0]),
        )
        self.frame_ = ax.add_patch(_frame_around(column, row))
        ax.set_xticks(columns, [f"{l2:g}" for l2 in self.l2s])
        ax.set_yticks(rows, [f"{dropout:g}" for dropout in self.dropouts])
        ax.set(xlabel="l2", ylabel="dropout", title=self.title)
        self.ax_, self.figure_ = ax, ax.figure
        return self


def _frame_around(column: Any, row: Any) -> Any:
    from matplotlib.patches import Rectangle

    corner = column - 0.46, row - 0.46
    return Rectangle(corner, 0.92, 0.92, fill=False, edgecolor=COLORS[1], linewidth=3)


def _rates(dropout: Any) -> tuple[Any, ...]:
    """Return the dropout rate of each block; the first one is drawn."""
    return dropout.values if isinstance(dropout, PerBlock) else (dropout,)
