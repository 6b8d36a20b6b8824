"""Multinomial naive Bayes with unlabelled rows, by two estimates of its probabilities.

    log P(c | x) = log P(c) + Σ_w x_w log P(w | c) + const

This is a linear classifier and a logistic model; with two classes its weights are the differences of theirs.

The semi-supervised frequency estimate is

    P(w | c) ∝ P(c | w) P(w),      P(c | w) = (N_cw + α) / (N_w + K α) from the labelled rows,
                                   P(w) ∝ M_w + K α from all rows, labelled or not,

where N_cw is the count of word w in class c, N_w its sum over the K classes, and M_w the count in all rows.

Expectation maximisation maximises the log posterior, with a Dirichlet prior of parameter a + 1 on every
P(· | c),

    Σ_labelled w_i log P(c_i) P(x_i | c_i) + α Σ_unlabelled log Σ_c P(c) P(x_i | c) + a Σ_cw log P(w | c),

where a is the setting ``alpha`` and α the setting ``discount``.

E step: q_ic = P(c | x_i) for the unlabelled rows. M step: P(w | c) ∝ N_cw + α Σ_i q_ic x_iw + a and
P(c) ∝ n_c + α Σ_i q_ic, where N and n are the counts of the labelled rows. No iteration decreases the
posterior.
"""

import warnings
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.metadata_routing import UNUSED

from dropglm.base import checks
from dropglm.base.errors import InputError, stacklevel
from dropglm.core.families import Multinomial
from dropglm.core.predictions import indicators
from dropglm.linear.base import LinearClassifier, LogisticModel
from dropglm.linear.validation import check_features, check_settings
from dropglm.places.labels import check_labels


class CountsClassifier(LinearClassifier):
    """Base class of linear classifiers whose features are counts, or 0 and 1 for absent and present."""

    def _checked_counts(self, X: Any, X_unlabeled: Any = None) -> tuple[Any, Any]:
        """Return X and X_unlabeled (or None), which must have the same features and no negative entry."""
        X, X_unlabeled, _ = check_features(self, X, X_unlabeled)
        for part, name in ((X, "X"), (X_unlabeled, "X_unlabeled")):
            if part is not None and _smallest(part) < 0.0:
                raise InputError(f"Negative values in data: {name} must hold counts or frequencies.")
        return X, X_unlabeled

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn to test with counts, and not to expect good scores on other data."""
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        tags.classifier_tags.poor_score = True
        return tags


class ClassCounts(NamedTuple):
    """The counts from which naive Bayes estimates its probabilities."""

    classes: np.ndarray
    class_weights: np.ndarray  # sum of the weights of each class's rows, (K,)
    words: np.ndarray  # N_cw, weighted count of word w in class c, (K, d)
    X_unlabeled: Any


class NaiveBayes(CountsClassifier, LogisticModel):
    """Base class of naive Bayes models: checks, counts and predictions. Subclasses add the estimates."""

    __metadata_request__fit: ClassVar[dict[str, Any]] = {"unlabeled_weight": UNUSED}

    def _counted(self, X: Any, y: Any, sample_weight: Any, X_unlabeled: Any) -> ClassCounts:
        """Check the input and count words and rows per class."""
        checks.positive(self.alpha, "alpha")
        X, X_unlabeled = self._checked_counts(X, X_unlabeled)
        classes, y = check_labels(self, y, X.shape[0])
        weights = weights_in_classes(sample_weight, y, classes)
        weighted = indicators(y, range(len(classes))) * weights[:, None]
        rows = weighted.sum(axis=0)
        return ClassCounts(classes, rows, sums(X, weighted), X_unlabeled)

    def _store(self, classes: np.ndarray, class_log_prior: np.ndarray, feature_log_prob: np.ndarray) -> None:
        """Set the fitted attributes."""
        self.classes_ = classes
        self.class_log_prior_, self.feature_log_prob_ = class_log_prior, feature_log_prob
        two = len(classes) == 2
        self.coef_ = np.diff(feature_log_prob, axis=0) if two else feature_log_prob
        self.intercept_ = np.diff(class_log_prior) if two else class_log_prior
        self.multi_class_ = "multinomial"


def weights_in_classes(sample_weight: Any, y: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Return the weights of rows, some of which are positive in each class."""
    weights = checks.weights(sample_weight, len(y))
    checks.some_weight(weights)
    rows = np.bincount(y, weights, len(classes))
    if not rows.all():
        raise InputError(
            f"Every row of class {classes[rows.argmin()]} has sample_weight 0; leave these rows out of X."
        )
    return weights


def sums(X: Any, weights: np.ndarray) -> np.ndarray:
    """Return Σ_i weights_ic x_iw in float64, whatever the type of X; (K, d)."""
    return np.asarray(X.T @ weights).T


def _smallest(X: Any) -> float:
    entries = X.data if sparse.issparse(X) else X
    return float(entries.min()) if entries.size else 0.0


@dataclass(eq=False, repr=False)
class SemiSupervisedNaiveBayes(NaiveBayes):
    """Multinomial naive Bayes with the semi-supervised frequency estimate.

    The labelled rows determine P(c | w), how strongly a word indicates each class; all rows determine its
    frequency P(w). P(w | c) is their product, normalised to sum to 1 over the words. Without unlabelled rows
    the product is N_cw + α, and the model is scikit-learn's MultinomialNB with the same ``alpha``. Words that
    occur in unlabelled rows only do not favour any class. The class frequencies P(c) are those of the
    labelled rows.

    Parameters
    ----------
    alpha : float, default=1.0
        Smoothing: added to the count of every word in every class; must be positive. The frequency estimate
        is that of the reference; the smoothing is ours.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    class_log_prior_ : ndarray of shape (n_classes,)
        log P(c).
    feature_log_prob_ : ndarray of shape (n_classes, n_features)
        log P(w | c).
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Coefficients of the linear model: log P(w | c), or log P(w | c₁) - log P(w | c₀) for two classes.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercept of the linear model: log P(c), or the difference for two classes.
    n_features_in_ : int
        Number of features seen in :meth:`fit`.
    feature_names_in_ : ndarray of shape (d,)
        Names of the features, if X has names that are all strings.

    See Also
    --------
    EMNaiveBayes : Naive Bayes by expectation maximisation with unlabelled rows.
    sklearn.naive_bayes.MultinomialNB : The same model on labelled rows alone.

    References
    ----------
    Su, Shirab and Matwin, "Large scale text classification using semi-supervised multinomial naive Bayes",
    ICML 2011.

    Examples
    --------
    >>> import numpy as np
    >>> from dropglm.baselines import SemiSupervisedNaiveBayes
    >>> X = np.array([[2, 0, 1], [0, 1, 1]])
    >>> model = SemiSupervisedNaiveBayes().fit(X, ["good", "bad"])
    >>> model.predict_proba([[1, 0, 0]]).round(3)
    array([[0.286, 0.714]])
    >>> model.fit(X, ["good", "bad"], X_unlabeled=[[0, 5, 1], [0, 4, 1]]).predict_proba([[1, 0, 0]]).round(3)
    array([[0.217, 0.783]])
    """

    alpha: float = 1.0

    def fit(self, X: Any, y: Any, sample_weight: Any = None, X_unlabeled: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Counts, or 1 for words that are present.
        y : array-like of shape (n_samples,)
            Labels of any type.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the labelled rows; a weight of 2 is equivalent to repeating the row.
        X_unlabeled : {array-like, sparse matrix} of shape (n_unlabeled, n_features), default=None
            Rows without labels.

        Returns
        -------
        SemiSupervisedNaiveBayes
            The fitted model.
        """
        counts = self._counted(X, y, sample_weight, X_unlabeled)
        labeled, K = counts.words.sum(axis=0), len(counts.classes)
        frequency = labeled + K * self.alpha
        if counts.X_unlabeled is not None:
            frequency = frequency + sums(counts.X_unlabeled, np.ones((counts.X_unlabeled.shape[0], 1)))[0]
        joint = (counts.words + self.alpha) / (labeled + K * self.alpha) * frequency
        feature_log_prob = np.log(joint) - np.log(joint.sum(axis=1, keepdims=True))
        prior = counts.class_weights / counts.class_weights.sum()
        self._store(counts.classes, np.log(prior), feature_log_prob)
        return self


@dataclass(eq=False, repr=False)
class EMNaiveBayes(NaiveBayes):
    """Multinomial naive Bayes by expectation maximisation with unlabelled rows.

    The first iteration is scikit-learn's MultinomialNB on the labelled rows. Each further iteration assigns
    the unlabelled rows to the classes in proportion to P(c | x) and estimates the probabilities from all
    rows. Without unlabelled rows, or with ``discount=0``, there is only the first iteration.

    Parameters
    ----------
    alpha : float, default=1.0
        Smoothing: added to the count of every word in every class; must be positive. Class frequencies are
        not smoothed.
    discount : float, default=1.0
        Weight of an unlabelled row relative to a labelled row; must not be negative.
    max_iter : int, default=100
        Maximum number of iterations.
    tol : float, default=1e-4
        The fit stops when an iteration increases the log posterior per row by no more than this.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    class_log_prior_ : ndarray of shape (n_classes,)
        log P(c).
    feature_log_prob_ : ndarray of shape (n_classes, n_features)
        log P(w | c).
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Coefficients of the linear model: log P(w | c), or log P(w | c₁) - log P(w | c₀) for two classes.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercept of the linear model: log P(c), or the difference for two classes.
    log_posterior_ : ndarray
        Log posterior after each iteration, up to a constant.
    n_iter_ : int
        Number of iterations.
    n_features_in_ : int
        Number of features seen in :meth:`fit`.
    feature_names_in_ : ndarray of shape (d,)
        Names of the features, if X has names that are all strings.

    See Also
    --------
    SemiSupervisedNaiveBayes : Naive Bayes with word frequencies from all rows, without iteration.
    sklearn.naive_bayes.MultinomialNB : The same model on labelled rows alone.

    References
    ----------
    Nigam, McCallum, Thrun and Mitchell, "Text classification from labeled and unlabeled documents using EM",
    Machine Learning 39, 2000.

    Examples
    --------
    >>> import numpy as np
    >>> from dropglm.baselines import EMNaiveBayes
    >>> X = np.array([[2, 0, 1, 0], [0, 2, 1, 0]])
    >>> model = EMNaiveBayes().fit(X, ["good", "bad"])
    >>> model.predict_proba([[0, 0, 0, 1]])
    array([[0.5, 0.5]])
    >>> U = [[3, 0, 0, 1], [2, 0, 0, 2], [0, 3, 1, 0]]  # the last word occurs with the first
    >>> model.fit(X, ["good", "bad"], X_unlabeled=U).predict_proba([[0, 0, 0, 1]]).round(2)
    array([[0.19, 0.81]])
    """

    alpha: float = 1.0
    discount: float = 1.0
    _: KW_ONLY
    max_iter: int = 100
    tol: float = 1e-4

    def fit(self, X: Any, y: Any, sample_weight: Any = None, X_unlabeled: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Counts, or 1 for words that are present.
        y : array-like of shape (n_samples,)
            Labels of any type.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the labelled rows; a weight of 2 is equivalent to repeating the row.
        X_unlabeled : {array-like, sparse matrix} of shape (n_unlabeled, n_features), default=None
            Rows without labels.

        Returns
        -------
        EMNaiveBayes
            The fitted model.
        """
        checks.not_negative(self.discount, "discount")
        check_settings(self)
        counts = self._counted(X, y, sample_weight, X_unlabeled)
        if counts.X_unlabeled is None or self.discount == 0.0:
            counts = counts._replace(X_unlabeled=np.empty((0, counts.words.shape[1])))
        total_weight = counts.class_weights.sum() + self.discount * counts.X_unlabeled.shape[0]
        posterior: list[float] = []
        q = np.zeros((counts.X_unlabeled.shape[0], len(counts.classes)))
        for _ in range(self.max_iter):
            log_prior, log_prob = self._maximization(counts, q)
            value, q = self._expectation(counts, log_prior, log_prob)
            posterior.append(value)
            converged = not len(q) or (
                len(posterior) > 1 and value - posterior[-2] <= self.tol * total_weight
            )
            if converged:
                break
        self._store(counts.classes, log_prior, log_prob)
        self.log_posterior_, self.n_iter_ = np.array(posterior), len(posterior)
        if not converged:
            warnings.warn(
                f"EMNaiveBayes stopped at max_iter = {self.max_iter} iterations before it converged; "
                "increase max_iter or tol.",
                ConvergenceWarning,
                stacklevel=stacklevel(),
            )
        return self

    def _maximization(self, counts: ClassCounts, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """M step: return log P(c) and log P(w | c), given q of the unlabelled rows, (m, K)."""
        weights = self.discount * q
        rows = counts.class_weights + weights.sum(axis=0)
        words = counts.words + sums(counts.X_unlabeled, weights) + self.alpha
        return np.log(rows / rows.sum()), np.log(words / words.sum(axis=1, keepdims=True))

    def _expectation(
        self, counts: ClassCounts, log_prior: np.ndarray, log_prob: np.ndarray
    ) -> tuple[float, np.ndarray]:
        """E step: return the log posterior at these estimates, and q."""
        joint = np.asarray(counts.X_unlabeled @ log_prob.T) + log_prior
        labeled = np.sum(counts.words * log_prob) + counts.class_weights @ log_prior
        unlabeled = self.discount * np.sum(Multinomial.log_partition(joint))
        return float(labeled + unlabeled + self.alpha * np.sum(log_prob)), Multinomial.mean(joint)
