"""What the linear estimators share: predictions after checks of the features, and callbacks of a fit."""

from collections.abc import Callable
from copy import copy
from itertools import pairwise
from types import TracebackType
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from dropglm.base import checks
from dropglm.base.blocks import Blocks
from dropglm.base.errors import InputError
from dropglm.base.progress import Progress
from dropglm.core.objective import Coefficients
from dropglm.core.predictions import ClassPredictions, LinearPredictions, LogisticPredictions
from dropglm.core.problem import IterationCallback
from dropglm.linear.validation import check_settings
from dropglm.places.labels import indicators_of
from dropglm.places.rows import TrainingData

try:
    import sklearn.callback as sklearn_callback  # scikit-learn 1.9 and later
except ImportError:
    sklearn_callback = None

CallbackSupportMixin: Any = getattr(
    sklearn_callback, "CallbackSupportMixin", type("CallbackSupportMixin", (), {})
)
with_callbacks: Any = getattr(sklearn_callback, "with_callbacks", lambda method: method)


class FitCallbacks:
    """What observes the iterations of a fit, as a context around it.

    scikit-learn's callbacks see a fit as a tree of tasks: the fit, its problems, the iterations of each.

    Parameters
    ----------
    estimator : estimator
        With ``max_iter`` and ``verbose``.
    data : TrainingData
        Passed on to the callbacks.
    n_problems : int
    """

    def __init__(self, estimator: Any, data: TrainingData, n_problems: int) -> None:
        self.estimator = estimator
        self.data: dict[str, Any] = {}
        self.several = n_problems > 1  # one class against the rest each
        what, total = ("classes", n_problems) if self.several else ("iterations", None)
        self.progress = Progress(what, total, shown=bool(estimator.verbose))
        self.fit_task: Any = None
        self.problem_task: Any = None
        if getattr(estimator, "_skl_callbacks", None):
            y = data.classes[data.y] if data.classes.size and not data.multilabel else data.y
            y = data.memberships.astype(np.intp) if data.multilabel else y
            self.data = {"X": data.X, "y": y, "metadata": {"sample_weight": data.sample_weights}}
            self.fit_task = estimator._init_callback_context(max_subtasks=n_problems)

    def __enter__(self) -> Self:
        self.progress.__enter__()
        if self.fit_task is not None:
            self.fit_task.call_on_fit_task_begin(estimator=self.estimator, **self.data)
        return self

    @property
    def in_order(self) -> bool:
        """Whether problems are solved one after the other, as the tasks of callbacks must be."""
        return self.fit_task is not None

    def next_problem(self, attributes: Callable[[Any, Any], dict[str, Any]]) -> IterationCallback | None:
        """Return the function to call after each iteration of the next problem, or None if nobody observes.

        ``attributes`` turns β and b into the attributes of an estimator that is fitted so far.
        """
        if not (self.in_order or self.progress.shown):
            return None
        task = None
        if self.fit_task is not None:
            self._end_problem()
            task = self.problem_task = self.fit_task.subcontext(
                task_name="problem", max_subtasks=self.estimator.max_iter
            )
            task.call_on_fit_task_begin(estimator=self.estimator, **self.data)

        def after_iteration(number: int, objective: float, coefficients: Callable[[], Coefficients]) -> bool:
            self.progress.advance(int(not self.several), note=f"objective {objective:.8g}")
            if task is None:
                return False
            iteration = task.subcontext(task_name="iteration")
            iteration.call_on_fit_task_begin(estimator=self.estimator, **self.data)
            return iteration.call_on_fit_task_end(
                estimator=self.estimator,
                reconstruction_attributes=lambda: attributes(*coefficients()),
                **self.data,
            )

        return after_iteration

    def problem_solved(self) -> None:
        """Count a class as fitted, if there are several problems."""
        if self.several:
            self.progress.advance()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.progress.__exit__(kind, error, trace)
        if self.fit_task is not None and error is None:
            self._end_problem()
            self.fit_task.call_on_fit_task_end(
                estimator=self.estimator, reconstruction_attributes=dict, **self.data
            )

    def _end_problem(self) -> None:
        if self.problem_task is not None:
            self.problem_task.call_on_fit_task_end(estimator=self.estimator, **self.data)


class LinearModel(LinearPredictions, BaseEstimator):
    """A model that is linear in its features."""

    # Unlabelled rows mean the same to every estimator that takes them, so metadata routing needs no request.
    __metadata_request__fit: ClassVar[dict[str, bool]] = {"X_unlabeled": True, "unlabeled_weight": True}
    _targets: ClassVar[Any] = "labels"  # what y is: "labels", "numbers" or "counts"
    _has_checkpoints: ClassVar[bool] = True  # whether a fit to partitions can be continued

    def _check_settings(self) -> None:
        """Check the settings before a fit."""
        check_settings(self)

    def _check_targets(self, y: np.ndarray, weights: np.ndarray) -> None:
        """Raise an error for targets that the model does not allow, in rows of positive weight."""

    def _set_fitted(self, **attributes: Any) -> None:
        """Set all fitted attributes at once, so that a prediction in another thread sees old or new ones."""
        optional = ("feature_names_in_", "_block_widths")
        kept = {name: value for name, value in self.__dict__.items() if name not in optional}
        self.__dict__ = kept | attributes

    @property
    def coef_blocks_(self) -> list[Any]:
        """The coefficients of each block of X, as views of ``coef_``; only one if X is a single matrix."""
        check_is_fitted(self)
        ends = np.cumsum(getattr(self, "_block_widths", (self.coef_.shape[-1],)))
        return [self.coef_[..., start:end] for start, end in pairwise((0, *ends.tolist()))]

    def _snapshot(self) -> Self:
        """Return a copy of the fitted model, which a refit in another thread does not change."""
        check_is_fitted(self)
        return copy(self)

    def _predictors(self, X: Any) -> np.ndarray:
        """Return Xβ + b for new rows; shape (n, K)."""
        checked = checks.features_or_blocks(X)
        widths = getattr(self, "_block_widths", None)
        if isinstance(checked, Blocks) and widths is not None and checked.widths != widths:
            raise InputError(
                f"X has blocks of {checked.widths} columns, but the model was fitted to {widths}."
            )
        named = hasattr(self, "feature_names_in_") or not checks.is_unnamed(X)
        if named or checked.shape[1] != getattr(self, "n_features_in_", None):
            validate_data(self, X, reset=False, skip_check_array=True)
        return super()._predictors(checked)

    def __sklearn_tags__(self) -> Any:
        """Return scikit-learn's tags."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class SparsifyMixin(LinearModel):
    """Conversion of ``coef_`` to a sparse matrix and back, for models whose coefficients are stored."""

    def sparsify(self) -> Self:
        """Convert ``coef_`` to a sparse matrix, which saves memory if most coefficients are zero.

        Returns
        -------
        self
            The model, which predicts as before.
        """
        check_is_fitted(self)
        self.coef_ = sparse.csr_array(self._dense_coef())
        return self

    def densify(self) -> Self:
        """Convert ``coef_`` back to a dense array.

        Returns
        -------
        Self
            The estimator itself.
        """
        check_is_fitted(self)
        if sparse.issparse(self.coef_):
            coef = self.coef_.toarray()
            self.coef_ = coef[0] if np.ndim(self.intercept_) == 0 else coef
        return self


class LinearClassifier(ClassifierMixin, ClassPredictions, LinearModel):
    """A linear model that predicts classes."""


class LogisticModel(LogisticPredictions, LinearClassifier):
    """A linear classifier that predicts probabilities, for several classes by ``multi_class_``."""

    _takes_several_labels: ClassVar[bool] = False

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy of the predictions.

        Parameters
        ----------
        X : array-like, sparse or Blocks of shape (n, d)
            Features.
        y : array-like of shape (n,), or lists of labels, or indicator matrix of shape (n, K)
            Labels.
        sample_weight : array-like of shape (n,), default=None
            Weights of the rows.

        Returns
        -------
        float
            Share of correct predictions; of several labels, all have to be right.
        """
        score: float = super().score(X, self._as_predicted(y), sample_weight)
        return score

    def _as_predicted(self, y: Any) -> Any:
        """Return labels in the form of predictions: several labels as an indicator matrix."""
        check_is_fitted(self)
        return indicators_of(y, self.classes_) if self._multilabel else y

    def __sklearn_tags__(self) -> Any:
        """Return scikit-learn's tags."""
        tags = super().__sklearn_tags__()
        weighted = getattr(self, "class_weight", None) is not None
        tags.classifier_tags.multi_label = self._takes_several_labels and not weighted
        return tags

    def to_sklearn(self) -> Any:
        """Return the fitted model as an estimator of scikit-learn, which predicts the same without dropglm.

        It has the coefficients, but not the settings: fitted again, it is another model. If the model was
        fitted to Blocks, X must be their columns side by side.

        Returns
        -------
        sklearn.linear_model.LogisticRegression or sklearn.multiclass.OneVsRestClassifier
            The second if there are more than two classes and ``multi_class_`` is "ovr", or if rows have
            several labels; it then predicts an indicator matrix.

        Examples
        --------
        >>> from dropglm import LogisticRegression
        >>> X, y = [[1.0, 0.0], [1.0, 1.0], [0.0, 1.0], [2.0, 0.0]], ["a", "b", "b", "a"]
        >>> LogisticRegression(dropout=0.5).fit(X, y).to_sklearn().predict([[0.0, 2.0]])
        array(['b'], dtype='<U1')
        """
        from dropglm.linear.sklearn_models import sklearn_classifier

        return sklearn_classifier(self._snapshot())
