"""Labels of a pool that may be wrong: models that have not seen them disagree."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from dropglm.text.label_check import Disagreement, suspicious_labels

if TYPE_CHECKING:
    from dropglm.labelling.pool import TextPool

FOLDS = 5


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
        ``row`` is the number of the text in the pool. Empty with fewer than two classes.

    See Also
    --------
    suspicious_labels : The same for given probabilities.

    Examples
    --------
    >>> from dropglm.labelling import TextPool
    >>> nouns = ("film", "song", "cast", "plot", "book", "play", "tale", "show", "opera", "novel")
    >>> pool = TextPool([f"a {word} {noun}" for noun in nouns for word in ("lovely", "dull")])
    >>> labels = dict(enumerate(["good", "bad"] * 10)) | {6: "bad"}
    >>> [(found.row, found.text, found.predicted) for found in suspicious(pool, labels)]
    [(6, 'a lovely plot', 'good')]
    """
    classes, numbers = sorted(set(labels.values())), np.fromiter(labels, np.int64, len(labels))
    if len(classes) < 2:
        return []
    column = {name: place for place, name in enumerate(classes)}
    p = np.full((len(numbers), len(classes)), np.nan)
    folds = np.random.default_rng(0).permutation(len(numbers)) % FOLDS
    for fold in range(FOLDS):
        held_out = folds == fold
        model = pool.fit({int(i): labels[int(i)] for i in numbers[~held_out]})
        if not model.is_trained or not held_out.any():
            continue
        p[held_out] = 0.0
        p[np.ix_(held_out, [column[name] for name in model.classes])] = model.probabilities[numbers[held_out]]
    texts = [pool.texts[number] for number in numbers]
    found = suspicious_labels(texts, list(labels.values()), p, classes, k)
    return [one._replace(row=int(numbers[one.row])) for one in found]
