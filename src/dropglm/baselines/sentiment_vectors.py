"""Word vectors for sentiment (Maas et al., 2011): what words occur together, and in reviews of which class.

A text k with word counts c_kw has a vector θ_k, and a word w a vector φ_w and a bias b_w. Maximises

    Σ_kw c_kw (log p(w | θ_k) + s v_k log σ(y_k (ψ·φ_w + a))) - λ Σ_k ‖θ_k‖² - ν Σ_w ‖φ_w‖²

with p(w | θ) ∝ exp(θ·φ_w + b_w) and the class y_k = ±1. v_k is 0 for texts without labels, and gives both
classes the same weight, with mean 1. The features of a text are Σ_w φ_w over the words that are present, at
length 1.
"""

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import expit, log_expit
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.preprocessing import normalize
from sklearn.utils.validation import check_is_fitted, validate_data

from dropglm.base import checks
from dropglm.base.errors import InputError
from dropglm.baselines.nbsvm import presence
from dropglm.linear.validation import check_features
from dropglm.places.labels import check_labels

CHUNK = 1 << 10  # texts whose probabilities of all words are in memory at a time


@dataclass(eq=False, repr=False)
class SentimentVectors(TransformerMixin, BaseEstimator):
    """Word vectors for sentiment, and the features of texts that they give.

    Parameters
    ----------
    n_components : int, default=50
        Length of the vectors.
    n_words : int, default=5000
        Number of words, the most frequent ones without the first ``n_stop``; others have no effect.
    n_stop : int, default=50
        Number of the most frequent words to leave out.
    l2_texts : float, default=0.1
        Penalty λ of the vectors of texts.
    l2_words : float, default=0.01
        Penalty ν of the vectors of words.
    sentiment : float, default=1.0
        Weight s of the classes; 0 uses the texts alone.
    max_iter : int, default=100
        Number of iterations of L-BFGS.
    random_state : int, RandomState instance or None, default=None
        Seed of the first vectors.

    Attributes
    ----------
    words_ : ndarray of shape (n_words,)
        The columns of the words.
    vectors_ : ndarray of shape (n_words, n_components)
        Their vectors φ.
    objective_ : float
        What was minimised, minus the sum above, per word of the texts.

    See Also
    --------
    dropglm.LatentFeatures : Singular vectors of all texts.

    References
    ----------
    Maas, Daly, Pham, Huang, Ng and Potts, "Learning word vectors for sentiment analysis", ACL 2011.

    Examples
    --------
    >>> import numpy as np
    >>> from dropglm.baselines import SentimentVectors
    >>> X = np.array([[2, 1, 0, 0], [1, 2, 0, 0], [0, 0, 1, 1], [0, 0, 1, 2]])
    >>> vectors = SentimentVectors(2, n_stop=0, random_state=0).fit(X, [1, 1, 0, 0])
    >>> features = vectors.transform(X)
    >>> (features @ features[0]).round(1)
    array([ 1.,  1., -1., -1.])
    """

    __metadata_request__fit: ClassVar[dict[str, bool]] = {"X_unlabeled": True}

    n_components: int = 50
    _: KW_ONLY
    n_words: int = 5000
    n_stop: int = 50
    l2_texts: float = 0.1
    l2_words: float = 0.01
    sentiment: float = 1.0
    max_iter: int = 100
    random_state: Any = None

    def fit(self, X: Any, y: Any, X_unlabeled: Any = None) -> Self:
        """Learn the vectors.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Counts of words.
        y : array-like of shape (n_samples,)
            Labels of two classes.
        X_unlabeled : {array-like, sparse matrix} of shape (n_unlabeled, n_features), default=None
            Counts of texts without labels.

        Returns
        -------
        SentimentVectors
            The fitted transformer.
        """
        for name in ("n_components", "n_words", "max_iter"):
            checks.whole_number(getattr(self, name), name, least=1)
        for name in ("n_stop", "l2_texts", "l2_words", "sentiment"):
            checks.not_negative(getattr(self, name), name)
        X, X_unlabeled, _ = check_features(self, X, X_unlabeled)
        classes, y = check_labels(self, y, X.shape[0])
        if len(classes) > 2:
            raise InputError(f"SentimentVectors needs two classes, got {len(classes)}.")
        X = sparse.csr_array(X, dtype=np.float32)
        by_class = np.stack([X[y == k].sum(axis=0) / (2.0 * np.mean(y == k)) for k in (0, 1)])
        if X_unlabeled is not None:
            X = sparse.csr_array(sparse.vstack([X, X_unlabeled]), dtype=np.float32)
        order = np.argsort(-X.sum(axis=0), kind="stable")
        self.words_ = np.sort(order[int(self.n_stop) : int(self.n_stop) + self.n_words])
        counts, K = sparse.csr_array(X[:, self.words_]), self.n_components
        rng, V, n = np.random.default_rng(checks.seed(self.random_state)), len(self.words_), counts.shape[0]
        start = np.zeros((V + n) * K + V + K + 1)
        start[: (V + n) * K] = 0.1 * rng.standard_normal((V + n) * K)
        start[(V + n) * K :][:V] = np.log(counts.sum(axis=0) + 1.0)
        total = max(float(counts.sum()), 1.0)
        found = minimize(
            negative_log_posterior,
            start,
            (counts, self.sentiment * by_class[:, self.words_], K, self.l2_texts, self.l2_words, total),
            method="L-BFGS-B",
            jac=True,
            options={"maxiter": self.max_iter, "maxcor": 5},
        )
        self.vectors_, self.objective_ = found.x[: V * K].reshape(V, K), float(found.fun)
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Return the features of texts.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Counts of words.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            Rows of length 1, or 0 for texts without any of the words.
        """
        check_is_fitted(self)
        checked = checks.features(X)
        validate_data(self, X, reset=False, skip_check_array=True)
        return normalize(presence(checked)[:, self.words_] @ self.vectors_)


def negative_log_posterior(
    theta: np.ndarray,
    counts: sparse.csr_array,
    by_class: np.ndarray,
    K: int,
    l2_texts: float,
    l2_words: float,
    total: float,
) -> tuple[float, np.ndarray]:
    """Return the objective per word, and its gradient in φ, θ, b, ψ and a, one after the other."""
    n, V = counts.shape
    gradient = np.empty_like(theta)
    phi, theta_k, b, psi, a = _parts(theta, V, n, K)
    d_phi, d_theta, d_b, d_psi, d_a = _parts(gradient, V, n, K)
    phi_32, theta_32 = phi.astype(np.float32), theta_k.astype(np.float32)
    value = l2_texts * float((theta_k**2).sum()) + l2_words * float((phi**2).sum())
    lengths = counts.sum(axis=1)
    d_phi[:] = 2.0 * l2_words * phi - counts.T @ theta_32
    d_theta[:] = 2.0 * l2_texts * theta_k - counts @ phi_32
    d_b[:] = -counts.sum(axis=0)
    value += float(b @ d_b) - float((theta_k * (counts @ phi_32)).sum())
    for first in range(0, n, CHUNK):
        own = slice(first, first + CHUNK)
        p = theta_32[own] @ phi_32.T + b.astype(np.float32)
        top = p.max(axis=1, keepdims=True)
        np.exp(p - top, out=p)
        sums = p.sum(axis=1)
        value += float(lengths[own] @ (top[:, 0] + np.log(sums)))
        p *= (lengths[own] / sums)[:, None]
        d_phi += p.T @ theta_32[own]
        d_theta[own] += p @ phi_32
        d_b += p.sum(axis=0)
    z = phi @ psi + a
    value -= float(by_class[1] @ log_expit(z) + by_class[0] @ log_expit(-z))
    slopes = by_class[0] * expit(z) - by_class[1] * expit(-z)
    d_phi += slopes[:, None] * psi
    d_psi[:], d_a[:] = phi.T @ slopes, slopes.sum()
    gradient /= total
    return value / total, gradient


def _parts(theta: np.ndarray, V: int, n: int, K: int) -> tuple[np.ndarray, ...]:
    phi, theta_k, b, psi, a = np.split(theta, np.cumsum([V * K, n * K, V, K]))
    return phi.reshape(V, K), theta_k.reshape(n, K), b, psi, a
