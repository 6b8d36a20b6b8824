"""Transductive SVM: a linear SVM that also chooses the labels of unlabelled rows.

Minimises over w, b and the labels z of the unlabelled rows

    ½ ‖w‖² + C Σ_i w_i max(0, 1 - y_i f(x_i))² + C α Σ_u max(0, 1 - z_u f(x_u))²,      f(x) = w·x + b,

where as large a share of z is positive as of the labelled rows. For given z, this is an SVM; for given f, the
rows with the largest f are positive, since max(0, 1 - f)² - max(0, 1 + f)² decreases with f. Both steps take
turns until no label changes. α starts near zero and grows, so that the labels are those of a fit to labelled
rows at first.
"""

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from sklearn.svm import LinearSVC
from sklearn.utils.metadata_routing import UNUSED

from dropglm.base import checks
from dropglm.baselines.naive_bayes import weights_in_classes
from dropglm.linear.base import LinearClassifier
from dropglm.linear.validation import check_features, check_settings
from dropglm.places.labels import check_labels

SCHEDULE = 4.0 ** np.arange(-5, 1)  # shares of α, from the first to the last
MOST_ROUNDS = 20  # with the same α


@dataclass(eq=False, repr=False)
class TransductiveSVM(LinearClassifier):
    """Transductive SVM: a linear SVM that also chooses the labels of unlabelled rows.

    Labels and weights take turns, as in the multiple switching of Sindhwani and Keerthi, while the weight of
    the unlabelled rows grows, as in Joachims's SVM-light. Without unlabelled rows the model is LinearSVC.
    Several classes are each fitted against the rest.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the loss, as in LinearSVC; must be positive.
    discount : float, default=1.0
        Weight α of an unlabelled row relative to a labelled one.
    tol : float, default=1e-2
        Tolerance of LinearSVC.
    max_iter : int, default=1000
        Maximum number of iterations of LinearSVC.
    random_state : int, RandomState instance or None, default=None
        Order in which LinearSVC visits the rows, if there are fewer rows than features.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Weights; one row for two classes.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercept, which is penalised like a weight, as in LinearSVC.
    n_iter_ : ndarray of shape (1,) or (n_classes,)
        Number of SVMs that were fitted.
    n_features_in_ : int
        Number of features seen in :meth:`fit`.
    feature_names_in_ : ndarray of shape (d,)
        Names of the features, if X has names that are all strings.

    See Also
    --------
    sklearn.svm.LinearSVC : The SVM on labelled rows alone.
    EntropyRegularizedLogisticRegression : Also moves the decision boundary away from unlabelled rows.

    References
    ----------
    Joachims, "Transductive inference for text classification using support vector machines", ICML 1999.
    Sindhwani and Keerthi, "Large scale semi-supervised linear SVMs", SIGIR 2006.

    Examples
    --------
    >>> import numpy as np
    >>> from dropglm.baselines import TransductiveSVM
    >>> X = np.array([[1.0, 0.1], [0.0, 0.0]])
    >>> more = np.array([[1.0, 1.0], [0.9, 0.8], [0.0, 1.0], [0.1, 0.9]])
    >>> TransductiveSVM().fit(X, [1, 0], X_unlabeled=more).predict(more)
    array([1, 1, 0, 0])
    """

    __metadata_request__fit: ClassVar[dict[str, Any]] = {"unlabeled_weight": UNUSED}

    C: float = 1.0
    discount: float = 1.0
    _: KW_ONLY
    tol: float = 1e-2
    max_iter: int = 1000
    random_state: Any = None

    def fit(self, X: Any, y: Any, sample_weight: Any = None, X_unlabeled: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Features.
        y : array-like of shape (n_samples,)
            Labels of any type.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the labelled rows.
        X_unlabeled : {array-like, sparse matrix} of shape (n_unlabeled, n_features), default=None
            Rows without labels.

        Returns
        -------
        TransductiveSVM
            The fitted model.
        """
        checks.positive(self.C, "C")
        checks.not_negative(self.discount, "discount")
        check_settings(self)
        X, X_unlabeled, _ = check_features(self, X, X_unlabeled)
        classes, y = check_labels(self, y, X.shape[0])
        weights = weights_in_classes(sample_weight, y, classes)
        parts = [sparse.csr_array(X), *([] if X_unlabeled is None else [sparse.csr_array(X_unlabeled)])]
        rows = sparse.csr_array(sparse.vstack(parts), dtype=np.float64)
        rows.indices, rows.indptr = rows.indices.astype(np.int32), rows.indptr.astype(np.int32)
        own = [1] if len(classes) == 2 else range(len(classes))
        fits = [self._against_the_rest(rows, y == k, weights) for k in own]
        self.classes_ = classes
        self.coef_ = np.concatenate([svm.coef_ for svm, _ in fits])
        self.intercept_ = np.concatenate([svm.intercept_ for svm, _ in fits])
        self.n_iter_ = np.array([n_iter for _, n_iter in fits])
        return self

    def _against_the_rest(self, rows: Any, own: np.ndarray, weights: np.ndarray) -> tuple[LinearSVC, int]:
        """Return the SVM of one class against the others, and how many were fitted."""
        n = len(own)
        more, n_iter = rows.shape[0] - n, 1
        positive = round(more * float(weights @ own) / weights.sum())
        svm = LinearSVC(C=self.C, tol=self.tol, max_iter=self.max_iter, random_state=self.random_state)
        svm.fit(rows[:n], own, weights)
        for share in SCHEDULE if more and self.discount else ():
            labels, all_weights = None, np.append(weights, np.full(more, share * self.discount))
            for _ in range(MOST_ROUNDS):
                chosen = np.zeros(more, bool)
                chosen[np.argsort(-svm.decision_function(rows[n:]), kind="stable")[:positive]] = True
                if labels is not None and (chosen == labels).all():
                    break
                labels, n_iter = chosen, n_iter + 1
                svm.fit(rows, np.append(own, labels), all_weights)
        return svm, n_iter
