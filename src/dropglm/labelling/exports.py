"""What remains of labelling: a table of labels, a trained model, and predictions for all texts."""

import os
from typing import TYPE_CHECKING

from dropglm import tables
from dropglm.labelling.session import LabellingSession
from dropglm.tables.frames import import_polars

if TYPE_CHECKING:
    from dropglm.text import TextClassifier


def write_labels(
    session: LabellingSession,
    path: str | os.PathLike[str],
    *,
    text_column: str = "text",
    label_column: str = "label",
) -> int:
    """Write the labelled texts as a table that ``dropglm train`` reads, and return how many there are.

    Parameters
    ----------
    session : LabellingSession
    path : str or path-like
        The suffix decides the format.
    text_column, label_column : str
        Names of the columns. A third column, ``row``, has the row of the text in its table, counted from 1.
    """
    with session.lock:
        labels = session.answers.labels()
    if not labels:
        raise ValueError("There are no labels yet.")
    numbers = sorted(labels)
    columns = {
        text_column: [_storable(session.texts[number]) for number in numbers],
        label_column: [labels[number] for number in numbers],
        "row": [number + 1 for number in numbers],
    }
    tables.write(import_polars().DataFrame(columns), path)
    return len(numbers)


def train_model(
    session: LabellingSession,
    *,
    text_column: str | None = "text",
    label_column: str | None = "label",
    n_jobs: int | None = None,
) -> "TextClassifier":
    """Return a tuned ``TextClassifier`` of the labels so far, which also learns from all other texts.

    Parameters
    ----------
    session : LabellingSession
    text_column, label_column : str or None
        Columns that the model file names.
    n_jobs : int or None, default=None
        Number of threads; None means 1.
    """
    from dropglm.text import TextClassifier

    with session.lock:
        names, found = list(session.answers.classes), session.answers.class_numbers()
    labels = {number: names[found[number]] for number in sorted(found)}
    if len(set(labels.values())) < 2:
        raise ValueError("A model needs labels of at least two classes.")
    # Copies of a labelled text are left out: a copy in another fold would make cross-validation too
    # optimistic.
    copy_of = session.answers.numbers.copy_of
    rest = [text for text, first in zip(session.texts, copy_of, strict=True) if first not in labels]
    model = TextClassifier(n_jobs=n_jobs, random_state=0)
    model.fit([session.texts[number] for number in labels], list(labels.values()), X_unlabeled=rest or None)
    model.text_column_, model.label_column_ = text_column, label_column
    return model


def write_predictions(
    session: LabellingSession,
    model: "TextClassifier",
    path: str | os.PathLike[str],
    *,
    text_column: str = "text",
    label_column: str = "label",
) -> None:
    """Write a table of all texts with their labels, the predicted classes and the probabilities of these.

    Parameters
    ----------
    session : LabellingSession
    model : TextClassifier
        From ``train_model``.
    path : str or path-like
        The suffix decides the format.
    text_column, label_column : str
        Names of the columns of texts and labels; a label is missing where there is none.
    """
    with session.lock:
        labels = session.answers.labels()
    p = model.predict_proba(session.texts)
    best = p.argmax(axis=1)
    columns = {
        text_column: list(map(_storable, session.texts)),
        label_column: [labels.get(number) for number in range(len(session.texts))],
        "predicted": model.classes_[best].tolist(),
        "probability": p.max(axis=1).round(4),
    }
    tables.write(import_polars().DataFrame(columns), path)


def _storable(text: str) -> str:
    """Return a text without halves of surrogate pairs, which no file in UTF-8 can hold."""
    return text.encode("utf-8", "replace").decode("utf-8")
