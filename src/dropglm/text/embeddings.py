"""Embeddings of texts beside their n-grams: from an embedder, or computed by the user.

An embedder, see ``dropglm.text.encoders``, takes a list of texts and returns an array with one row of numbers
per text. A model that was trained with embeddings keeps the coefficients, and the fingerprint of the
embedder, but not the embedder:

    η = X β + b + (E - m) B

m is the mean embedding of the training texts. So the share of the embedding is 0 for an average text, and the
split between embedding and intercept has a meaning.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from dropglm.base.errors import InputError, InputTypeError
from dropglm.base.model_files import LARGEST
from dropglm.base.progress import Progress
from dropglm.core.predictions import LogisticPredictions
from dropglm.text.encoders import Encoder, encoder_of

if TYPE_CHECKING:
    from dropglm.text.embedding_cache import EmbeddingCache

BATCH = 256  # texts per call of an embedder, so that there can be a progress bar
# Characters of a text that an encoder is given: a megabyte takes USE a minute, and a server can do nothing
# else meanwhile. The longest review of IMDB has 14,000.
LONGEST = 20_000
FEWEST = 32  # distinct texts for which the cache is used; fewer are encoded as soon as they are found
PROBES = ("A lovely film with a great cast.", "The train leaves at seven.", "Version 2.1 of the library")
# Largest distance of two embeddings of the same text, relative to their length. Half precision moves them by
# about 0.001; unrelated models differ by more than 1.
TOLERANCE = 0.1


def embed(embedder: Any, texts: Sequence[str], *, shown: bool = False) -> np.ndarray:
    """Return the embeddings of the texts; each distinct text is passed to the embedder once.

    Embeddings of encoders that are loaded by name are kept on disk, see ``dropglm.text.embedding_cache``.

    Parameters
    ----------
    embedder : callable, object with a method ``encode``, or str
        What ``encoder_of`` takes.
    texts : sequence of str
        At least one text.
    shown : bool, default=False
        Whether to show a progress bar.

    Returns
    -------
    ndarray of shape (n, k) and dtype float32

    Examples
    --------
    >>> embed(lambda texts: [[len(text), text.count(" ")] for text in texts], ["one", "two words"])
    array([[3., 0.],
           [9., 1.]], dtype=float32)
    """
    if not len(texts):
        raise InputError("X is empty; give at least one text.")
    encoder = encoder_of(embedder)
    if len(encoder.members) > 1:
        return np.hstack([embed(one, texts, shown=shown) for one in encoder.members])
    places: dict[str, int] = {}
    numbers = [places.setdefault(_for_encoder(text), len(places)) for text in texts]
    distinct = list(places)
    found, missing = None, np.arange(len(distinct))
    cache = _cache_of(encoder) if len(distinct) >= FEWEST else None
    if cache is not None:
        found, is_known = cache.read(distinct)
        missing = np.flatnonzero(~is_known)
    with Progress("embeddings", len(missing), shown=shown and len(missing) > 0) as progress:
        for start in range(0, len(missing), BATCH):
            chosen = missing[start : start + BATCH]
            batch = [distinct[number] for number in chosen]
            rows = check_embeddings(encoder.encode(batch), len(batch), of_embedder=True)
            if found is None:
                found = np.empty((len(distinct), rows.shape[1]), np.float32)
            if rows.shape[1] != found.shape[1]:
                raise InputError(
                    f"The embedder returned {rows.shape[1]} numbers per text after it had returned "
                    f"{found.shape[1]}."
                )
            found[chosen] = rows
            if cache is not None:
                cache.add(batch, rows)
            progress.advance(len(batch))
    assert found is not None
    return found if len(distinct) == len(texts) else found[numbers]


def _for_encoder(text: str) -> str:
    """Return the beginning of a text, without halves of surrogate pairs, which encoders do not take."""
    text = text[:LONGEST]
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def _cache_of(encoder: Encoder) -> "EmbeddingCache | None":
    """Return where embeddings of the encoder are kept; None if they are not.

    Only those of encoders that were loaded by name are kept, since nothing identifies others.
    """
    if encoder.version is None:
        return None
    from dropglm.text.embedding_cache import cache_file

    path = cache_file(encoder.name, encoder.version)
    return None if path is None else _opened_cache(encoder, path)


@lru_cache(maxsize=8)
def _opened_cache(encoder: Encoder, path: Path) -> "EmbeddingCache":
    from dropglm.text.embedding_cache import EmbeddingCache, size_limit

    probes = check_embeddings(encoder.encode(list(PROBES)), len(PROBES), of_embedder=True)
    return EmbeddingCache(path, probes, size_limit())


def embedding_widths(embedder: Any) -> list[int] | None:
    """Return the numbers per text of each of several encoders; None if there is only one."""
    members = () if embedder is None else encoder_of(embedder).members
    return [Fingerprint.of(one).dimension for one in members] if len(members) > 1 else None


def check_embeddings(
    given: Any, n: int, *, name: str = "embeddings", rows_of: str = "X", of_embedder: bool = False
) -> np.ndarray:
    """Return embeddings as a float32 array, after checking that there are n finite rows.

    Parameters
    ----------
    given : array-like of shape (n, k)
        A NumPy array, a list, a data frame, or a tensor of PyTorch.
    n : int
        Number of texts.
    name : str
        Name of the parameter, for errors.
    rows_of : str
        Name of the texts, for errors.
    of_embedder : bool
        Whether an embedder has returned them.

    Returns
    -------
    ndarray of shape (n, k)

    Examples
    --------
    >>> check_embeddings([[0.5, 1], [2, 3]], 3)
    Traceback (most recent call last):
    dropglm.base.errors.InputError: embeddings has 2 rows, but X has 3 texts.
    """
    what = "What the embedder returned" if of_embedder else name
    array = as_array(given, what)
    if array.ndim != 2 or not array.shape[1]:
        raise InputError(
            f"{what} must have one row of numbers per text, but its shape is {array.shape} for {n} texts."
        )
    if len(array) != n:
        raise InputError(f"{what} has {len(array)} rows, but {rows_of} has {n} texts.")
    finite = (np.abs(array) <= LARGEST).all(axis=1)
    if not finite.all():
        raise InputError(
            f"{what} has NaN, infinite or huge numbers (beyond {LARGEST:g}), first in row "
            f"{int(np.argmin(finite))} (counted from 0)."
        )
    return array


def as_array(given: Any, what: str = "embeddings") -> np.ndarray:
    """Return a numeric array as float32; numbers that are too large become infinite."""
    if hasattr(given, "tocsr"):
        raise InputTypeError(f"{what} must be a dense array, got a sparse matrix; use its method toarray.")
    for method in ("detach", "cpu"):  # tensors of PyTorch
        given = getattr(given, method)() if hasattr(given, method) else given
    try:
        array = np.asarray(given)
        if array.dtype.kind not in "biufO":
            raise InputError(f"its dtype is {array.dtype}")
        with np.errstate(over="ignore"):
            return np.asarray(array, np.float32)
    except (TypeError, ValueError, RuntimeError) as error:
        reason = str(error).splitlines()[0].partition(". ")[0].rstrip(".")
        raise InputTypeError(f"{what} is not a numeric array: {reason}.") from None


class Fingerprint(NamedTuple):
    """What a model stores of its embedder: enough to recognise it, without its weights.

    It consists of the embeddings of a few fixed texts, which are compared with a tolerance. A hash of rounded
    numbers would be smaller, but the same model gives slightly different numbers on another processor or in
    half precision, and among a thousand numbers some are always close to where rounding jumps.

    Attributes
    ----------
    dimension : int
        Numbers per text.
    name : str or None
        Name of the embedder; None if the embeddings were given as arrays.
    probes : ndarray of shape (3, dimension) or None
        Its embeddings of three fixed texts; None if they are not known.

    Examples
    --------
    >>> def embedder(texts):
    ...     return [[len(text), text.count("e")] for text in texts]
    >>> known = Fingerprint.of(embedder)
    >>> known.dimension, known.name, known.differs_from(Fingerprint.of(embedder))
    (2, 'embedder', None)
    >>> known.differs_from(Fingerprint.of(lambda texts: [[1.0, 2.0]] * len(texts)))
    'it gives other embeddings for the same texts'
    """

    dimension: int
    name: str | None = None
    probes: np.ndarray | None = None

    @classmethod
    def of(cls, embedder: Any, dimension: int | None = None) -> Self:
        """Return the fingerprint of an embedder; the dimension is that of its embeddings, if known."""
        encoder = encoder_of(embedder)
        name = encoder.name
        try:
            probes = as_array(encoder.encode(list(PROBES)))
            probes = np.clip(np.nan_to_num(probes), -LARGEST, LARGEST)
        except LookupError:  # a table of texts with their embeddings
            if dimension is None:
                raise
            return cls(dimension, name)
        if probes.ndim != 2 or len(probes) != len(PROBES):
            raise InputError(
                f"The embedder must return one row of numbers per text, but the shape is {probes.shape} for "
                f"{len(PROBES)} texts."
            )
        return cls(probes.shape[1], name, probes)

    def differs_from(self, other: "Fingerprint") -> str | None:
        """Return how another embedder differs from this one, or None."""
        if self.dimension != other.dimension:
            return f"it gives {other.dimension} numbers per text, not {self.dimension}"
        if self.probes is None or other.probes is None:
            return None
        distance = np.linalg.norm(self.probes - other.probes, axis=1)
        length = np.linalg.norm(self.probes, axis=1)
        if (distance > TOLERANCE * length).any():
            return "it gives other embeddings for the same texts"
        return None

    def check(self, embedder: Any) -> None:
        """Raise an error if this is another embedder."""
        other = Fingerprint.of(embedder, self.dimension)
        difference = self.differs_from(other)
        if difference is not None:
            known = f"the embedder {self.name}" if self.name else f"embeddings of {self.dimension} numbers"
            raise InputError(
                f"The embedder {other.name} is not the one of the model, which was trained with {known}: "
                f"{difference}."
            )

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """Rebuild the fingerprint, after checking its parts."""
        dimension, name, probes = (state[field] for field in cls._fields)
        if probes is not None and probes.shape != (len(PROBES), dimension):
            raise InputError("the fingerprint of the embedder is not valid")
        return cls(dimension, name, probes)


class Scaling(NamedTuple):
    """Centring and scaling of embeddings, so that those of an encoder have length 1 like rows of n-grams.

    Attributes
    ----------
    mean : ndarray of shape (k,)
    sizes : tuple of float
        For each encoder, the root mean square of the distances of its embeddings from their mean.
    widths : tuple of int
        Numbers per text of each encoder, k in all.

    Examples
    --------
    >>> E = np.array([[1.0, 2.0], [1.0, 6.0]], np.float32)
    >>> Scaling.of(E)(E)
    [array([[ 0., -1.],
           [ 0.,  1.]], dtype=float32)]
    """

    mean: np.ndarray
    sizes: tuple[float, ...]
    widths: tuple[int, ...]

    @classmethod
    def of(cls, E: np.ndarray, widths: Sequence[int] | None = None) -> Self:
        """Return the scaling of these rows; by default they are those of one encoder."""
        mean = E.sum(axis=0, dtype=np.float64) / len(E)
        return cls.from_squares(mean, np.square(E - mean).sum(axis=0) / len(E), widths)

    @classmethod
    def from_squares(cls, mean: np.ndarray, variances: np.ndarray, widths: Sequence[int] | None) -> Self:
        """Return the scaling, given the mean and the variance of each number."""
        widths = (len(mean),) if widths is None else tuple(widths)
        squares = np.add.reduceat(variances, np.cumsum((0, *widths[:-1])))
        return cls(np.asarray(mean, np.float32), tuple(np.sqrt(squares).tolist()), widths)

    @property
    def by_column(self) -> np.ndarray:
        """The size by which each number is divided; 1 where all embeddings of an encoder are the same."""
        return np.repeat([size or 1.0 for size in self.sizes], self.widths).astype(np.float32)

    def __call__(self, E: np.ndarray) -> list[np.ndarray]:
        """Return (E - mean) / size of each encoder."""
        scaled = np.asarray((E - self.mean) / self.by_column, np.float32)
        return np.split(scaled, np.cumsum(self.widths)[:-1], axis=1)

    def undo(self, scaled: np.ndarray) -> np.ndarray:
        """Return the rows that were scaled, given those of all encoders side by side."""
        return np.asarray(scaled * self.by_column + self.mean, np.float32)


@dataclass(eq=False)
class EmbeddingHead:
    """Coefficients of the embeddings, and the fingerprint of what they were computed with.

    Attributes
    ----------
    fingerprint : Fingerprint
    mean : ndarray of shape (k,)
        m, the mean embedding of the training texts.
    coef : ndarray of shape (1, k) for two classes, else (K, k)
        Bᵀ.
    checked : object
        The embedder that is known to have this fingerprint, or None.
    """

    fingerprint: Fingerprint
    mean: np.ndarray
    coef: np.ndarray
    checked: Any = None

    @property
    def is_used(self) -> bool:
        """Whether embeddings count: they are left out if they were of no use."""
        return bool(self.coef.any())

    def predictors(self, E: np.ndarray) -> np.ndarray:
        """Return (E - m) B, what the embeddings add to the predictors; shape (n, K) or (n, 1)."""
        return np.asarray((E - self.mean) @ self.coef.T)

    def embeddings(self, texts: Sequence[str], given: Any, embedder: Any, *, shown: bool) -> np.ndarray:
        """Return the embeddings of the texts, given ones or those of the embedder."""
        known = self.fingerprint
        if given is not None:
            E = check_embeddings(given, len(texts))
        elif not self.is_used:
            return np.zeros((len(texts), known.dimension), np.float32)
        elif embedder is None:
            raise InputError(_missing(known), "embedder", "embeddings")
        else:
            self.check(embedder)
            E = embed(embedder, texts, shown=shown)
        if E.shape[1] != known.dimension:
            raise InputError(
                f"The embeddings have {E.shape[1]} numbers per text, but the model was trained with "
                f"{known.dimension}."
            )
        return E

    def check(self, embedder: Any) -> None:
        """Raise an error if the embedder is not the one that the model was trained with."""
        if self.checked is not embedder:
            self.fingerprint.check(embedder)
            self.checked = embedder

    def to_state(self) -> dict[str, Any]:
        """Return what a model file holds."""
        return {"mean": self.mean, "coef": self.coef, "fingerprint": self.fingerprint._asdict()}

    @classmethod
    def from_state(cls, state: dict[str, Any], rows: int) -> Self:
        """Rebuild the head, after checking its parts; ``rows`` is the number of predictors."""
        fingerprint = Fingerprint.from_state(state["fingerprint"])
        mean, coef = state["mean"], state["coef"]
        for array, shape in ((mean, (fingerprint.dimension,)), (coef, (rows, fingerprint.dimension))):
            if array.shape != shape:
                raise InputError("the coefficients of the embeddings do not match the classes")
        return cls(fingerprint, mean, coef)


class ModelWithHeads(LogisticPredictions):
    """The sum of a fitted model of n-grams and of heads; its X are the features of each, n-grams first.

    Heads, of embeddings or of characters, have a method ``predictors``.
    """

    def __init__(self, model: LogisticPredictions, heads: Sequence[Any]) -> None:
        self.model, self.heads = model._snapshot(), heads
        self.classes_, self.multi_class_ = self.model.classes_, self.model.multi_class_
        self.thresholds_ = self.model.thresholds_
        self.coef_, self.intercept_ = self.model.coef_, self.model.intercept_
        self.n_features_in_ = self.model.n_features_in_

    def _predictors(self, X: Any) -> np.ndarray:
        features, *others = X
        parts = (head.predictors(own) for head, own in zip(self.heads, others, strict=True))
        return sum(parts, self.model._predictors(features))


def refuse_embeddings(given: Any) -> None:
    """Raise an error if there are embeddings, or an embedder, for a model that was trained without."""
    if given is not None:
        raise InputError("The model was trained without embeddings, so it cannot use any.")


def _missing(known: Fingerprint) -> str:
    if known.name is None:
        return (
            f"The model was trained with embeddings of {known.dimension} numbers per text; pass those of the "
            "texts as embeddings."
        )
    return (
        f"The model needs its embedder {known.name}, which model files do not contain; set embedder when "
        "loading the model, or pass embeddings."
    )
