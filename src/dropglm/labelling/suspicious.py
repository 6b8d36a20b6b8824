"""Labels of a pool that may be wrong: models that have not seen them disagree.

Wrong labels also mislead the models that judge the others. So there are two passes: after the first, every
label counts with the probability that it is right,

    w = p (1 - ε) / (p (1 - ε) + (1 - p) ε / (K - 1)),

where p is the probability of the label when it was held out, and ε the share of labels that look wrong. The
second pass predicts every text again, from the others with these weights.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from dropglm.labelling.refit import LabeledTexts, choose_settings
from dropglm.text.label_check import Disagreement, suspicious_labels

if TYPE_CHECKING:
    from dropglm.labelling.pool import TextPool

# Bounds of ε: some labels are always wrong, and hardly ever more than a third.
SHARES = 0.01, 0.33


def suspicious(pool: "TextPool", labels: Mapping[int, str], k: int | None = None) -> list[Disagreement]:
    """List the labelled texts of a pool whose label may be wrong, the most suspicious first.

    Each text is predicted by a model that was fitted without it, and that gives less weight to other labels
    that look wrong.

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
    dropglm.text.suspicious_labels : The same for given probabilities, in one pass.

    Examples
    --------
    >>> from dropglm.labelling import TextPool
    >>> nouns = ("film", "song", "cast", "plot", "book", "play", "tale", "show", "opera", "novel")
    >>> pool = TextPool([f"a {word} {noun}" for noun in nouns for word in ("lovely", "dull")])
    >>> labels = dict(enumerate(["good", "bad"] * 10)) | {6: "bad"}
    >>> [(found.row, found.text, found.predicted) for found in suspicious(pool, labels)]
    [(6, 'a lovely plot', 'good')]
    """
    labeled = LabeledTexts.of(labels)
    if len(labeled.classes) < 2:
        return []
    first = choose_settings(pool, labeled)[1]
    if first is None:
        return []
    found = _listed(pool, labeled, first)
    if not found:
        return []
    weights = probabilities_right(first, labeled.y, len(found) / len(labeled.y))
    second = choose_settings(pool, labeled, weights)[1]
    return _listed(pool, labeled, first if second is None else second, k)


def probabilities_right(p: np.ndarray, y: np.ndarray, share: float) -> np.ndarray:
    """Return the probability that each label is right, given those of all classes when it was held out.

    Parameters
    ----------
    p : ndarray of shape (n, K)
        Rows with NaN were never held out; their labels count as right.
    y : ndarray of shape (n,)
        Numbers of the labels.
    share : float
        Share of wrong labels, any other class being equally likely; it is moved into [0.01, 0.33].

    Examples
    --------
    >>> p = np.array([[0.95, 0.05], [0.05, 0.95]])
    >>> probabilities_right(p, np.array([0, 0]), 0.05)
    array([0.99723757, 0.5       ])
    """
    share, K = float(np.clip(share, *SHARES)), p.shape[1]
    own = np.nan_to_num(p[np.arange(len(y)), y], nan=1.0)
    right, wrong = own * (1.0 - share), (1.0 - own) * share / (K - 1)
    return right / (right + wrong)


def _listed(
    pool: "TextPool", labeled: LabeledTexts, p: np.ndarray, k: int | None = None
) -> list[Disagreement]:
    texts = [pool.texts[row] for row in labeled.rows]
    names = [labeled.classes[number] for number in labeled.y]
    found = suspicious_labels(texts, names, p, labeled.classes, k)
    return [one._replace(row=int(labeled.rows[one.row])) for one in found]
