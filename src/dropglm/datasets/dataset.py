"""The class that ``load_dataset`` returns."""

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """A data set, with the same fields for every data set; a field that does not apply is None.

    Texts are NumPy arrays of strings (with dtype object), so that they can be indexed with an array of row
    numbers.

    Attributes
    ----------
    name : str
        The name that was passed to ``load_dataset``.
    y : ndarray of shape (n,)
        Labels of the training rows: indices into ``class_names``, or the class names themselves (``20news``,
        ``docstrings``).
    class_names : tuple of str
        Names of the classes.
    texts : ndarray of shape (n,) or None
        Training texts; None if the data set consists of features.
    X : ndarray or CSR array of shape (n, d), or None
        Training features; None if the data set consists of texts.
    unlabeled : ndarray or None
        Texts without labels.
    texts_test : ndarray of shape (m,) or None
        Texts of the official test set, if the data set has one.
    X_test : ndarray or CSR array of shape (m, d), or None
        Features of the official test set.
    y_test : ndarray of shape (m,) or None
        Labels of the official test set.
    groups : ndarray of shape (n,) or None
        Groups of the training rows: the official folds of ``imdb2k``, the groups of ``simulation``.
    description : str
        The content of the data set and the order of its rows.
    citation : str
        The publication to cite.
    terms : str
        Licence or terms of use.

    See Also
    --------
    load_dataset : Load a data set by name.

    Examples
    --------
    >>> data = Dataset("two", np.array([0, 1]), ("bad", "good"), texts=np.array(["awful", "fine"], object))
    >>> data
    Dataset('two', 2 texts, classes 'bad' and 'good')
    >>> data.class_names[data.y[1]]
    'good'
    """

    name: str
    y: np.ndarray
    class_names: tuple[str, ...]
    texts: np.ndarray | None = None
    X: Any = None
    unlabeled: np.ndarray | None = None
    texts_test: np.ndarray | None = None
    X_test: Any = None
    y_test: np.ndarray | None = None
    groups: np.ndarray | None = None
    description: str = ""
    citation: str = ""
    terms: str = ""

    def __repr__(self) -> str:
        parts = [f"{len(self.y):,} texts" if self.texts is not None else f"{len(self.y):,} rows"]
        if self.unlabeled is not None:
            parts.append(f"{len(self.unlabeled):,} unlabelled")
        if self.y_test is not None:
            parts.append(f"{len(self.y_test):,} test")
        few = len(self.class_names) <= 5
        names = [repr(name) for name in self.class_names]
        parts.append(
            f"classes {', '.join(names[:-1])} and {names[-1]}" if few else f"{len(self.class_names)} classes"
        )
        return f"Dataset({self.name!r}, {', '.join(parts)})"
