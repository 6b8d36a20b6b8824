"""Fingerprint of an embedder: enough to recognise it, without its weights.

It consists of the embeddings of a few fixed texts, which are compared with a tolerance. A hash of rounded
numbers would be smaller, but the same model gives slightly different numbers on another processor or in half
precision, and among a thousand numbers some are always close to where rounding jumps.
"""

from typing import Any, NamedTuple, Self

import numpy as np

from dropglm.errors import InputError
from dropglm.model_files import LARGEST
from dropglm.text.embeddings import as_array, encoder_of

PROBES = ("A lovely film with a great cast.", "The train leaves at seven.", "Version 2.1 of the library")
# Largest distance of two embeddings of the same text, relative to their length. Half precision moves them by
# about 0.001; unrelated models differ by more than 1.
TOLERANCE = 0.1


class Fingerprint(NamedTuple):
    """What a model stores of its embedder.

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
        name = _name_of(embedder)
        try:
            probes = as_array(encoder_of(embedder)(list(PROBES)))
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

    def to_state(self) -> dict[str, Any]:
        """Return what a model file holds."""
        return self._asdict()

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """Rebuild the fingerprint, after checking its parts."""
        dimension, name, probes = (state[field] for field in cls._fields)
        if probes is not None and probes.shape != (len(PROBES), dimension):
            raise InputError("the fingerprint of the embedder is not valid")
        return cls(dimension, name, probes)


def _name_of(embedder: Any) -> str:
    """Return the embedder's name: its attribute ``name``, or that of the function or of the class."""
    names = (getattr(embedder, attribute, None) for attribute in ("name", "__name__"))
    return next((name for name in names if isinstance(name, str)), type(embedder).__name__)
