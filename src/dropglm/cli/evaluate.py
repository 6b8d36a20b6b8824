"""``dropglm evaluate``: measure a model on texts with labels."""

from typing import TYPE_CHECKING, Annotated

from dropglm.base.progress import Progress
from dropglm.cli import options, terminal
from dropglm.cli.embeddings import EmbeddingRows, check_not_both, load_with_embedder
from dropglm.cli.errors import naming
from dropglm.cli.inputs_outputs import ColumnsOfModel, read_labelled
from dropglm.cli.options import OUTPUT, option
from dropglm.cli.reports import disagreements_to_json, print_disagreements
from dropglm.tables import Table

if TYPE_CHECKING:
    from dropglm.text.metrics import Metrics

MOST_COLUMNS = 8  # classes in the confusion matrix, for narrow terminals


def evaluate(
    model: options.ModelFile,
    table: options.LabelledTable,
    text: options.TextOfModel = None,
    label: options.LabelOfModel = None,
    format: options.Format = None,
    encoding: options.Encoding = None,
    delimiter: options.Delimiter = None,
    embeddings: options.Embeddings = None,
    embedder: options.Embedder = None,
    trust: options.Trust = False,
    mistakes: Annotated[
        int,
        option(
            OUTPUT, "Number of texts to list whose predictions are wrong with the highest probability.", min=0
        ),
    ] = 5,
    threads: options.Threads = -1,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Report how well a model predicts the labels of a table.

    The report has accuracy, log loss and calibration error, precision, recall and F1 of each class,
    the confusion matrix, calibration by probability, and the most confident mistakes.
    """
    from dropglm.text.metrics import confident_mistakes, metrics_from_probabilities

    check_not_both(embeddings, embedder)
    rows = EmbeddingRows(embeddings)
    classifier = load_with_embedder(model, embedder, trust=trust, quiet=quiet)
    classifier.n_jobs = threads
    columns = ColumnsOfModel(classifier, text, label)
    with columns.explaining():
        source = Table(table, *columns.names(), format=format, encoding=encoding, delimiter=delimiter)
        texts, y = read_labelled(source, quiet=quiet)
    E = rows.all(len(texts), table)
    with Progress("Predicting", shown=not quiet), naming(table):
        p = classifier.predict_proba(texts, E)
        measures = metrics_from_probabilities(y, p, classifier.classes_)
    worst = confident_mistakes(texts, y, p, classifier.classes_, mistakes)
    if json:
        terminal.as_json(measures.to_dict() | {"confident_mistakes": disagreements_to_json(worst)})
        return
    terminal.pairs(
        [
            ("texts", f"{measures.texts:,}"),
            ("accuracy", f"{measures.accuracy:.4f} ± {measures.standard_error:.4f}"),
            ("mean F1", f"{measures.macro_f1:.4f}, over the classes"),
            ("log loss", f"{measures.log_loss:.4f}"),
            ("calibration error", f"{measures.calibration_error:.4f}"),
            *([("unknown labels", measures.unknown_line())] if measures.unknown_labels else []),
        ]
    )
    _print_classes(measures)
    _print_confusion(measures)
    _print_calibration(measures)
    if worst:
        print_disagreements("Most confident mistakes (--mistakes lists more)", worst)


def _print_classes(measures: "Metrics") -> None:
    """Print precision, recall and F1 of each class, of those with the lowest F1 if there are many."""
    shown, title = measures.by_class, "Classes"
    if len(shown) > terminal.MOST_CLASSES:
        title = f"The {terminal.MOST_CLASSES} classes with the lowest F1 (--json lists all)"
        known = [one for one in shown if one.f1 is not None]
        shown = sorted(known, key=lambda one: one.f1 or 0.0)[: terminal.MOST_CLASSES]

    def number(value: float | None) -> str:
        return "-" if value is None else f"{value:.3f}"

    terminal.table(
        title,
        ("class", "precision", "recall", "F1", "texts"),
        (
            (str(one.label), number(one.precision), number(one.recall), number(one.f1), f"{one.texts:,}")
            for one in shown
        ),
    )


def _print_confusion(measures: "Metrics") -> None:
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
            ((str(true), str(given), f"{count:,}") for true, given, count in measures.frequent_mistakes[:20]),
            words=2,
        )


def _print_calibration(measures: "Metrics") -> None:
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
