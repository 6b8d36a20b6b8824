"""Multinomial naive Bayes by expectation maximisation with unlabelled rows.

Maximises the log posterior, with a Dirichlet prior of parameter a + 1 on every P(· | c),

    Σ_labelled w_i log P(c_i) P(x_i | c_i) + α Σ_unlabelled log Σ_c P(c) P(x_i | c) + a Σ_cw log P(w | c),

where a is the setting ``alpha`` and α the setting ``discount``.

E step: q_ic = P(c | x_i) for the unlabelled rows. M step: P(w | c) ∝ N_cw + α Σ_i q_ic x_iw + a and
P(c) ∝ n_c + α Σ_i q_ic, where N and n are the counts of the labelled rows. No iteration decreases the
posterior.
"""

import warnings
from typing import Any, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from dropglm import checks
from dropglm.baselines.naive_bayes import ClassCounts, NaiveBayes, sums
from dropglm.estimators.validation import check_settings
from dropglm.estimators.warning import stacklevel
from dropglm.families import Multinomial


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

    def __init__(
        self, alpha: float = 1.0, discount: float = 1.0, *, max_iter: int = 100, tol: float = 1e-4
    ) -> None:
        self.alpha = alpha
        self.discount = discount
        self.max_iter = max_iter
        self.tol = tol

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
        total_weight = counts.rows.sum() + self.discount * counts.X_unlabeled.shape[0]
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
        rows = counts.rows + weights.sum(axis=0)
        words = counts.words + sums(counts.X_unlabeled, weights) + self.alpha
        return np.log(rows / rows.sum()), np.log(words / words.sum(axis=1, keepdims=True))

    def _expectation(
        self, counts: ClassCounts, log_prior: np.ndarray, log_prob: np.ndarray
    ) -> tuple[float, np.ndarray]:
        """E step: return the log posterior at these estimates, and q."""
        joint = np.asarray(counts.X_unlabeled @ log_prob.T) + log_prior
        labeled = np.sum(counts.words * log_prob) + counts.rows @ log_prior
        unlabeled = self.discount * np.sum(Multinomial.log_partition(joint))
        return float(labeled + unlabeled + self.alpha * np.sum(log_prob)), Multinomial.mean(joint)
