"""``dropglm evaluate``: measure a model on texts with labels."""

import json as json_format
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from dropglm.base.files import replacing
from dropglm.base.progress import Stages, begin_stage, plural
from dropglm.cli import options, terminal
from dropglm.cli.errors import naming_table
from dropglm.cli.files import (
    PREDICTING,
    advising,
    check_output,
    columns_of_model,
    format_of,
    model_and_embeddings,
    read_labelled,
)
from dropglm.cli.options import OUTPUT, File, bad_option
from dropglm.tables import Table, row_weights, to_classes

if TYPE_CHECKING:
    import numpy as np

    from dropglm.text.fitted_model import FittedTextModel
    from dropglm.text.guarantees import Curve
    from dropglm.text.metrics import Metrics, MultilabelMetrics

BASELINE = "tf-idf and logistic regression"
MOST_COLUMNS = 8  # classes in the confusion matrix, for narrow terminals


def evaluate(
    model: options.ModelFile,
    table: options.LabelledTable,
    text: options.TextOfModel = None,
    label: options.LabelOfModel = None,
    separator: options.SeparatorOfModel = None,
    weight: options.Weight = None,
    format: options.Format = None,
    encoding: options.Encoding = None,
    delimiter: options.Delimiter = None,
    embeddings: options.Embeddings = None,
    embedder: options.Embedder = None,
    trust: options.Trust = False,
    out: Annotated[
        Path | None, OUTPUT.option("JSON file to write with the whole report.", "--out", "-o"), File.WRITTEN
    ] = None,
    guarantee: Annotated[
        bool,
        OUTPUT.option(
            "Write into the model file what it predicts for this table: the guarantees of predict "
            "--max-error and --sets then rest on it. Its rows must be a random sample of the texts to come, "
            "and not have been trained on.",
            "--guarantee",
            "--calibrate",
        ),
    ] = False,
    baseline: Annotated[
        str | None,
        OUTPUT.option(
            "Table with the training texts and labels, to fit tf-idf and logistic regression to: how many "
            "texts both can answer is then compared.",
            metavar="TABLE",
        ),
        File.READ,
    ] = None,
    mistakes: Annotated[
        int,
        OUTPUT.option("How many of the most confident mistakes to list.", min=0),
    ] = 5,
    threads: options.Threads = -1,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Report how well a model predicts the labels of a table.

    The report begins with what the model may be used for. It has accuracy, log loss and calibration
    error, precision, recall and F1 of each class, the confusion matrix, the share of texts that can be
    answered with few errors, calibration by probability, and the most confident mistakes. Of several
    labels per text, it has micro and macro F1 in place of accuracy, and no confusion.
    Rows without a label are left out.
    """
    if out is not None:
        check_output(out, "--out")
    with Stages(shown=not quiet) as stages:
        from dropglm.text.columns import plain_texts
        from dropglm.text.guarantees import ERRORS, Curve, Evidence
        from dropglm.text.labels import find_class_numbers
        from dropglm.text.metrics import Metrics, confident_mistakes, metrics_of

        classifier, rows = model_and_embeddings(model, embeddings, embedder, trust=trust)
        classifier.n_jobs = threads
        text, label, advice = columns_of_model(classifier, text, label)
        with advising(advice):
            several = classifier.multilabel_
            source = Table(
                table,
                text,
                label,
                weight=weight,
                lists=several,
                label_separator=separator or (classifier.label_separator_ if several else None),
                format=format_of(table, format),
                encoding=encoding,
                delimiter=delimiter,
                row_of=classifier.row_of,
            )
            labelled, without = read_labelled(source)
        texts, y = labelled.texts, to_classes(labelled.labels, several=several or None)
        E = rows.all(len(texts) + len(without.texts), table)
        places = [row - 1 for row in labelled.rows]
        E = E if E is None or not without.texts else E[places]
        stages.plan([("Predicting", PREDICTING * sum(map(len, texts)))])
        begin_stage("Predicting")
        with naming_table(table):
            p = classifier.predict_proba(texts, E)
            measures = metrics_of(classifier, y, p, row_weights(source, labelled))
            use, curves = None, {}
            if isinstance(measures, Metrics):
                truth = find_class_numbers(y, classifier.classes_)
                use = Evidence.of(p, truth, "guarantee").trust()
                curves = {"dropglm": Curve.of(p, truth)}
            if guarantee:
                classifier._set_evidence(p, y).save(model)
        if baseline is not None:
            begin_stage("Fitting tf-idf")
            curves[BASELINE] = _curve_of_baseline(
                classifier, replace(source, path=baseline, weight=None), texts, y
            )
        unlike = classifier.compare_with_training(texts)
        shown = plain_texts(classifier.row_of, texts)
        worst = confident_mistakes(shown, y, p, classifier.classes_, mistakes)
        worst = [one._replace(row=places[one.row]) for one in worst]
    listed = terminal.disagreements_to_json(worst)
    shares = {
        name: [{"error": error, "share": curve.share_at(error)} for error in ERRORS]
        for name, curve in curves.items()
    }
    found = {
        "rows_without_label": len(without.texts),
        "confident_mistakes": listed,
        "use": use and use.to_dict(),
        "answered": shares,
        "unlike_training": unlike and unlike.to_dict(),
    }
    if unlike is not None and unlike.is_unusual:
        terminal.message(f"warning: {unlike.warning()}")
    if guarantee:
        terminal.message(
            f"the guarantees of {model} now rest on {plural(len(texts), 'text')} of {source.name}."
        )
    if out is not None:
        with replacing(out) as stream:
            stream.write(json_format.dumps(measures.to_dict() | found, indent=2).encode())
    if json:
        terminal.print_json(measures.to_dict() | found)
        return
    terminal.print_pairs(
        [
            *([("use", use.line())] if use else []),
            ("texts", f"{measures.texts:,}"),
            *terminal.without_label(len(without.texts), "left out"),
            *([] if weight is None else [("weights", f"all measures are weighted by the column {weight!r}")]),
            *_main_lines(measures),
            ("log loss", f"{measures.log_loss:.4f}"),
            ("calibration error", f"{measures.calibration_error:.4f}"),
            *([("unknown labels", measures.unknown_line())] if measures.unknown_labels else []),
        ]
    )
    terminal.print_classes(measures, "Classes")
    if isinstance(measures, Metrics):
        _print_confusion(measures)
        terminal.print_table(
            "Share of these texts that can be answered, by the errors among the answers",
            ("method", *(f"{100 * error:g} %" for error in ERRORS)),
            ((name, *(f"{one['share']:.3f}" for one in found)) for name, found in shares.items()),
        )
        title, header = "share of correct predictions by predicted probability", ("texts", "correct")
    else:
        title, header = "share of the texts that have a label by its probability", ("labels", "have it")
    form = "{from:.1f} to {to:.1f}", "{texts:,}", "{probability:.3f}", "{right:.3f}"
    terminal.print_table(
        f"Calibration: {title}",
        ("probability", header[0], "mean probability", header[1]),
        ([cell.format(**bin) for cell in form] for bin in measures.calibration),
    )
    if worst:
        terminal.print_disagreements("Most confident mistakes (--mistakes lists more)", worst)


def _curve_of_baseline(
    model: "FittedTextModel", table: Table, texts: Sequence[str], y: "np.ndarray"
) -> "Curve":
    """Return error against share answered of tf-idf and logistic regression, fitted to another table."""
    from dropglm.text.comparison import check_class_sizes, fit_tfidf
    from dropglm.text.guarantees import Curve
    from dropglm.text.labels import find_class_numbers

    if model.multilabel_:
        raise bad_option("--baseline", "compares models of one label per row.")
    if model.row_of is not None:
        raise bad_option("--baseline", "compares models of a single column of texts.")
    labelled, _ = read_labelled(table)
    own = to_classes(labelled.labels)
    with naming_table(table.name):
        check_class_sizes(own)
        fitted = fit_tfidf(labelled.texts, own)
    return Curve.of(fitted.predict_proba(texts), find_class_numbers(y, fitted.classes_))


def _main_lines(measures: "Metrics | MultilabelMetrics") -> list[tuple[str, str]]:
    """Return the lines about accuracy and F1."""
    from dropglm.text.metrics import Metrics

    if isinstance(measures, Metrics):
        return [
            ("accuracy", f"{measures.accuracy:.4f} ± {measures.standard_error:.4f}"),
            ("macro F1", f"{measures.macro_f1:.4f}, the mean over the classes"),
        ]
    precision, recall = measures.micro_precision, measures.micro_recall
    return [
        ("micro F1", f"{measures.micro_f1:.4f}, with precision {precision:.4f} and recall {recall:.4f}"),
        ("macro F1", f"{measures.macro_f1:.4f}, the mean over the labels"),
        ("all labels right", f"{measures.subset_accuracy:.4f} ± {measures.standard_error:.4f}"),
    ]


def _print_confusion(measures: "Metrics") -> None:
    what, cell = ("sum of weights", "{:,.2f}") if measures.weighted else ("number of texts", "{:,}")
    if len(measures.classes) <= MOST_COLUMNS:
        terminal.print_table(
            f"Confusion: {what} by true class (rows) and predicted class (columns)",
            ("", *map(str, measures.classes)),
            (
                (str(label), *map(cell.format, row))
                for label, row in zip(measures.classes, measures.confusion, strict=True)
            ),
        )
    else:
        terminal.print_table(
            "Most frequent mistakes (--json lists all)",
            ("true class", "predicted class", "weight" if measures.weighted else "texts"),
            (
                (str(true), str(given), cell.format(count))
                for true, given, count in measures.frequent_mistakes[:20]
            ),
            words=2,
        )
