"""``dropglm train``: from a table of texts to a model file."""

import math
import time
import warnings
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

from dropglm.base.progress import Progress
from dropglm.cli import reports, terminal
from dropglm.cli.embeddings import EmbeddingRows, check_not_both, check_unlabelled, read_embedder
from dropglm.cli.errors import BadInputError, naming
from dropglm.cli.inputs_outputs import (
    check_name,
    check_output,
    check_output_table,
    read_labelled,
    read_unlabelled,
    save_model,
)
from dropglm.cli.options import TrainOptions, bad_option, option_name, with_options
from dropglm.cli.postponed import forget
from dropglm.cli.train_dask import train_dask
from dropglm.cli.train_online import train_online
from dropglm.tables import Table

if TYPE_CHECKING:
    import numpy as np

    from dropglm.text import TextClassifier
    from dropglm.text.metrics import Disagreement

# Options that only apply with or without --online.
IN_MEMORY_ONLY = {
    *("unlabeled", "unlabeled_text", "validation", "suspicious", "suspicious_out", "baseline", "seed"),
    *("embeddings", "embeddings_unlabeled", "embedder"),
    *("min_df", "max_df", "max_features", "analyzer", "stop_words", "expectation", "balanced"),
    *("tune", "dropout", "discount", "l2_weights", "folds", "calibrate", "naive_bayes", "scoring"),
    *("latent", "rounds", "device"),
}
NOT_WITH_DASK = {
    *("validation", "suspicious", "suspicious_out", "baseline"),
    *("embeddings", "embeddings_unlabeled", "device"),
}
ONLINE_ONLY = {
    *("rule", "rate", "bits", "classes", "epochs", "bad_rows", "checkpoint", "every", "start_from", "trust"),
}
# Options whose names are those of the parameters of the classifier, with one value or with several.
SAME = (
    *("max_df", "max_features", "analyzer", "stop_words", "lowercase", "strip_html", "tune", "expectation"),
    *("calibrate", "naive_bayes", "rounds", "scoring", "device"),
)
SEVERAL = ("dropout", "l2", "discount", "l2_weights", "ngram_weight")


@with_options(TrainOptions)
def train(context: typer.Context, options: TrainOptions) -> None:
    """Train a classifier on a table of texts and save it.

    Tables are CSV, TSV, JSON Lines or Parquet, compressed or not.
    Unless given, --l2 is chosen by cross-validation.
    """
    start = time.perf_counter()
    given = _given(context)
    table = Table(
        options.tables[0],
        options.text,
        options.label,
        format=options.format,
        encoding=options.encoding,
        delimiter=options.delimiter,
    )
    if len(options.tables) > 1 and options.dask is None:
        raise bad_option("TABLE", "several tables need --dask.")
    check_output(options.out, "--out", regular=True)
    terminal.announce_compilation(options.quiet)
    if options.online:
        _refuse(given & {"dask"}, "cannot be used with --online.")
        _refuse(given & IN_MEMORY_ONLY, "cannot be used with --online.")
        train_online(options, given, table, _ngram_range(options.ngrams), start)
        return
    own = ONLINE_ONLY if options.dask is None else ONLINE_ONLY - {"checkpoint"}
    _refuse(given & own, "can be used only with --online.")
    if not (options.tune and options.unlabeled):
        _refuse(given & {"latent", "rounds"}, "needs --unlabeled and cannot be used with --no-tune.")
    if options.rounds and not options.naive_bayes:
        _refuse(given & {"rounds"}, "cannot be used with --no-naive-bayes.")
    if not options.tune:
        _refuse(given & {"suspicious", "suspicious_out"}, "needs the folds of the tuning; drop --no-tune.")
    if options.suspicious_out is not None:
        check_output_table(options.suspicious_out, None, option="--suspicious-out")
    _check_names(options)
    _check_numbers(options)
    settings = _settings(options)
    if options.dask is None:
        _train_in_memory(options, table, settings, start)
        return
    _refuse(given & NOT_WITH_DASK, "cannot be used with --dask.")
    if options.tune:
        _refuse(given & {"checkpoint"}, "cannot be used with --dask unless --no-tune is given.")
    settings["embedder"] = read_embedder(options.embedder, quiet=options.quiet)
    train_dask(options.dask, options, table, settings, start)


def _train_in_memory(options: TrainOptions, table: Table, settings: dict[str, Any], start: float) -> None:
    """Fit a classifier to all texts at once, measure it as the options say and save it."""
    from dropglm.search.scoring import SCORERS
    from dropglm.text import TextClassifier
    from dropglm.text.metrics import compute_metrics

    forget("pandas")  # which scikit-learn imports, to recognise data frames: there are none
    quiet, unlabeled = options.quiet, options.unlabeled
    check_not_both(options.embeddings, options.embedder)
    check_unlabelled(options.embeddings, options.embeddings_unlabeled, unlabeled)
    embedded = EmbeddingRows(options.embeddings)
    more_embedded = EmbeddingRows(*(options.embeddings_unlabeled or ()))
    texts, y = read_labelled(table, quiet=quiet)
    labels = set(y.tolist())
    if len(labels) < 2:
        raise BadInputError(
            f"{table.name}: all rows have the label {min(labels)!r}; at least two classes are needed."
        )
    if options.tune and options.scoring not in SCORERS:
        _check_scoring(options.scoring, y)
    E = embedded.all(len(texts), table.name)
    rows, held_out = _split(texts, y, table, options)
    if held_out is not None and held_out.rows is None and E is not None:
        raise bad_option(
            "--validation",
            "needs a fraction if --embeddings is given; dropglm evaluate takes embeddings for another table.",
        )
    texts, y = [texts[row] for row in rows], y[rows]
    if options.baseline:
        from dropglm.text.comparison import check_class_sizes

        with naming(table.name):
            check_class_sizes(y)
    more = read_unlabelled(unlabeled or (), table, options.unlabeled_text, quiet=quiet)
    of_texts = {
        "embeddings": None if E is None else E[rows],
        "embeddings_unlabeled": more_embedded.all(len(more), "--unlabeled"),
    }
    model = TextClassifier(**settings, embedder=read_embedder(options.embedder, quiet=quiet))
    begin = time.perf_counter()
    # In a terminal, the model shows more.
    told = Progress(f"Training on {len(texts):,} texts", shown=not quiet and not model.verbose)
    with naming(table.name), told:
        model.fit(texts, y, X_unlabeled=more or None, **of_texts)
    fit_seconds = time.perf_counter() - begin
    measures = None
    if held_out is not None:
        measures = compute_metrics(model, held_out.texts, held_out.y, None if E is None else E[held_out.rows])
    save_model(model, table, options)
    found = _suspicious_labels(model, texts, y, rows)
    if options.suspicious_out is not None and found is None:
        terminal.message(f"warning: {options.suspicious_out} was not written, since no settings were tuned.")
    elif options.suspicious_out is not None and found is not None:
        reports.write_disagreements(found, options.suspicious_out)
    comparison = None
    if options.baseline:
        from dropglm.text.comparison import compare_with_baseline

        with naming(table.name):
            comparison = compare_with_baseline(
                model, texts, y, more or None, **of_texts, fit_seconds=fit_seconds, shown=not quiet
            )
    lines = [] if measures is None else [("validation", measures.line())]
    listed = (found or [])[: options.suspicious]
    suspicious = {"found": len(found or ()), "listed": reports.disagreements_to_json(listed)}
    content = {
        "validation": measures and measures.to_dict(),
        "suspicious_labels": None if found is None else suspicious,
        "baseline": comparison and comparison.to_dict(),
    }
    reports.print_training(model, options, start, lines, content)
    if options.json:
        return
    if listed:
        count = f"{len(listed):,} of {len(found or ()):,}"
        reports.print_disagreements(
            f"Labels that may be wrong, by models trained on the other folds: {count}", listed
        )
    if comparison is not None:
        reports.print_comparison(comparison)


class HeldOut(NamedTuple):
    """Texts on which ``--validation`` measures a model; their rows, or None if they are of another table."""

    texts: list[str]
    y: "np.ndarray"
    rows: "np.ndarray | None"


def _split(
    texts: list[str], y: "np.ndarray", table: Table, options: TrainOptions
) -> "tuple[np.ndarray, HeldOut | None]":
    """Return the rows to train on and, if ``--validation`` is given, the texts to measure on."""
    import numpy as np

    rows = np.arange(len(texts))
    if options.validation is None:
        return rows, None
    try:
        fraction = float(options.validation)
    except ValueError:
        other = replace(table, path=options.validation, format=None)
        return rows, HeldOut(*read_labelled(other, quiet=options.quiet), None)
    if not 0.0 < fraction < 1.0:
        raise bad_option("--validation", "a fraction must be between 0 and 1.")
    counts = Counter(y.tolist())
    n_held_out = math.ceil(fraction * len(texts))
    n_train = len(texts) - n_held_out
    stratified = min(counts.values()) > 1
    needed = len(counts) if stratified else 1
    if min(n_train, n_held_out) < needed:
        advice = "smaller" if n_train < n_held_out else "larger"
        raise BadInputError(
            f"--validation {fraction} of {len(texts)} texts leaves {n_train} for training and {n_held_out} "
            f"for evaluation; each needs at least {needed}. Choose a {advice} fraction or a separate table."
        )
    from sklearn.model_selection import train_test_split

    ours, held_out = train_test_split(
        rows, test_size=n_held_out, random_state=options.seed, stratify=y if stratified else None
    )
    return ours, HeldOut([texts[row] for row in held_out], y[held_out], held_out)


def _suspicious_labels(
    model: "TextClassifier", texts: list[str], y: "np.ndarray", rows: "np.ndarray"
) -> "list[Disagreement] | None":
    """Return the texts whose labels are suspicious, with their rows in the table; None without tuning."""
    from dropglm.text import suspicious_labels

    probabilities = getattr(model, "cv_probabilities_", None)
    if probabilities is None:
        return None
    found = suspicious_labels(texts, y, probabilities, model.classes_, k=None)
    return [one._replace(row=int(rows[one.row])) for one in found]


def _given(context: typer.Context) -> set[str]:
    """Return the names of the options that the user gave."""
    sources = {name: context.get_parameter_source(name) for name in context.params}
    return {name for name, source in sources.items() if source is not None and source.name == "COMMANDLINE"}


def _refuse(given: set[str], why: str) -> None:
    if given:
        raise bad_option(option_name(min(given)), why)


def _check_names(options: TrainOptions) -> None:
    """Refuse unknown names before any work."""
    from dropglm.core.l2_weights import L2_WEIGHTS
    from dropglm.core.penalties import EXPECTATIONS
    from dropglm.places.rows import DEVICES, check_device
    from dropglm.search.scoring import SCORERS, classification_scorers

    check_name("--expectation", options.expectation, EXPECTATIONS)
    for name in options.l2_weights or ():
        check_name("--l2-weights", name, L2_WEIGHTS)
    if options.scoring not in SCORERS:
        check_name("--scoring", options.scoring, classification_scorers())
    check_name("--analyzer", options.analyzer, ("word", "char", "char_wb"))
    if options.device is not None:
        check_name("--device", options.device, DEVICES)
        check_device(options.device)
    if options.stop_words is not None:
        check_name("--stop-words", options.stop_words, ("english",))


def _check_scoring(scoring: str, y: "np.ndarray") -> None:
    """Refuse a scorer that these labels do not suit, such as f1, which needs the labels 0 and 1."""
    import numpy as np
    from sklearn.dummy import DummyClassifier
    from sklearn.metrics import get_scorer

    labels = np.unique(y)
    features = np.zeros((len(labels), 1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about scores of so few rows
        try:
            get_scorer(scoring)(DummyClassifier().fit(features, labels), features, labels)
        except ValueError as error:
            raise BadInputError(
                f"--scoring {scoring} does not suit the {len(labels)} labels of the table "
                f"({str(error).rstrip('.')}); accuracy and neg_log_loss suit all labels."
            ) from None


def _check_numbers(options: TrainOptions) -> None:
    if any(not 0.0 <= rate < 1.0 for rate in options.dropout or ()):
        raise bad_option("--dropout", "must be in [0, 1).")
    if any(not 0.0 < weight < math.inf for weight in options.ngram_weight or ()):
        raise bad_option("--ngram-weight", "must be a positive number.")
    for option, numbers in (("--l2", options.l2), ("--discount", options.discount)):
        if any(not 0.0 <= number < math.inf for number in numbers or ()):
            raise bad_option(option, "must not be negative or infinite.")


def _settings(options: TrainOptions) -> dict[str, Any]:
    """Return the parameters of the classifier, except the embedder."""
    several = {name: getattr(options, name) or [None] for name in SEVERAL}
    if not options.tune and any(len(values) > 1 for values in several.values()):
        raise bad_option("--no-tune", "without tuning, give each setting one value.")
    return {
        **{name: getattr(options, name) for name in SAME},
        **{name: values[0] if len(values) == 1 else values for name, values in several.items()},
        "ngram_range": _ngram_range(options.ngrams),
        "min_df": (1, 2) if options.min_df is None else options.min_df,
        "class_weight": "balanced" if options.balanced else None,
        "n_latent": options.latent,
        "cv": options.folds,
        "n_jobs": options.threads,
        "random_state": options.seed,
        "verbose": terminal.verbosity(options.quiet),
    }


def _ngram_range(given: str) -> tuple[int, int]:
    first, _, last = given.rpartition("-")
    if not (last.isdecimal() and (first or "1").isdecimal()) or not 1 <= int(first or 1) <= int(last) <= 50:
        raise bad_option("--ngrams", f"must be a number from 1 to 50 or a range such as 1-2, got {given!r}.")
    return int(first or 1), int(last)
