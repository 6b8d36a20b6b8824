"""Multinomial naive Bayes by expectation maximisation over rows without labels.

Maximises the posterior, with a Dirichlet prior of α + 1 on every P(· | c),

    Σ_labelled log P(c_i) P(x_i | c_i) + λ Σ_unlabelled log Σ_c P(c) P(x_i | c) + α Σ_cw log P(w | c).

E: q_ic = P(c | x_i) for the unlabelled rows. M: P(w | c) ∝ N_cw + λ Σ_i q_ic x_iw + α and
P(c) ∝ n_c + λ Σ_i q_ic, N and n being the labelled rows' counts. No step makes the posterior fall.
"""

import warnings
from typing import Any, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from dropglm import checks
from dropglm.baselines.naive_bayes import Counted, NaiveBayes, sums
from dropglm.estimators.base import outside
from dropglm.families import Multinomial


class EMNaiveBayes(NaiveBayes):
    """Multinomial naive Bayes by expectation maximisation over rows without labels.

    The first iteration is scikit-learn's MultinomialNB on the labelled rows; each further one labels the
    unlabelled rows in proportion to P(c | x) and estimates anew from all rows. Without unlabelled rows, or
    with unlabeled_weight = 0, the first is the last.

    Parameters
    ----------
    alpha : float > 0
        Added to the count of every word in every class. Class frequencies are not smoothed.
    unlabeled_weight : float >= 0
        λ, how much an unlabelled row counts compared with a labelled one.
    max_iter : int
    tol : float >= 0
        Stop when an iteration adds no more than this to the log posterior, per row.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
    class_log_prior_ : ndarray of shape (K,)
        log P(c).
    feature_log_prob_ : ndarray of shape (K, d)
        log P(w | c).
    coef_, intercept_ : ndarrays
        The same as a linear model; for two classes the differences, second less first.
    log_posterior_ : ndarray of shape (n_iter_,)
        What is maximised after each iteration, less a constant.
    n_iter_ : int
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

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
    >>> U = [[3, 0, 0, 1], [2, 0, 0, 2], [0, 3, 1, 0]]  # the last word goes with the first
    >>> model.fit(X, ["good", "bad"], X_unlabeled=U).predict_proba([[0, 0, 0, 1]]).round(2)
    array([[0.19, 0.81]])
    """

    def __init__(
        self, alpha: float = 1.0, unlabeled_weight: float = 1.0, *, max_iter: int = 100, tol: float = 1e-4
    ) -> None:
        self.alpha = alpha
        self.unlabeled_weight = unlabeled_weight
        self.max_iter = max_iter
        self.tol = tol

    def fit(self, X: Any, y: Any, X_unlabeled: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like or sparse of shape (n, d)
            Counts, or ones for words that are there.
        y : array-like of shape (n,)
            Labels of any type.
        X_unlabeled : array-like or sparse of shape (m, d), optional
            Rows without labels.

        Returns
        -------
        self
        """
        checks.not_negative(self.unlabeled_weight, "unlabeled_weight")
        self._check_solver()
        known = self._counted(X, y, X_unlabeled)
        if known.X_unlabeled is None or self.unlabeled_weight == 0.0:
            known = known._replace(X_unlabeled=np.empty((0, known.words.shape[1])))
        weight = known.rows.sum() + self.unlabeled_weight * known.X_unlabeled.shape[0]
        posterior: list[float] = []
        q = np.zeros((known.X_unlabeled.shape[0], len(known.classes)))
        for _ in range(self.max_iter):
            log_prior, log_prob = self._maximized(known, q)
            value, q = self._expected(known, log_prior, log_prob)
            posterior.append(value)
            converged = not len(q) or (len(posterior) > 1 and value - posterior[-2] <= self.tol * weight)
            if converged:
                break
        self._keep(known.classes, log_prior, log_prob)
        self.log_posterior_, self.n_iter_ = np.array(posterior), len(posterior)
        if not converged:
            warnings.warn(
                f"EMNaiveBayes stopped at max_iter = {self.max_iter} iterations; raise max_iter or tol.",
                ConvergenceWarning,
                stacklevel=outside(),
            )
        return self

    def _maximized(self, known: Counted, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The M step: log P(c) and log P(w | c), given the shares q of the unlabelled rows, (m, K)."""
        weights = self.unlabeled_weight * q
        rows = known.rows + weights.sum(axis=0)
        words = known.words + sums(known.X_unlabeled, weights) + self.alpha
        return np.log(rows / rows.sum()), np.log(words / words.sum(axis=1, keepdims=True))

    def _expected(
        self, known: Counted, log_prior: np.ndarray, log_prob: np.ndarray
    ) -> tuple[float, np.ndarray]:
        """The E step: the log posterior there, and q."""
        joint = np.asarray(known.X_unlabeled @ log_prob.T) + log_prior
        labeled = np.sum(known.words * log_prob) + known.rows @ log_prior
        unlabeled = self.unlabeled_weight * np.sum(Multinomial.log_partition(joint))
        return float(labeled + unlabeled + self.alpha * np.sum(log_prob)), Multinomial.mean(joint)
