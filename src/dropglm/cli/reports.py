"""What the commands print about a model and its mistakes: as tables in the terminal, or as JSON."""

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dropglm import tables
from dropglm.cli import terminal
from dropglm.cli.options import TrainOptions
from dropglm.tables.formats import import_polars

if TYPE_CHECKING:
    from dropglm.text.comparison import Comparison, Scores
    from dropglm.text.fitted_model import FittedTextModel
    from dropglm.text.metrics import Disagreement

TOP = 8  # n-grams of each class
EXCERPT = 100  # characters of a text in the terminal


def print_training(
    model: "FittedTextModel",
    options: TrainOptions,
    start: float,
    lines: Iterable[tuple[str, str]] = (),
    content: Mapping[str, Any] | None = None,
) -> None:
    """Print what a model has learnt since ``start``, with more ``lines`` for the terminal or JSON content."""
    from dropglm.text.explanation import top_to_dict

    seconds, top = time.perf_counter() - start, model.top_features(TOP)
    if options.json:
        terminal.as_json(
            {
                "model": str(options.out),
                "seconds": round(seconds, 3),
                **model.summary_.to_dict(),
                **(content or {}),
                "top_features": top_to_dict(top),
            }
        )
        return
    size = f"{options.out.stat().st_size / 1e6:.1f} MB"
    file = "model", f"{options.out}, {size}, {seconds:.1f} s in total"
    terminal.pairs([*model.summary_.lines(), *lines, file])
    terminal.top_table(top)


def print_comparison(comparison: "Comparison") -> None:
    """Print the scores of a model and of the baseline."""

    def row(name: str, scores: "Scores", sign: str = "") -> tuple[str, ...]:
        numbers = (f"{score.mean:{sign}.4f} ± {score.standard_error:.4f}" for score in scores)
        return name, *numbers

    terminal.table(
        f"Comparison over {comparison.folds} folds, with settings chosen on the training texts of each fold",
        ("method", "accuracy", "log loss"),
        (
            row("dropglm", comparison.model),
            row("tf-idf and logistic regression", comparison.baseline),
            row("difference", comparison.difference, "+"),
        ),
    )


def print_disagreements(title: str, found: "Sequence[Disagreement]") -> None:
    """Print excerpts of texts whose prediction differs from their label, with rows counted from 1."""
    terminal.table(
        title,
        ("row", "text", "label", "predicted", "probability"),
        (
            (
                f"{one.row + 1:,}",
                terminal.excerpt(" ".join(one.text.split()), EXCERPT),
                str(one.label),
                str(one.predicted),
                f"{one.probability:.2f}",
            )
            for one in found
        ),
        words=4,
    )


def disagreements_to_json(found: "Sequence[Disagreement]") -> list[dict[str, Any]]:
    """Return the entries in plain types, with the rows of the table counted from 1."""
    return [one._asdict() | {"row": one.row + 1} for one in found]


def write_disagreements(found: "Sequence[Disagreement]", path: str) -> None:
    """Write the entries as a table with whole texts, in a format that follows from the name of the file."""
    from dropglm.text.metrics import Disagreement

    entries = disagreements_to_json(found)
    columns = {name: [entry[name] for entry in entries] for name in Disagreement._fields}
    tables.write(import_polars().DataFrame(columns), path)
