"""Texts in partitions, wherever these are, for the fit of a text classifier.

Each partition counts its n-grams. The vocabulary is selected among the sum of all counts, so it is that of
all texts at once. Each partition then becomes a matrix, to which latent features and embeddings are added.
Only sums and short matrices reach the client: the latent features come from products of the partitions'
matrices with thin ones.
"""

from collections import Counter
from collections.abc import Sequence
from functools import partial
from operator import add
from os import PathLike
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from dropglm.base import checks
from dropglm.base.blocks import Blocks
from dropglm.base.errors import InputError
from dropglm.base.progress import Progress
from dropglm.core.latent import products, single_threaded_blas, singular_space, squared_norm
from dropglm.places.labels import RowLabels
from dropglm.places.partitions import Engine, Rows
from dropglm.places.partitions.checkpoint import checkpoint_folder
from dropglm.places.partitions.contents import naming, partition_name
from dropglm.places.partitions.rows import RowsInPartitions
from dropglm.places.partitions.sums import Sums, add_sums, sums_of
from dropglm.places.rows import TrainingRows
from dropglm.text.blocks_beside_ngrams import (
    ColumnBlocks,
    EmbeddingBlocks,
    LatentColumns,
    LatentPrior,
    scaled,
    with_blocks,
)
from dropglm.text.characters import within_budget
from dropglm.text.columns import ColumnFeatures, Columns, count_values, counts_by_column, plain_texts
from dropglm.text.copies import TextGroups, copy_keys
from dropglm.text.embeddings import Scaling, check_embeddings, embed, embedding_widths
from dropglm.text.encoders import encoder_of
from dropglm.text.labels import check_text_labels, kept_entries
from dropglm.text.ngrams.analysis import check_texts
from dropglm.text.ngrams.features import column_totals
from dropglm.text.ngrams.merged_counts import NgramCounts
from dropglm.text.ngrams.vectorizer import NgramVectorizer
from dropglm.text.training import (
    TrainingTexts,
    character_vectorizer_of,
    check_text_settings,
    column_names_of,
    draws_folds,
    last_blocks,
    vectorizer_of,
)


class TextRows(NamedTuple):
    """The texts of a partition, or what they have become."""

    number: int
    X: Any  # texts, a matrix or Blocks
    y: np.ndarray | None  # labels; None for texts without
    weights: Any
    embeddings: np.ndarray | None = None
    groups: np.ndarray | None = None
    kept: np.ndarray | None = None  # which texts have the labels y; None for all of them
    columns: list[Any] | None = None  # blocks of features of the columns beside the texts

    @property
    def labeled(self) -> bool:
        """Whether the texts have labels."""
        return self.y is not None


class LabeledTexts(NamedTuple):
    """What the client knows of each text with a label in a partition."""

    keys: np.ndarray  # that copies have in common
    y: np.ndarray
    groups: np.ndarray | None


class TextCounts(NamedTuple):
    """What one or several partitions of texts contain."""

    ngrams: NgramCounts
    labeled: list[LabeledTexts]  # of each partition, if it has any
    sizes: tuple[int, ...]  # number of texts of each partition
    characters: tuple[int, ...]  # number of characters of each partition
    embedded: int  # number of partitions whose embeddings were given
    values: Counter[tuple[str, Any]]  # of the columns beside the texts

    def __add__(self, other: Any) -> "TextCounts":
        return TextCounts(*map(add, tuple(self), tuple(other)))


class TextsInPartitions(TrainingTexts):
    """Texts in partitions.

    Parameters
    ----------
    classifier : TextClassifier
    engine : Engine
    labeled, unlabeled : lists
        Partitions as the engine keeps them: ``Rows`` whose X are texts, or texts and their embeddings. Both
        lists are emptied, so that an engine can release the texts as soon as it has their matrices. Texts of
        labelled partitions whose label is missing become the first of the unlabelled partitions.
    checkpoint : str or path, optional
        As in ``fit_partitions``; only if nothing is tuned.
    """

    def __init__(
        self,
        classifier: Any,
        engine: Engine,
        labeled: list[Any],
        unlabeled: list[Any],
        checkpoint: str | PathLike[str] | None = None,
    ) -> None:
        check_text_settings(classifier)
        if classifier.embedder is not None:
            encoder_of(classifier.embedder)
        if classifier.tune and checkpoint is not None:
            raise InputError("A search has no checkpoints; use tune=False, or leave checkpoint out.")
        if checkpoint is not None:
            checkpoint_folder(checkpoint)  # before texts are counted
        if not labeled:
            raise InputError("There is no partition of labelled texts.")
        self.engine, self.checkpoint = engine, checkpoint
        self._first_unlabeled = len(labeled)
        checked = engine.keep(check_partition, [*labeled, *unlabeled], None)
        self._texts = split_gaps(engine, checked[: len(labeled)], checked[len(labeled) :])
        checked.clear()
        labeled.clear()
        unlabeled.clear()

        self._classifier = classifier
        self._counter = vectorizer_of(classifier, 1.0).set_params(n_jobs=None, verbose=0)
        self._counter._check()
        self._settings = {"n_jobs": classifier.n_jobs, "verbose": classifier.verbose}
        shown = bool(classifier.verbose)
        with Progress(f"Counting the n-grams of {len(self._texts):,} partitions", is_stage=True, shown=shown):
            names = column_names_of(classifier)
            total: TextCounts = engine.total(count, self._texts, (self._counter, names), add)
        self._ngrams, known, self._sizes, self._characters, embedded, values = total
        if not known:
            raise InputError("No partition has a text with a label.")
        labels = RowLabels.of(
            classifier, _joined([part.y for part in known]), sum(len(part.y) for part in known)
        )
        self.multilabel = labels.multilabel
        self.class_counts = labels.counts()
        self.groups = _groups_of(known, labels, join_copies=draws_folds(classifier))
        self.n_unlabeled = sum(self._sizes[self._first_unlabeled :])
        self.columns = None
        if names:
            features = ColumnFeatures.of(classifier._columns, counts_by_column(values, names))
            squares = engine.total(column_block_squares, self._texts, features, add)
            self.columns = ColumnBlocks(features.with_sizes(squares, sum(self._sizes)))
        some = embedded or classifier.embedder is not None
        self.embeddings = self._embed(classifier.embedder, bool(embedded), shown) if some else None

    def _embed(self, embedder: Any, given: bool, shown: bool) -> EmbeddingBlocks:
        """Let the partitions embed their texts, unless embeddings were given; return how they are scaled."""
        with Progress("Embedding the texts of all partitions", is_stage=True, shown=shown):
            how = None if given else embedder, self._classifier._columns
            self._texts = self.engine.keep(embed_texts, self._texts, how)
            n, total = self.engine.total(embedding_sums, self._texts, None, add_embedding_sums)
        mean = total / n
        squares = self.engine.total(squared_distances, self._texts, mean, add)
        scaling = Scaling.from_squares(mean, squares / n, embedding_widths(embedder))
        return EmbeddingBlocks.of(embedder, scaling)

    def vectorize(self, ngram_weight: float, *, last: bool) -> tuple[NgramVectorizer, Any]:
        """Return a vectorizer of all texts, and the partitions with their matrices."""
        vectorizer = clone(self._counter).set_params(ngram_weight=ngram_weight).fit_counts(self._ngrams)
        return self._to_matrices(vectorizer, self._texts, last=last)

    def vectorize_characters(
        self, words: NgramVectorizer, prior: LatentPrior | None
    ) -> tuple[NgramVectorizer, Any] | None:
        """Return a vectorizer of characters, and the matrices of partitions that are within the budget."""
        first = self._first_unlabeled
        m = within_budget(sum(self._characters[:first]), self._characters[first:])
        if m is None:
            return None
        texts = self._texts[: first + m]
        counter = character_vectorizer_of(self._classifier).set_params(n_jobs=None, verbose=0)
        try:
            vectorizer = counter.fit_counts(self.engine.total(count_ngrams, texts, counter, add))
        except InputError:  # no n-gram of characters is in two texts
            return None
        self._texts.clear()
        vectorizer, matrices = self._to_matrices(vectorizer, texts, last=False)
        if prior is not None:
            parts = [[matrix, own] for matrix, own in zip(matrices, texts, strict=True)]
            (block,) = prior.blocks
            factors = block.fold_back(np.eye(block.width, dtype=vectorizer.dtype))
            matrices = self.engine.keep(beside_latent, parts, (words, factors))
        return vectorizer, matrices

    def _to_matrices(
        self, vectorizer: NgramVectorizer, texts: list[Any], *, last: bool
    ) -> tuple[NgramVectorizer, Any]:
        """Return a fitted vectorizer, and partitions with the matrices of their texts."""
        shown = bool(self._settings["verbose"])
        with Progress(f"Vectorizing {len(texts):,} partitions", is_stage=True, shown=shown):
            features = None if self.columns is None else self.columns.features
            matrices = self.engine.keep(to_matrix, texts, (vectorizer, features))
            totals = self.engine.total(value_totals, matrices, None, add_sums)
        if last:
            texts.clear()
        different, self._squared_norm = totals.numbers
        vectorizer.ngrams_._record_totals(totals.dense()[:, 0], bool(different))
        labeled = matrices[: self._first_unlabeled]
        scales = self.engine.total(held_out_scales, labeled, vectorizer, add)
        self._held_out_scale = None if vectorizer.norm is None else np.concatenate(scales)
        return vectorizer.set_params(**self._settings), matrices

    def latent_prior(
        self, features: Any, vectorizer: NgramVectorizer, k: int, powers: tuple[float, ...]
    ) -> tuple[LatentPrior | None, Any]:
        """Return the prior of k latent features, and the partitions with these as further blocks."""
        columns, dtype = LatentColumns.of(vectorizer, k, powers), np.dtype(vectorizer.dtype)
        if columns is None:
            return None, features
        blocks, added = [], []
        for scale in columns.scales:
            M = PartitionedProducts(self.engine, features, self._sizes, columns, scale)
            with single_threaded_blas():
                space = singular_space(M, columns.k, dtype=dtype, threads=1)
                # The right singular vectors of X are the left ones of its transpose.
                V = M.dot(space.coefficients(dtype, 1), 1) if M.transposed else space.right_vectors(dtype, 1)
            factors = np.sqrt(space.s)
            squares = self.engine.total(column_squares, M.parts, V, add)
            factors /= np.sqrt(np.sum(factors**2 * squares) / self._squared_norm)
            blocks.append(columns.block(scale, partial(np.matmul, V), factors, dtype))
            added.append((scale, V * factors.astype(dtype)))
        with_latent = self.engine.keep(add_latent, features, (columns, added))
        features.clear()
        return LatentPrior(tuple(blocks), powers), with_latent

    def rows(self, estimator: Any, features: Any, *, embedded: bool) -> TrainingRows:
        """Return the rows of a fit; the list of features is emptied."""
        scaling = self.embeddings.scaling if embedded and self.embeddings is not None else None
        groups: list[Any] = [None] * len(features)
        if self.groups.labels is not None:
            ends = np.cumsum(self._sizes[: self._first_unlabeled])
            groups[: self._first_unlabeled] = np.split(self.groups.labels, ends[:-1])
        parts = self.engine.keep(to_rows, [[*both] for both in zip(features, groups, strict=True)], scaling)
        features.clear()
        labeled, unlabeled = parts[: self._first_unlabeled], parts[self._first_unlabeled :]
        parts.clear()
        rows = RowsInPartitions(estimator, self.engine, labeled, unlabeled, checkpoint=self.checkpoint)
        missing = self.class_counts.keys() - set(rows.data.classes.tolist())
        if missing:
            raise InputError(
                f"All rows of class {min(missing)} have a sample_weight of 0; remove these rows."
            )
        rows.held_out_scale = self._held_out_scale
        beside = 0 if self.columns is None else self.columns.blocks
        beside += 0 if scaling is None else len(scaling.widths)
        rows.unscaled = last_blocks(rows, beside)
        return rows


def check_partition(part: Rows, _: None) -> TextRows:
    """Return a partition whose X is a list of strings and whose y, if it has labels, is an array."""
    with naming(partition_name(part.number, labeled=part.labeled)):
        texts, E = part.X if isinstance(part.X, Embedded) else (part.X, None)
        texts, y, kept = check_texts(texts, "X" if part.labeled else "X_unlabeled"), None, None
        if part.labeled:
            y, kept = check_text_labels(part.y, len(texts)) if len(texts) else (np.empty(0), None)
        E = check_embeddings(E, len(texts)) if E is not None and len(texts) else None
        weights, groups = part.weights, part.groups
        if kept is not None:
            weights = None if weights is None else kept_entries(weights, kept, "sample_weight")
            groups = None if groups is None else kept_entries(groups, kept, "groups")
        groups = None if groups is None else checks.groups(groups, len(texts) if y is None else len(y))
    return TextRows(part.number, texts, y, weights, E, groups, kept)


def split_gaps(engine: Engine, labeled: list[Any], unlabeled: list[Any]) -> list[Any]:
    """Return all partitions, after texts without a label have become the first of the unlabelled ones."""
    gaps = engine.total(has_gaps, labeled, None, add)
    if not any(gaps):
        return [*labeled, *unlabeled]
    some = [part for part, gap in zip(labeled, gaps, strict=True) if gap]
    return [*engine.keep(by_label, labeled, True), *engine.keep(by_label, some, False), *unlabeled]


def has_gaps(part: TextRows, _: None) -> list[bool]:
    """Return whether texts of a labelled partition have no label, in a list."""
    return [part.kept is not None]


def by_label(part: TextRows, labeled: bool) -> TextRows:
    """Return the texts of a partition that have a label, or those that have none."""
    if part.kept is None:  # it has no gaps
        return part
    chosen = part.kept if labeled else ~part.kept
    texts = [part.X[place] for place in np.flatnonzero(chosen)]
    E = None if part.embeddings is None else part.embeddings[chosen]
    if labeled:
        return part._replace(X=texts, embeddings=E, kept=None)
    return TextRows(part.number, texts, None, None, E)


def _groups_of(known: list[LabeledTexts], labels: RowLabels, *, join_copies: bool) -> TextGroups:
    """Return the groups of the texts with labels of all partitions."""
    keys, _, groups = zip(*known, strict=True)
    given = None if groups[0] is None else _joined(groups)
    return TextGroups.of(np.concatenate(keys), labels.y, given, join_copies=join_copies)


def _joined(parts: Sequence[np.ndarray]) -> np.ndarray:
    """Return arrays of labels one after the other, each label of the type that it has."""
    if parts[0].ndim == 2 or len({own.dtype.kind for own in parts}) == 1:
        return np.concatenate(parts)
    if len({own.dtype.kind in "UTO" for own in parts}) > 1:
        raise InputError("Labels are strings in some partitions and numbers in others: their types differ.")
    return np.concatenate([own.astype(object) for own in parts])


class Embedded(NamedTuple):
    """The texts of a partition and their embeddings, if these are given."""

    texts: Any
    embeddings: Any


def count(part: TextRows, how: tuple[NgramVectorizer, tuple[str, ...]]) -> TextCounts:
    """Return what a partition contains, given the names of the columns beside the texts as well."""
    (vectorizer, names), known = how, []
    if part.y is not None and len(part.y):
        known = [LabeledTexts(copy_keys(part.X, vectorizer.build_preprocessor()), part.y, part.groups)]
    sizes, characters = (len(part.X),), (sum(map(len, part.X)),)
    with naming(partition_name(part.number, labeled=part.labeled)):
        values: Counter[tuple[str, Any]] = count_values(part.X, names) if names else Counter()
    embedded = int(part.embeddings is not None)
    return TextCounts(vectorizer.count(part.X), known, sizes, characters, embedded, values)


def column_block_squares(part: TextRows, features: ColumnFeatures) -> np.ndarray:
    """Return the sums of the squares of the features of a partition's columns, by block."""
    return features.squares(features(part.X))


def count_ngrams(part: TextRows, vectorizer: NgramVectorizer) -> NgramCounts:
    """Return the n-grams of a partition."""
    return vectorizer.count(part.X)


def embed_texts(part: TextRows, how: tuple[Any, Columns | None]) -> TextRows:
    """Return a partition with embeddings; without an embedder they must have been given for all texts."""
    embedder, columns = how
    if part.embeddings is not None or not part.X:
        return part
    with naming(partition_name(part.number, labeled=part.labeled)):
        if embedder is None:
            raise InputError("has texts without embeddings, but others have them.")
        return part._replace(embeddings=embed(embedder, plain_texts(columns, part.X), shown=False))


def embedding_sums(part: TextRows, _: None) -> tuple[int, Any]:
    """Return the number of embeddings of a partition, and their sum; None if there are none."""
    E = part.embeddings
    return (0, None) if E is None else (len(E), E.sum(axis=0, dtype=np.float64))


def add_embedding_sums(a: tuple[int, Any], b: tuple[int, Any]) -> tuple[int, Any]:
    """Return the sums of two groups of partitions."""
    if a[1] is None or b[1] is None:
        return b if a[1] is None else a
    if a[1].shape != b[1].shape:
        raise InputError(
            f"Embeddings of some partitions have {len(a[1])} numbers per text, those of others {len(b[1])}."
        )
    return a[0] + b[0], a[1] + b[1]


def squared_distances(part: TextRows, mean: np.ndarray) -> np.ndarray:
    """Return the sums of the squared distances of a partition's embeddings from their mean, by column."""
    if part.embeddings is None:
        return np.zeros(len(mean))
    return np.square(part.embeddings - mean).sum(axis=0)


def to_matrix(part: TextRows, how: tuple[NgramVectorizer, ColumnFeatures | None]) -> TextRows:
    """Return a partition with the matrix of its texts, and the features of its columns if there are any."""
    vectorizer, features = how
    columns = None if features is None else features.blocks(features(part.X))
    return part._replace(X=vectorizer.transform(part.X), columns=columns)


def held_out_scales(part: TextRows, vectorizer: NgramVectorizer) -> list[np.ndarray | None]:
    """Return by how much the rows of a partition are longer where they are held out, in a list.

    Rows of weight 0 take no part in a fit in partitions.
    """
    scale = vectorizer._held_out_scale(part.X)
    if scale is None or not len(scale):
        return [scale]
    with naming(partition_name(part.number, labeled=part.labeled)):
        return [scale[checks.weights(part.weights, len(scale)) > 0]]


def value_totals(part: TextRows, _: None) -> Sums:
    """Return the sum of the values of each n-gram, whether any value is not 1, and the sum of squares."""
    values, different = column_totals(part.X)
    places = np.flatnonzero(values).astype(np.int32)
    numbers = np.array([float(different), squared_norm(part.X)])
    return sums_of(numbers, values[places, None], places, len(values))


class LatentRows(NamedTuple):
    """The weighted words of a partition, and the place of its first text among all texts."""

    first: int
    X: Any

    def slice_of(self, Q: np.ndarray) -> np.ndarray:
        """Return the rows of Q that belong to the partition's texts."""
        return np.ascontiguousarray(Q[self.first : self.first + self.X.shape[0]])


class PartitionedProducts:
    """M = X S of all partitions, or its transpose if there are fewer texts than words; see ``Products``.

    Parameters
    ----------
    engine : Engine
    matrices : list
        Partitions with the matrices of their texts.
    sizes : sequence of int
        Number of texts of each.
    columns : LatentColumns
        The columns that S keeps.
    scale : ndarray
        Their weights.
    """

    def __init__(
        self, engine: Engine, matrices: list[Any], sizes: Any, columns: LatentColumns, scale: np.ndarray
    ) -> None:
        self.engine = engine
        starts = np.cumsum((0, *sizes)).tolist()
        parts = [[part, first] for part, first in zip(matrices, starts, strict=False)]
        self.parts = engine.keep(weighted_words, parts, (columns, scale))
        n, d = starts[-1], len(columns.kept)
        self.transposed = n < d
        self.shape = (d, n) if self.transposed else (n, d)

    def gram(self, Q: np.ndarray, threads: int) -> np.ndarray:
        """Return MᵀM Q; one round, or two if M is transposed."""
        if not self.transposed:
            return self.engine.total(gram_share, self.parts, Q, add)
        return np.concatenate(self.engine.total(multiplied_rows, self.parts, self.dot(Q, threads), add))

    def dot(self, B: np.ndarray, threads: int) -> np.ndarray:
        """Return M B of a transposed M."""
        return self.engine.total(transposed_share, self.parts, B, add)


def weighted_words(numbered: list[Any], S: tuple[LatentColumns, np.ndarray]) -> LatentRows:
    """Return the columns of a partition that count, each multiplied by its weight."""
    (part, first), (columns, scale) = numbered, S
    return LatentRows(first, scaled(columns.select(part.X), scale))


def gram_share(part: LatentRows, Q: np.ndarray) -> np.ndarray:
    """Return the share of a partition in XᵀX Q."""
    return products(part.X).gram(Q, 1) if part.X.shape[0] else np.zeros_like(Q)


def transposed_share(part: LatentRows, B: np.ndarray) -> np.ndarray:
    """Return the share of a partition in XᵀB."""
    return products(part.X, transpose=True).dot(part.slice_of(B), 1)


def multiplied_rows(part: LatentRows, B: np.ndarray) -> list[np.ndarray]:
    """Return X B of a partition, in a list."""
    return [products(part.X).dot(B, 1)]


def column_squares(part: LatentRows, vectors: np.ndarray) -> np.ndarray:
    """Return the share of a partition in the squared lengths of the columns of X V."""
    return np.square(multiplied_rows(part, vectors)[0], dtype=np.float64).sum(axis=0)


def beside_latent(pair: list[TextRows], latent: tuple[NgramVectorizer, np.ndarray]) -> TextRows:
    """Return a partition of characters with the latent features of its words, given its texts as well."""
    (part, texts), (words, factors) = pair, latent
    return part._replace(X=Blocks(part.X, words.transform(texts.X) @ factors))


def add_latent(part: TextRows, latent: tuple[LatentColumns, list[Any]]) -> TextRows:
    """Return a partition with its latent features beside the n-grams."""
    columns, blocks = latent
    words = columns.select(part.X)
    rows = [products(scaled(words, scale)).dot(V, 1) for scale, V in blocks]
    return part._replace(X=Blocks(part.X, *rows))


def to_rows(grouped: list[Any], scaling: Scaling | None) -> Rows:
    """Return a partition and its groups as rows of features; columns and embeddings are the last blocks."""
    part, groups = grouped
    X, E = part.X, part.embeddings
    beside = [*(part.columns or [])]
    if scaling is not None:
        beside += scaling(np.empty((0, len(scaling.mean)), np.float32) if E is None else E)
    if beside:
        X = with_blocks(X, beside)
    return Rows(part.number, X, part.y, part.weights, labeled=part.labeled, groups=groups)
