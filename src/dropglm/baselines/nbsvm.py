"""NB-SVM: a linear SVM on features that naive Bayes has scaled.

    r = log (p/‖p‖₁) / (q/‖q‖₁),      p = α + Σ_{own} x_i,      q = α + Σ_{others} x_i,
    ½ ‖w‖² + C Σ_i max(0, 1 - y_i (w·(r ∘ x_i) + b))² is least,      w' = (1 - β) w̄ + β w,

with x_ij in {0, 1}, whether word j is there, and w̄ = ‖w‖₁/|V| the mean size of a weight.
"""

from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from sklearn.svm import LinearSVC
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.validation import check_is_fitted, validate_data

from dropglm import checks
from dropglm.baselines.counts import CountsClassifier


class NBSVM(CountsClassifier):
    """NB-SVM: a linear SVM on features that naive Bayes has scaled.

    A feature counts as there or not, however large it is. Each is scaled by the log ratio r_j of its
    frequencies in the class and in the others, a linear SVM with squared hinge loss is fitted, and its
    weights are drawn towards their mean size, which is towards naive Bayes. Several classes are each fitted
    against the rest. Words that no row of X has are no part of the vocabulary V and get no weight.

    Parameters
    ----------
    C : float > 0
        Weight of the loss, as liblinear's and LinearSVC's.
    beta : float in [0, 1]
        1 is the SVM on the scaled features, 0 naive Bayes with the SVM's intercept.
    alpha : float > 0
        Added to the number of rows that have a word, in either group.
    fit_intercept : bool
        Whether there is an intercept, which the SVM draws towards 0 like any weight. The formula of the
        reference has one, its published code has none: b goes with w, and is too large for w'.
    tol : float
        LinearSVC's; liblinear itself has 0.01 for the primal and 0.1 for the dual.
    max_iter : int
        LinearSVC's.
    random_state : int, RandomState or None
        LinearSVC's: the order in which it goes through the rows, where there are fewer of them than words.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
    coef_ : ndarray of shape (1, d) for two classes, else (K, d)
        r ∘ w', the weights of the features as they are, there or not.
    intercept_ : ndarray of shape (1,) or (K,)
    n_iter_ : ndarray of shape (1,) or (K,)
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    References
    ----------
    Wang and Manning, "Baselines and bigrams: simple, good sentiment and topic classification", ACL 2012.

    Examples
    --------
    >>> import numpy as np
    >>> from dropglm.baselines import NBSVM
    >>> X = np.array([[1, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 1], [0, 0, 1, 1]])
    >>> model = NBSVM().fit(X, ["good", "good", "bad", "bad"])
    >>> model.predict([[3, 0, 0, 0]])
    array(['good'], dtype='<U4')
    >>> model.coef_.round(2)
    array([[ 0.52,  0.  ,  0.  , -0.52]])
    """

    __metadata_request__fit: ClassVar[dict[str, Any]] = {"X_unlabeled": UNUSED, "unlabeled_weight": UNUSED}

    def __init__(
        self,
        C: float = 1.0,
        beta: float = 0.25,
        alpha: float = 1.0,
        *,
        fit_intercept: bool = False,
        tol: float = 1e-2,
        max_iter: int = 1000,
        random_state: Any = None,
    ) -> None:
        self.C = C
        self.beta = beta
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like or sparse of shape (n, d)
            Counts, or ones for words that are there.
        y : array-like of shape (n,)
            Labels of any type.

        Returns
        -------
        self
        """
        checks.positive(self.C, "C")
        checks.positive(self.alpha, "alpha")
        checks.not_negative(self.beta, "beta")
        if self.beta > 1.0:
            raise ValueError(f"beta must be from 0 to 1, got {self.beta}.")
        self._check_solver()
        X, _ = self._checked_counts(X)
        classes, y = self._checked_labels(y, X.shape[0])
        present = presence(X)
        own = [1] if len(classes) == 2 else range(len(classes))
        coef, intercept, n_iter = zip(*(self._against_the_rest(present, y == k) for k in own), strict=True)
        self.classes_ = classes
        self.coef_, self.intercept_, self.n_iter_ = np.array(coef), np.array(intercept), np.array(n_iter)
        return self

    def _against_the_rest(self, present: sparse.csr_array, own: np.ndarray) -> tuple[np.ndarray, float, int]:
        """Weights, intercept and iterations of one class against the others."""
        p, q = (present.T @ group.astype(np.float64) for group in (own, ~own))
        seen = p + q > 0.0
        p, q = (np.where(seen, self.alpha + count, 0.0) for count in (p, q))
        r = np.zeros(len(seen))
        r[seen] = np.log(p[seen] / p.sum()) - np.log(q[seen] / q.sum())
        scaled = sparse.csr_array((r[present.indices], present.indices, present.indptr), present.shape)
        # "auto" is the dual where words outnumber rows: on IMDB's bigrams it ends at 56.878 after 1.3 s, the
        # primal of the same tol at 79.1 after 9 s.
        svm = LinearSVC(
            C=self.C,
            dual="auto",
            fit_intercept=self.fit_intercept,
            tol=self.tol,
            max_iter=self.max_iter,
            random_state=self.random_state,
        ).fit(scaled, own)
        w = svm.coef_[0]
        towards = np.abs(w[seen]).mean() if seen.any() else 0.0
        intercept = svm.intercept_[0] if self.fit_intercept else 0.0
        return r * ((1.0 - self.beta) * towards + self.beta * w), float(intercept), int(svm.n_iter_)

    def _scores(self, X: Any) -> np.ndarray:
        """The predictors of new rows; (n, K)."""
        check_is_fitted(self)
        checked = checks.features(X)
        validate_data(self, X, reset=False, skip_check_array=True)
        return np.asarray(presence(checked) @ self.coef_.T) + self.intercept_


def presence(X: Any) -> sparse.csr_array:
    """1 where X is above 0; float64."""
    csr = sparse.csr_array(X, dtype=np.float64, copy=True)
    csr.sum_duplicates()
    if csr.nnz <= np.iinfo(np.int32).max:  # liblinear knows no wider indices
        csr.indices, csr.indptr = csr.indices.astype(np.int32), csr.indptr.astype(np.int32)
    csr.data = (csr.data > 0.0).astype(np.float64)
    csr.eliminate_zeros()
    return csr
