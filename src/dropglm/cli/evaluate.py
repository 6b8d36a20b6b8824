"""``dropglm evaluate``: measure a model on texts with labels."""

from typing import TYPE_CHECKING

from dropglm.cli import options, terminal
from dropglm.cli.errors import naming
from dropglm.cli.inputs_outputs import TableReader
from dropglm.progress import Progress

if TYPE_CHECKING:
    from dropglm.text.metrics import Metrics

MOST_COLUMNS = 8  # classes in the confusion matrix, for narrow terminals


def evaluate(
    model: options.ModelFile,
    table: options.LabelledTable,
    text: options.Text = "text",
    label: options.Label = "label",
    format: options.Format = None,
    encoding: options.Encoding = None,
    delimiter: options.Delimiter = None,
    threads: options.Threads = -1,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Report accuracy, log loss, the confusion matrix and calibration on a table of labelled texts."""
    from dropglm.text import load_model
    from dropglm.text.metrics import compute_metrics

    classifier = load_model(model).set_params(n_jobs=threads)
    texts, y = TableReader(text, label, encoding, delimiter, quiet).labelled(table, format)
    with Progress("Predicting", shown=not quiet), naming(table):
        measures = compute_metrics(classifier, texts, y)
    if json:
        terminal.as_json(measures.to_dict())
        return
    terminal.pairs(
        [
            ("texts", f"{measures.texts:,}"),
            ("accuracy", f"{measures.accuracy:.4f} ± {measures.standard_error:.4f}"),
            ("log loss", f"{measures.log_loss:.4f}"),
            ("calibration error", f"{measures.calibration_error:.4f}"),
        ]
    )
    _print_tables(measures)


def _print_tables(measures: "Metrics") -> None:
    if len(measures.classes) <= MOST_COLUMNS:
        terminal.table(
            "Confusion: number of texts by true class (rows) and predicted class (columns)",
            ("", *map(str, measures.classes)),
            (
                (str(label), *(f"{count:,}" for count in row))
                for label, row in zip(measures.classes, measures.confusion, strict=True)
            ),
        )
    else:
        terminal.table(
            "Most frequent mistakes (--json lists all)",
            ("true class", "predicted class", "texts"),
            ((str(true), str(given), f"{count:,}") for true, given, count in measures.mistakes(20)),
            words=2,
        )
    terminal.table(
        "Calibration: share of correct predictions by predicted probability",
        ("probability", "texts", "mean probability", "correct"),
        (
            (
                f"{bin['from']:.1f} to {bin['to']:.1f}",
                f"{bin['texts']:,}",
                f"{bin['probability']:.3f}",
                f"{bin['right']:.3f}",
            )
            for bin in measures.calibration
        ),
    )
