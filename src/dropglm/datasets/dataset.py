"""What ``load_dataset`` returns."""

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """Rows, labels and where they come from, under the same names for every data set.

    A dataclass and not a dictionary: a misspelt field is an error, and editors know the fields. What a data
    set does not have is None. Texts are NumPy arrays of strings (of type object), so that an array of row
    numbers chooses among them.

    Attributes
    ----------
    name : str
    y : array of shape (n,)
        Whole numbers from 0, which count through ``class_names``, or the class names themselves (``20news``,
        ``docstrings``).
    class_names : tuple of str
    texts : array of shape (n,) or None
        The labelled texts; None where the data set is one of features.
    X : array or CSR array of shape (n, d), or None
        The labelled rows of features; None where the data set is one of texts.
    unlabeled : array or None
        Texts without labels.
    texts_test, X_test, y_test : array or None
        The part that is for testing, where the data set has an official one.
    groups : array of shape (n,) or None
        Rows that belong together: the official folds of ``imdb2k``, the groups of ``simulation``.
    description, citation, terms : str
        What it is and in what order its rows are; whom to cite; the licence or terms of use.

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
            parts.append(f"{len(self.y_test):,} to test")
        few = len(self.class_names) <= 5
        names = [repr(name) for name in self.class_names]
        parts.append(
            f"classes {', '.join(names[:-1])} and {names[-1]}" if few else f"{len(self.class_names)} classes"
        )
        return f"Dataset({self.name!r}, {', '.join(parts)})"
