"""Labels of a pool that may be wrong: models that have not seen them disagree."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from dropglm.labelling.refit import LabeledTexts, choose_settings
from dropglm.text.label_check import Disagreement, can_judge_labels, suspicious_labels

if TYPE_CHECKING:
    from dropglm.labelling.pool import TextPool


class Findings(NamedTuple):
    """Labels that may be wrong, and whether the model was good enough to tell."""

    found: list[Disagreement]
    is_telling: bool


def suspicious(pool: "TextPool", labels: Mapping[int, str], k: int | None = None) -> list[Disagreement]:
    """List the labelled texts of a pool whose label may be wrong, the most suspicious first.

    Each text is predicted by a model that was fitted without it.

    Parameters
    ----------
    pool : TextPool
    labels : mapping of int to str
        The label of each labelled text, by its number.
    k : int or None, default=None
        Maximal number of texts; None means all.

    Returns
    -------
    list of Disagreement
        ``row`` is the number of the text in the pool. Empty with fewer than two classes, if every class has a
        single text, or if the model is right no more often than the most frequent class is.

    See Also
    --------
    dropglm.text.suspicious_labels : The same for given probabilities.

    Examples
    --------
    >>> from dropglm.labelling import TextPool
    >>> nouns = ("film", "song", "cast", "plot", "book", "play", "tale", "show", "opera", "novel")
    >>> pool = TextPool([f"a {word} {noun}" for noun in nouns for word in ("lovely", "dull")])
    >>> labels = dict(enumerate(["good", "bad"] * 10)) | {6: "bad"}
    >>> [(found.row, found.text, found.predicted) for found in suspicious(pool, labels)]
    [(6, 'a lovely plot', 'good')]
    """
    return look_for_suspicious(pool, labels, k).found


def look_for_suspicious(pool: "TextPool", labels: Mapping[int, str], k: int | None = None) -> Findings:
    """Return what ``suspicious`` lists, and whether an empty list says that no label looks wrong.

    It does not if there are too few labels, or if the model is right no more often than the most frequent
    class is.

    Examples
    --------
    >>> from dropglm.labelling import TextPool
    >>> look_for_suspicious(TextPool(["a lovely film", "a dull film"]), {0: "good", 1: "bad"})
    Findings(found=[], is_telling=False)
    """
    labeled = LabeledTexts.of(labels)
    if len(labeled.classes) < 2:
        return Findings([], False)
    # A second pass, in which labels that look wrong count less, found no more wrong labels: of the first 100
    # listed, 73.0 instead of 75.2 % were wrong (subj, 2,000 labels, one in twenty exchanged, two seeds).
    p = choose_settings(pool, labeled)[1]
    if p is None:
        return Findings([], False)
    texts = [pool.texts[row] for row in labeled.rows]
    names = [labeled.classes[number] for number in labeled.y]
    found = suspicious_labels(texts, names, p, labeled.classes, k)
    return Findings(
        [one._replace(row=int(labeled.rows[one.row])) for one in found],
        can_judge_labels(texts, names, p, labeled.classes),
    )
