"""A prior learnt from unlabelled texts: coefficients of words that occur in the same texts are related.

    β ~ N(0, λ⁻¹ (I + τ S V D Vᵀ S)),

where V are the first right singular vectors of X S over all texts, labelled or not, S weights the columns,
and D grows with the singular values. This is the same as a model on two blocks of features, [X | X S V D^½],
with an l2 weight of 1/τ for the second. The coefficients of the second block then fold back into those of the
n-grams, so the fitted model is linear in the n-grams as before.

S keeps single words that occur in at least five texts, or all n-grams if none is a single word, and weights
them by a power of their inverse document frequency. D = diag(singular values): directions that explain more
have more freedom.
"""

from collections.abc import Callable
from copy import copy
from functools import partial
from math import inf
from typing import Any, NamedTuple, Self

import numpy as np
from scipy import sparse

from dropglm.base.blocks import Blocks, PerBlock
from dropglm.base.threads import PIECE as ONE_PIECE
from dropglm.base.threads import each
from dropglm.core.latent import single_threaded_blas, singular_vectors, squared_norm
from dropglm.linear import LogisticRegression
from dropglm.search import LogisticRegressionCV
from dropglm.text.ngrams.matrix import inverse_document_frequencies
from dropglm.text.ngrams.vectorizer import NgramVectorizer
from dropglm.text.tuning import BY_BLOCK, add_blocks, without_last

# Powers of the inverse document frequency in S, beyond those in X: one candidate each.
POWERS = (0.0, 1.0)
MIN_DF = 5
FEW_WORDS = 50  # too few to be worth it, unless fewer latent features are asked for
# l2 weights of the latent features beside those of the n-grams. The rows of both have the same mean square
# length. Naive-Bayes weights of n-grams are large, 16 for a log ratio of ¼.
LATENT_L2_WEIGHTS = {"uniform": 0.1, "naive_bayes": 10.0, "naive_bayes_unlabeled": 10.0}


class LatentBlock(NamedTuple):
    """Latent features of all texts, and how their coefficients become coefficients of the n-grams.

    Attributes
    ----------
    width : int
        k, the number of latent features.
    fold_back : callable
        Returns S V D^½ β, scaled like the rows and of shape (d, K), for β of shape (k, K).
    rows : ndarray of shape (n + m, k), or None if they are in partitions
        X S V D^½, scaled to the mean square row length of X.
    """

    width: int
    fold_back: Callable[[np.ndarray], np.ndarray]
    rows: Any = None

    @classmethod
    def of(cls, X: "KeptColumns", scale: np.ndarray, k: int, threads: int) -> Self:
        """Return the first k latent features of the rows X, whose columns are weighted by ``scale``."""
        found = singular_vectors(X.scaled(scale), k, threads=threads)
        factors = np.sqrt(found.singular_values)
        dtype = X.rows.dtype
        rows = found.coordinates * factors.astype(dtype)
        size = np.sqrt(squared_norm(rows) / X.squared_norm)
        return cls(
            rows.shape[1],
            partial(fold_back, found.fold_back, X.kept, X.n_features, scale, factors / size, dtype),
            rows / dtype.type(size),
        )


def fold_back(
    back: Callable[[np.ndarray], np.ndarray],
    kept: np.ndarray,
    d: int,
    scale: np.ndarray,
    factors: np.ndarray,
    dtype: np.dtype,
    beta: np.ndarray,
) -> np.ndarray:
    """Return the coefficients of d n-grams, given those of latent features and V as ``back``."""
    coef = np.zeros((d, beta.shape[1]), dtype)
    coef[kept] = scale[:, None].astype(dtype) * back((factors[:, None] * beta).astype(dtype))
    return coef


class LatentWords(NamedTuple):
    """The columns that S keeps, its scales (one set per power), and how many latent features there are."""

    kept: np.ndarray
    scales: list[np.ndarray]
    k: int

    @classmethod
    def of(cls, vectorizer: NgramVectorizer, k: int, powers: tuple[float, ...]) -> Self | None:
        """Return them for a fitted vectorizer; None if at most k or 50 words occur in several texts."""
        ngrams = vectorizer.ngrams_
        idf = inverse_document_frequencies(ngrams.document_counts, vectorizer.n_texts_, smooth=True)
        single = ngrams._lengths == 1
        kept = np.flatnonzero((single | ~single.any()) & (ngrams.document_counts >= MIN_DF))
        if len(kept) <= min(k, FEW_WORDS):
            return None
        return cls(kept, [idf[kept] ** power for power in powers], min(k, len(kept) - 1))


class KeptColumns(NamedTuple):
    """Some columns of the rows of all texts.

    Attributes
    ----------
    rows : CSR array of shape (n + m, n_kept)
    kept : ndarray of shape (n_kept,)
        The columns.
    n_features : int
        Number of columns before.
    squared_norm : float
        Sum of the squares of all entries, in all columns.
    """

    rows: Any
    kept: np.ndarray
    n_features: int
    squared_norm: float

    @classmethod
    def of(cls, X: Any, kept: np.ndarray, threads: int) -> Self:
        """Return these columns of a sparse matrix."""
        return cls(sparse.csr_array(X)[:, kept], kept, X.shape[1], squared_norm(X, threads))

    def scaled(self, scale: np.ndarray) -> Any:
        """Return the rows with each column multiplied by its scale."""
        if (scale == 1.0).all():
            return self.rows
        data = self.rows.data * scale.astype(self.rows.dtype)[self.rows.indices]
        return sparse.csr_array((data, self.rows.indices, self.rows.indptr), self.rows.shape)


class LatentPrior(NamedTuple):
    """Blocks of latent features, of which a search chooses one or none."""

    blocks: tuple[LatentBlock, ...]
    powers: tuple[float, ...]  # of the inverse document frequency in S, by block

    @classmethod
    def of(
        cls,
        X: Any,
        vectorizer: NgramVectorizer,
        k: int,
        threads: int,
        powers: tuple[float, ...] = POWERS,
    ) -> Self | None:
        """Return the blocks for all rows X; None if at most k or 50 words occur in several texts."""
        words = LatentWords.of(vectorizer, k, powers)
        if words is None:
            return None
        rows = KeptColumns.of(X, words.kept, threads)
        # Few entries are one piece of work, so threads help only if each has a decomposition of its own.
        teams = threads if rows.rows.nnz <= ONE_PIECE else 1
        with single_threaded_blas():  # for all of them: each would switch it on again at its end
            blocks = each(lambda scale: LatentBlock.of(rows, scale, words.k, threads), words.scales, teams)
        return cls(tuple(blocks), powers)

    def beside(self, rows: Any, first: int) -> Blocks:
        """Return rows of n-grams with their latent features; the first one is row ``first`` of all texts."""
        last = first + rows.shape[0]
        return Blocks(rows, *(block.rows[first:last] for block in self.blocks))

    def set_values(self, estimator: LogisticRegressionCV) -> None:
        """Give a search values for the latent blocks: no noise, and each of them or none as a candidate."""
        no_noise = [(0.0,) * len(self.blocks)]
        add_blocks(
            estimator, lambda name, value: self._l2_weights(value) if name == "l2_weights" else no_noise
        )

    def _l2_weights(self, of_ngrams: Any) -> list[tuple[float, ...]]:
        """Return the l2 weights of the latent blocks: all left out, then all but one."""
        weight = LATENT_L2_WEIGHTS.get(of_ngrams, 1.0) if isinstance(of_ngrams, str) else 1.0
        left_out = (inf,) * len(self.blocks)
        return [left_out] + [
            (*left_out[:number], weight, *left_out[number + 1 :]) for number in range(len(self.blocks))
        ]

    def chosen(self, l2_weights: PerBlock) -> int | None:
        """Return the number of the latent block that these l2 weights use; None if they use none."""
        weights = l2_weights.values[1 : 1 + len(self.blocks)]
        return next((number for number, weight in enumerate(weights) if weight < inf), None)

    def fold(self, model: LogisticRegression) -> LogisticRegression:
        """Return a model of the n-grams, from one that was fitted to n-grams and latent features."""
        widths = [block.width for block in self.blocks]
        d = model.coef_.shape[1] - sum(widths)
        coef = model.coef_[:, :d].copy()
        for block, end in zip(self.blocks, d + np.cumsum(widths), strict=True):
            own = model.coef_[:, end - block.width : end]
            if own.any():
                coef += block.fold_back(own.T).T
        of_ngrams = {name: without_last(getattr(model, name), len(self.blocks)) for name in BY_BLOCK}
        folded = copy(model).set_params(**of_ngrams)
        folded.coef_, folded.n_features_in_ = coef, d
        vars(folded).pop("_block_widths", None)
        return folded
