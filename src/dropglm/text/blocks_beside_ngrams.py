"""Blocks of features beside the n-grams: latent features, learnt from unlabelled texts, and embeddings.

A setting of the estimator then has one value per block. The coefficients of both kinds of blocks are split
off again after the fit, so that the fitted model is linear in the n-grams as before.

Latent features are a prior: coefficients of words that occur in the same texts are related, ::

    β ~ N(0, λ⁻¹ (I + τ S V D Vᵀ S)),

where V are the first right singular vectors of X S over all texts, labelled or not, S weights the columns,
and D grows with the singular values. This is the same as a model on two blocks of features, [X | X S V D^½],
with an l2 weight of 1/τ for the second. The coefficients of the second block fold back into those of the
n-grams.

S keeps single words that occur in at least five texts, or all n-grams if none is a single word, and weights
them by a power of their inverse document frequency. D = diag(singular values): directions that explain more
have more freedom.
"""

from collections.abc import Callable, Sequence
from copy import copy
from itertools import product
from math import inf
from typing import Any, NamedTuple, Self

import numpy as np
from scipy import sparse

from dropglm.base.blocks import Blocks, PerBlock
from dropglm.base.errors import InputError
from dropglm.base.gpu_arrays import to_host
from dropglm.base.threads import PIECE as ONE_PIECE
from dropglm.base.threads import each
from dropglm.core.latent import single_threaded_blas, singular_vectors, squared_norm
from dropglm.linear import LogisticRegression
from dropglm.search import LogisticRegressionCV
from dropglm.search.search import BY_BLOCK, is_grid
from dropglm.text.columns import ColumnFeatures, ColumnHead
from dropglm.text.embeddings import EmbeddingHead, Fingerprint, Scaling
from dropglm.text.ngrams.counting import inverse_document_frequencies
from dropglm.text.ngrams.vectorizer import NgramVectorizer


def add_block_settings(
    estimator: LogisticRegression | LogisticRegressionCV,
    values: Callable[[str, Any], Sequence[tuple[Any, ...]]],
) -> None:
    """Give an estimator the settings of one or more further blocks.

    Parameters
    ----------
    estimator : LogisticRegression or LogisticRegressionCV
        Its settings are changed.
    values : callable
        Called with the name of a setting and with one of the values that it has for the blocks so far;
        returns the candidates for the further blocks, each with one value per block.

    Examples
    --------
    >>> search = LogisticRegressionCV(dropout=(0.5, 0.3), l2_weights="uniform")
    >>> add_block_settings(search, lambda name, value: [(0.1,), (1.0,)] if name == "l2_weights" else [(0.0,)])
    >>> search.dropout, search.l2_weights
    ([PerBlock(0.5, 0.0), PerBlock(0.3, 0.0)], [PerBlock('uniform', 0.1), PerBlock('uniform', 1.0)])
    """
    tuned = isinstance(estimator, LogisticRegressionCV)
    for name in BY_BLOCK:
        given = getattr(estimator, name)
        if tuned and isinstance(given, str) and given == "auto":
            given = ("uniform", "naive_bayes")
        grid = [
            PerBlock(*(value.values if isinstance(value, PerBlock) else [value]), *last)
            for value in (given if is_grid(name, given) else [given])
            for last in values(name, value)
        ]
        estimator.set_params(**{name: grid[0] if len(grid) == 1 else grid})


def without_last(value: Any, count: int = 1) -> Any:
    """Return the values of a setting without those of the last blocks.

    Examples
    --------
    >>> without_last(PerBlock(0.5, 0.1, 0.0)), without_last(PerBlock(0.5, 0.1, 0.0), 2), without_last(0.5)
    (PerBlock(0.5, 0.1), 0.5, 0.5)
    """
    if not isinstance(value, PerBlock):
        return value
    first = value.values[:-count]
    return first[0] if len(first) == 1 else PerBlock(*first)


def split_last(
    model: LogisticRegression, width: int, blocks: int = 1
) -> tuple[LogisticRegression, np.ndarray]:
    """Return a model without its last features, which are so many blocks, and the coefficients of these."""
    settings = {name: without_last(getattr(model, name), blocks) for name in BY_BLOCK}
    others = LogisticRegression(**model.get_params() | settings)
    for name in ("classes_", "intercept_", "multi_class_", "n_iter_", "result_"):
        setattr(others, name, getattr(model, name))
    d = model.coef_.shape[1] - width
    others.coef_ = np.ascontiguousarray(model.coef_[:, :d])
    others.n_features_in_ = d
    return others, to_host(model.coef_[:, d:])


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


class LatentColumns(NamedTuple):
    """The columns that S keeps, of how many, its scales (one set per power), and the number k of features."""

    kept: np.ndarray
    n_features: int
    scales: list[np.ndarray]
    k: int

    @classmethod
    def of(cls, vectorizer: NgramVectorizer, k: int, powers: tuple[float, ...]) -> Self | None:
        """Return them for a fitted vectorizer; None if at most k or 50 words occur in several texts."""
        ngrams = vectorizer.ngrams_
        idf = inverse_document_frequencies(ngrams.document_counts, vectorizer.n_texts_, smooth=True)
        single = ngrams._word_counts == 1
        kept = np.flatnonzero((single | ~single.any()) & (ngrams.document_counts >= MIN_DF))
        if len(kept) <= min(k, FEW_WORDS):
            return None
        return cls(kept, len(ngrams), [idf[kept] ** power for power in powers], min(k, len(kept) - 1))

    def select(self, X: Any) -> Any:
        """Return these columns of a sparse matrix."""
        return sparse.csr_array(X)[:, self.kept]

    def block(
        self,
        scale: np.ndarray,
        V: Callable[[np.ndarray], np.ndarray],
        factors: np.ndarray,
        dtype: np.dtype,
        rows: Any = None,
    ) -> LatentBlock:
        """Return the block whose S has this scale, given the product with V, and D^½ as factors."""

        def fold_back(beta: np.ndarray) -> np.ndarray:
            coef = np.zeros((self.n_features, beta.shape[1]), dtype)
            coef[self.kept] = scale[:, None].astype(dtype) * V((factors[:, None] * beta).astype(dtype))
            return coef

        return LatentBlock(len(factors), fold_back, rows)

    def block_of(self, selected: Any, squares: float, scale: np.ndarray, threads: int) -> LatentBlock:
        """Return the block of rows in memory, given our columns of X and the sum of squares of all of X."""
        found, dtype = singular_vectors(scaled(selected, scale), self.k, threads=threads), selected.dtype
        factors = np.sqrt(found.singular_values)
        rows = found.coordinates * factors.astype(dtype)
        size = np.sqrt(squared_norm(rows) / squares)
        return self.block(scale, found.fold_back, factors / size, dtype, rows / dtype.type(size))


def scaled(rows: Any, scale: np.ndarray) -> Any:
    """Return the rows of a CSR array with each column multiplied by its scale."""
    if (scale == 1.0).all():
        return rows
    data = rows.data * scale.astype(rows.dtype)[rows.indices]
    return sparse.csr_array((data, rows.indices, rows.indptr), rows.shape)


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
        columns = LatentColumns.of(vectorizer, k, powers)
        if columns is None:
            return None
        rows, squares = columns.select(X), squared_norm(X, threads)
        # Few entries are one piece of work, so threads help only if each has a decomposition of its own.
        teams = threads if rows.nnz <= ONE_PIECE else 1
        with single_threaded_blas():  # for all of them: each would switch it on again at its end
            blocks = each(
                lambda scale: columns.block_of(rows, squares, scale, threads), columns.scales, teams
            )
        return cls(tuple(blocks), powers)

    def beside(self, rows: Any, first: int) -> Blocks:
        """Return rows of n-grams with their latent features; the first one is row ``first`` of all texts."""
        last = first + rows.shape[0]
        return Blocks(rows, *(block.rows[first:last] for block in self.blocks))

    def set_values(self, estimator: LogisticRegressionCV, *, or_none: bool = True) -> None:
        """Give a search values for the latent blocks: no noise, and each of them as a candidate.

        If ``or_none``, leaving all of them out is a candidate, too.
        """
        no_noise = [(0.0,) * len(self.blocks)]
        first = 0 if or_none else 1
        add_block_settings(
            estimator,
            lambda name, value: self._l2_weights(value)[first:] if name == "l2_weights" else no_noise,
        )

    def _l2_weights(self, of_ngrams: Any) -> list[tuple[float, ...]]:
        """Return the l2 weights of the latent blocks: all left out, then all but one."""
        weight = LATENT_L2_WEIGHTS.get(of_ngrams, 1.0) if isinstance(of_ngrams, str) else 1.0
        left_out = (inf,) * len(self.blocks)
        return [left_out] + [
            (*left_out[:number], weight, *left_out[number + 1 :]) for number in range(len(self.blocks))
        ]

    def only_chosen(self, l2_weights: PerBlock) -> Self | None:
        """Return the block that these l2 weights use; None if they use none."""
        number = self.chosen(l2_weights)
        if number is None:
            return None
        return type(self)(self.blocks[number : number + 1], self.powers[number : number + 1])

    def chosen(self, l2_weights: PerBlock) -> int | None:
        """Return the number of the latent block that these l2 weights use; None if they use none."""
        weights = l2_weights.values[1 : 1 + len(self.blocks)]
        return next((number for number, weight in enumerate(weights) if weight < inf), None)

    def split(self, coef: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the coefficients of a first block, and those of n-grams that the latent ones stand for."""
        widths = [block.width for block in self.blocks]
        d = coef.shape[1] - sum(widths)
        folded: Any = 0.0
        for block, end in zip(self.blocks, d + np.cumsum(widths), strict=True):
            own = coef[:, end - block.width : end]
            if own.any():
                folded = folded + block.fold_back(own.T).T
        return coef[:, :d], np.asarray(folded)

    def fold(self, model: LogisticRegression) -> LogisticRegression:
        """Return a model of the n-grams, from one that was fitted to n-grams and latent features."""
        first, folded = self.split(model.coef_)
        coef, d = (first + folded).astype(first.dtype), first.shape[1]
        of_ngrams = {name: without_last(getattr(model, name), len(self.blocks)) for name in BY_BLOCK}
        folded = copy(model).set_params(**of_ngrams)
        folded.coef_, folded.n_features_in_ = coef, d
        vars(folded).pop("_block_widths", None)
        return folded


# Values that a search chooses from: standard deviations of the noise, relative to the root mean square of the
# columns, and l2 weights relative to those of the n-grams; inf leaves an encoder out. With word vectors of
# 384 numbers and 300 labels, the log loss of imdb2k is 0.393, and 0.405 if the noise is always 1; that of
# subj is 0.266 and 0.270. Further l2 weights of 0.1 or 10 gained nothing on average over four sets: all
# blocks have rows of length 1.
NOISE = (1.0, 3.0)
EMBEDDING_L2_WEIGHTS = (1.0, inf)


class EmbeddingBlocks(NamedTuple):
    """The blocks of embeddings, one per encoder: what they were computed with, and how they are scaled."""

    fingerprint: Fingerprint
    scaling: Scaling
    embedder: Any  # which has this fingerprint, or None

    @classmethod
    def of(cls, embedder: Any, scaling: Scaling) -> Self:
        """Return the blocks of embeddings with this scaling, by an embedder or, if None, given ones."""
        width = len(scaling.mean)
        fingerprint = Fingerprint(width) if embedder is None else Fingerprint.of(embedder, width)
        if fingerprint.dimension != width:
            raise InputError(
                f"embeddings has {width} numbers per text, but the embedder gives {fingerprint.dimension}."
            )
        return cls(fingerprint, scaling, embedder)

    @property
    def encoders(self) -> int:
        """Number of encoders."""
        return len(self.scaling.widths)

    def split(self, model: LogisticRegression) -> tuple[LogisticRegression, EmbeddingHead]:
        """Return a model of the n-grams alone, and the head, from one that was fitted to both."""
        others, coef = split_last(model, self.fingerprint.dimension, self.encoders)
        coef = np.asarray(coef / self.scaling.by_column, np.float32)
        return others, EmbeddingHead(self.fingerprint, self.scaling.mean, coef, self.embedder)

    def unused(self, rows: int) -> EmbeddingHead:
        """Return a head of coefficients that are 0, for so many predictors."""
        coef = np.zeros((rows, self.fingerprint.dimension), np.float32)
        return EmbeddingHead(self.fingerprint, self.scaling.mean, coef, self.embedder)

    def summary(self, model: Any | None) -> dict[str, Any]:
        """Return what the summary says of embeddings, given a model that was fitted to them, if any."""
        named = {"dimension": self.fingerprint.dimension, "name": self.fingerprint.name}
        if model is None:
            return named | {"noise": [0.0] * self.encoders, "l2_weight": [None] * self.encoders}
        stds, weights = (values.values[-self.encoders :] for values in (model.noise_std, model.l2_weights))
        relative = zip(stds, self.scaling.widths, strict=True)
        return named | {
            "noise": [float(np.round(std * np.sqrt(width), 6)) for std, width in relative],
            "l2_weight": [None if weight == inf else float(weight) for weight in weights],
        }


# Values that a search chooses from for blocks of columns: dropout, and l2 weights relative to those of the
# n-grams, of which inf leaves a block out.
COLUMN_DROPOUT = (0.0, 0.5)
COLUMN_L2_WEIGHTS = (1.0, 10.0, 0.1, 100.0, 0.01, inf)


class ColumnBlocks(NamedTuple):
    """The blocks of the columns of a table beside the n-grams: one of numbers, one of categories, or both."""

    features: ColumnFeatures

    @property
    def blocks(self) -> int:
        """Number of blocks."""
        return len(self.features.sizes)

    def set_values(
        self, estimator: LogisticRegression | LogisticRegressionCV, like: dict[str, Any] | None = None
    ) -> None:
        """Give an estimator values for the blocks: those to choose from, or those of a search with other l2.

        The penalty is then the same.
        """
        n = self.blocks
        values: dict[str, Sequence[tuple[float, ...]]] = {"noise_std": [(0.0,) * n]}
        if like is not None:
            weights = like["l2_weights"].values[-n:]
            values["dropout"] = [like["dropout"].values[-n:]]
            values["l2_weights"] = [tuple(weight * like["l2"] / estimator.l2 for weight in weights)]
        else:
            most = len(COLUMN_L2_WEIGHTS) if isinstance(estimator, LogisticRegressionCV) else 1
            values["dropout"] = list(product(COLUMN_DROPOUT[:most], repeat=n))
            values["l2_weights"] = list(product(COLUMN_L2_WEIGHTS[:most], repeat=n))
        add_block_settings(estimator, lambda name, _: values[name])

    def summary(self, model: LogisticRegression) -> dict[str, Any]:
        """Return what the summary says of columns, given a model of which they are the last blocks."""
        dropout, weights = (getattr(model, name).values[-self.blocks :] for name in ("dropout", "l2_weights"))
        return self.features.summary() | {
            "dropout": [float(one) for one in dropout],
            "l2_weight": [None if one == inf else float(one) for one in weights],
        }

    def split(self, model: LogisticRegression) -> tuple[LogisticRegression, ColumnHead]:
        """Return a model of the other features, and the head, from one that was fitted to both."""
        others, coef = split_last(model, self.features.starts[-1], self.blocks)
        return others, ColumnHead(self.features, np.asarray(coef, np.float32))


def with_blocks(features: Any, blocks: Sequence[Any]) -> Any:
    """Return the features with others as further blocks; features may have several blocks already."""
    return Blocks(*(features.blocks if isinstance(features, Blocks) else [features]), *blocks)


def set_embedding_values(estimator: LogisticRegression | LogisticRegressionCV, widths: Sequence[int]) -> None:
    """Give an estimator values for blocks of embeddings, which have Gaussian noise instead of dropout."""
    most = len(NOISE) if isinstance(estimator, LogisticRegressionCV) else 1
    # The columns of scaled embeddings have a root mean square of 1/√width.
    stds = [[std / np.sqrt(width) for std in NOISE[:most]] for width in widths]
    weights = product(EMBEDDING_L2_WEIGHTS[:most], repeat=len(widths))
    values: dict[str, list[Any]] = {
        "dropout": [(0.0,) * len(widths)],
        "noise_std": list(product(*stds)),
        # Without any of the encoders there is a search of its own.
        "l2_weights": [own for own in weights if min(own) < inf],
    }
    add_block_settings(estimator, lambda name, _: values[name])
