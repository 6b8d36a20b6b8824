"""Entities: runs of tags B-TYPE, I-TYPE, …, and precision, recall and F1 of predicted ones."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from dropglm.base.errors import InputError


def known_pairs(true: Sequence[Sequence[Any]], predicted: Sequence[Sequence[Any]]) -> list[tuple[Any, Any]]:
    """Return the true and the predicted tag of each token whose true tag is known."""
    rows = zip(true, predicted, strict=True)
    pairs = [pair for own in rows for pair in zip(*own, strict=True) if pair[0] is not None]
    if not pairs:
        raise InputError("tags has no known tag.")
    return pairs


class Entity(NamedTuple):
    """A run of tokens: its type, its first token and the one after its last."""

    type: str
    start: int
    stop: int


def entities(tags: Iterable[str]) -> list[Entity]:
    """Return the entities that the tags of a sentence mark, as the script ``conlleval`` does.

    An entity begins at B-TYPE or S-TYPE, and at I-TYPE or E-TYPE if no entity of this type precedes. It goes
    on with I-TYPE and ends with E-TYPE or S-TYPE. Other tokens have the tag O.

    Parameters
    ----------
    tags : iterable of str
        The tags of one sentence.

    Returns
    -------
    list of Entity
        Type, first token and the one after the last.

    See Also
    --------
    entity_scores : Compares the entities of predicted tags with true ones.

    Examples
    --------
    >>> from dropglm.sequences import entities
    >>> entities(["B-PER", "I-PER", "O", "I-LOC"])
    [Entity(type='PER', start=0, stop=2), Entity(type='LOC', start=3, stop=4)]
    """
    found: list[Entity] = []
    open_type, start = None, 0
    for t, tag in enumerate((*tags, "O")):
        place, dash, kind = str(tag).partition("-")
        if tag != "O" and (place not in {"B", "I", "E", "S"} or not dash):
            raise InputError(f"Tags of entities are O, B-TYPE, I-TYPE, E-TYPE or S-TYPE, got {tag!r}.")
        if open_type is not None and (place not in {"I", "E"} or kind != open_type):
            found.append(Entity(open_type, start, t))
            open_type = None
        if tag == "O":
            continue
        if open_type is None:
            open_type, start = kind, t
        if place in {"E", "S"}:
            found.append(Entity(open_type, start, t + 1))
            open_type = None
    return found


@dataclass(frozen=True)
class EntityScores:
    """Precision, recall and F1 of entities, over all types and by type; ``print`` it.

    Attributes
    ----------
    correct, predicted, true : int
        Number of predicted entities that are correct (same tokens and type), of predicted and of true ones.
    by_type : dict
        The scores of each type.

    See Also
    --------
    entity_scores : Returns them.

    Examples
    --------
    >>> from dropglm.sequences import EntityScores
    >>> print(EntityScores(3, 4, 6))
    F1 60.00 (precision 75.00, recall 50.00): 3 of 4 predicted entities are correct, of 6 true ones
    """

    correct: int
    predicted: int
    true: int
    by_type: Mapping[str, "EntityScores"] | None = None

    @property
    def precision(self) -> float:
        """Share of the predicted entities that is correct; 0 if there are none."""
        return self.correct / self.predicted if self.predicted else 0.0

    @property
    def recall(self) -> float:
        """Share of the true entities that was found; 0 if there are none."""
        return self.correct / self.true if self.true else 0.0

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall; 0 if there are no entities."""
        total = self.predicted + self.true
        return 2.0 * self.correct / total if total else 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return all numbers, as JSON can hold them.

        Returns
        -------
        dict
            The attributes, precision, recall and F1.
        """
        own = {"precision": self.precision, "recall": self.recall, "f1": self.f1} | asdict(self)
        own.pop("by_type")
        kinds = {kind: scores.to_dict() for kind, scores in (self.by_type or {}).items()}
        return own | ({"by_type": kinds} if self.by_type is not None else {})

    def __str__(self) -> str:
        return (
            f"F1 {100 * self.f1:.2f} (precision {100 * self.precision:.2f}, recall {100 * self.recall:.2f})"
            f": {self.correct:,} of {self.predicted:,} predicted entities are correct, "
            f"of {self.true:,} true ones"
        )


def entity_scores(true: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]) -> EntityScores:
    """Return precision, recall and F1 of the entities of predicted tags.

    Parameters
    ----------
    true, predicted : sequence of sequence of str
        The tags of each sentence.

    Returns
    -------
    EntityScores
        Over all types, and by type.

    See Also
    --------
    entities : Returns the entities of a sentence.

    Examples
    --------
    >>> from dropglm.sequences import entity_scores
    >>> entity_scores([["B-PER", "O", "B-LOC"]], [["B-PER", "O", "O"]]).f1
    0.667
    """
    counts = [Counter[str]() for _ in range(3)]
    if len(true) != len(predicted):
        raise InputError(
            f"There are true tags of {len(true)} sentences, but predicted ones of {len(predicted)}."
        )
    for i, (gold, found) in enumerate(zip(true, predicted, strict=True)):
        if len(gold) != len(found):
            raise InputError(f"Sentence {i} has {len(gold)} true tags, but {len(found)} predicted ones.")
        wanted, given = set(entities(gold)), set(entities(found))
        for counter, group in zip(counts, (wanted & given, given, wanted), strict=True):
            counter.update(entity.type for entity in group)
    correct, given_counts, true_counts = counts
    by_type = {
        kind: EntityScores(correct[kind], given_counts[kind], true_counts[kind])
        for kind in sorted(given_counts | true_counts)
    }
    return EntityScores(correct.total(), given_counts.total(), true_counts.total(), by_type)
