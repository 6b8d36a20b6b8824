"""What ``dropglm train`` tells about a model: as tables in the terminal, or as JSON."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dropglm.cli import terminal
from dropglm.cli.disagreements import disagreements_to_json, print_disagreements

if TYPE_CHECKING:
    from dropglm.text import TextClassifier
    from dropglm.text.comparison import Comparison, Scores
    from dropglm.text.label_check import Disagreement
    from dropglm.text.metrics import Metrics

TOP = 8  # n-grams of each class


@dataclass(frozen=True)
class TrainReport:
    """The results of one training.

    Attributes
    ----------
    model : TextClassifier
        The fitted model.
    out : Path
        Its file.
    seconds : float
        Duration of the whole command.
    measures : Metrics or None
        Metrics on held-out texts.
    suspicious : sequence of Disagreement or None
        Texts whose labels are suspicious; None if there are no out-of-fold predictions.
    n_listed : int
        Number of these to list.
    comparison : Comparison or None
        Comparison with the baseline.
    """

    model: "TextClassifier"
    out: Path
    seconds: float
    measures: "Metrics | None"
    suspicious: "Sequence[Disagreement] | None"
    n_listed: int
    comparison: "Comparison | None"

    def print_json(self) -> None:
        """Print the results as JSON."""
        from dropglm.text.top_ngrams import top_to_dict

        found = self.suspicious
        content = {
            "model": str(self.out),
            "seconds": round(self.seconds, 3),
            **self.model.summary_.to_dict(),
            "validation": None if self.measures is None else self.measures.to_dict(),
            "suspicious_labels": None
            if found is None
            else {"found": len(found), "listed": disagreements_to_json(found[: self.n_listed])},
            "baseline": None if self.comparison is None else self.comparison.to_dict(),
            "top_features": top_to_dict(self.model.top_features(TOP)),
        }
        terminal.as_json(content)

    def print_tables(self) -> None:
        """Print the results as headings with statements, and as tables."""
        lines = self.model.summary_.lines()
        if self.measures is not None:
            lines.append(("validation", self.measures.line()))
        size = self.out.stat().st_size / 1e6
        terminal.pairs([*lines, ("model", f"{self.out}, {size:.1f} MB, {self.seconds:.1f} s in total")])
        terminal.top_table(self.model.top_features(TOP))
        if self.suspicious and self.n_listed:
            listed = self.suspicious[: self.n_listed]
            count = f"{len(listed):,} of {len(self.suspicious):,}"
            print_disagreements(
                f"Labels that may be wrong, by models trained on the other folds: {count}", listed
            )
        if self.comparison is not None:
            _print_comparison(self.comparison)


def _print_comparison(comparison: "Comparison") -> None:
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
