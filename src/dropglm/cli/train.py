"""``dropglm train``: from a table of texts to a model file."""

import math
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from dropglm.cli import options, terminal
from dropglm.cli.disagreements import write_disagreements
from dropglm.cli.embeddings import EmbeddingRows, check_not_both, check_unlabelled, read_embedder
from dropglm.cli.errors import BadInputError, naming
from dropglm.cli.held_out import split
from dropglm.cli.inputs_outputs import (
    check_name,
    check_output,
    check_output_table,
    read_labelled,
    read_unlabelled,
)
from dropglm.cli.postponed import forget
from dropglm.cli.train_dask import train_dask
from dropglm.cli.train_online import train_online
from dropglm.cli.train_report import TrainReport
from dropglm.progress import Progress
from dropglm.tables import Table

if TYPE_CHECKING:
    import numpy as np

    from dropglm.text import TextClassifier
    from dropglm.text.label_check import Disagreement

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


def train(
    context: typer.Context,
    tables: options.LabelledTables,
    text: options.Text = "text",
    label: options.Label = "label",
    unlabeled: options.Unlabeled = None,
    unlabeled_text: options.UnlabeledText = None,
    embeddings: options.Embeddings = None,
    embeddings_unlabeled: options.EmbeddingsUnlabeled = None,
    embedder: options.Embedder = None,
    out: options.ModelOut = Path("model.skops"),
    validation: options.Validation = None,
    suspicious: options.Suspicious = 5,
    suspicious_out: options.SuspiciousOut = None,
    baseline: options.Baseline = False,
    ngrams: options.Ngrams = "2",
    min_df: options.MinDf = None,
    max_df: options.MaxDf = 1.0,
    max_features: options.MaxFeatures = None,
    analyzer: options.Analyzer = "word",
    stop_words: options.StopWords = None,
    lowercase: options.Lowercase = True,
    strip_html: options.StripHtml = True,
    expectation: options.Expectation = "gaussian",
    balanced: options.Balanced = False,
    tune: options.Tune = True,
    dropout: options.Dropout = None,
    l2: options.L2 = None,
    discount: options.Discount = None,
    latent: options.Latent = 50,
    rounds: options.Rounds = 3,
    l2_weights: options.L2Weights = None,
    folds: options.Folds = None,
    ngram_weight: options.NgramWeight = None,
    calibrate: options.Calibrate = True,
    naive_bayes: options.NaiveBayes = True,
    scoring: options.Scoring = "neg_log_loss",
    dask: options.Dask = None,
    online: options.Online = False,
    rule: options.Rule = "adagrad",
    rate: options.Rate = None,
    bits: options.Bits = 20,
    classes: options.Classes = None,
    epochs: options.Epochs = 1,
    bad_rows: options.BadRows = "stop",
    checkpoint: options.Checkpoint = None,
    every: options.Every = 100_000,
    start_from: options.StartFrom = None,
    trust: options.Trust = False,
    format: options.Format = None,
    encoding: options.Encoding = None,
    delimiter: options.Delimiter = None,
    seed: options.Seed = 0,
    threads: options.Threads = -1,
    device: options.Device = None,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Train a classifier on a table of texts and save it.

    Tables are CSV, TSV, JSON Lines or Parquet, compressed or not.
    Unless given, --l2 is chosen by cross-validation.
    """
    start = time.perf_counter()
    given = _given(context)
    table = Table(tables[0], text, label, format=format, encoding=encoding, delimiter=delimiter)
    if len(tables) > 1 and dask is None:
        raise typer.BadParameter("several tables need --dask.", param_hint="TABLE")
    check_output(out, "--out", regular=True)
    terminal.announce_compilation(quiet)
    if online:
        _refuse(given & {"dask"}, "cannot be used with --online.")
        _refuse(given & IN_MEMORY_ONLY, "cannot be used with --online.")
        train_online(
            table,
            out,
            {
                "rule": rule,
                "rate": rate,
                "l2": _one(l2, 0.0, "--l2"),
                "bits": bits,
                "ngram_range": _ngram_range(ngrams),
                "lowercase": lowercase,
                "strip_html": strip_html,
            },
            given=given,
            classes=classes,
            epochs=epochs,
            bad_rows=bad_rows,
            checkpoint=checkpoint,
            every=every,
            start_from=start_from,
            trust=trust,
            threads=threads,
            json=json,
            quiet=quiet,
        )
        return
    own = ONLINE_ONLY if dask is None else ONLINE_ONLY - {"checkpoint"}
    _refuse(given & own, "can be used only with --online.")
    from dropglm.estimators.on_gpu import DEVICES, check_device
    from dropglm.estimators.scoring import SCORERS
    from dropglm.text import TextClassifier
    from dropglm.text.metrics import compute_metrics

    if dask is None:
        forget("pandas")  # which scikit-learn imports, to recognise data frames: there are none
    if not (tune and unlabeled):
        _refuse(given & {"latent", "rounds"}, "needs --unlabeled and cannot be used with --no-tune.")
    if rounds and not naive_bayes:
        _refuse(given & {"rounds"}, "cannot be used with --no-naive-bayes.")
    if not tune:
        _refuse(given & {"suspicious", "suspicious_out"}, "needs the folds of the tuning; drop --no-tune.")
    if suspicious_out is not None:
        check_output_table(suspicious_out, None, option="--suspicious-out")

    _check_names(expectation, l2_weights or [], scoring)
    check_name("--analyzer", analyzer, ("word", "char", "char_wb"))
    if device is not None:
        check_name("--device", device, DEVICES)
        check_device(device)
    if stop_words is not None:
        check_name("--stop-words", stop_words, ("english",))
    _check_numbers(dropout or [], l2 or [], discount or [], ngram_weight or [])
    several = any(len(values or ()) > 1 for values in (dropout, l2, discount, l2_weights, ngram_weight))
    if several and not tune:
        raise typer.BadParameter("without tuning, give each setting one value.", param_hint="--no-tune")
    settings: dict[str, Any] = {
        "ngram_range": _ngram_range(ngrams),
        "min_df": (1, 2) if min_df is None else min_df,
        "max_df": max_df,
        "max_features": max_features,
        "analyzer": analyzer,
        "stop_words": stop_words,
        "lowercase": lowercase,
        "strip_html": strip_html,
        "tune": tune,
        "dropout": _one_or_several(dropout),
        "l2": _one_or_several(l2),
        "discount": _one_or_several(discount),
        "l2_weights": _one_or_several(l2_weights),
        "expectation": expectation,
        "class_weight": "balanced" if balanced else None,
        "ngram_weight": _one_or_several(ngram_weight),
        "calibrate": calibrate,
        "naive_bayes": naive_bayes,
        "n_latent": latent,
        "rounds": rounds,
        "cv": folds,
        "scoring": scoring,
        "n_jobs": threads,
        "device": device,
        "random_state": seed,
        "verbose": terminal.verbosity(quiet),
    }
    if dask is not None:
        _refuse(given & NOT_WITH_DASK, "cannot be used with --dask.")
        if tune:
            _refuse(given & {"checkpoint"}, "cannot be used with --dask unless --no-tune is given.")
        train_dask(
            dask,
            table,
            tables,
            [str(path) for path in unlabeled or ()],
            unlabeled_text or text,
            settings | {"embedder": read_embedder(embedder, quiet=quiet)},
            out,
            checkpoint,
            json=json,
            quiet=quiet,
        )
        return
    check_not_both(embeddings, embedder)
    check_unlabelled(embeddings, embeddings_unlabeled, unlabeled)
    embedded, more_embedded = EmbeddingRows.of(embeddings), EmbeddingRows.of(*(embeddings_unlabeled or ()))
    texts, y = read_labelled(table, quiet=quiet)
    labels = set(y.tolist())
    if len(labels) < 2:
        raise BadInputError(
            f"{table.name}: all rows have the label {min(labels)!r}; at least two classes are needed."
        )
    if tune and scoring not in SCORERS:
        _check_scoring(scoring, y)
    E = None if embedded is None else embedded.all(len(texts), table.name)
    rows, held_out = split(texts, y, validation, table, seed, quiet=quiet)
    if held_out is not None and held_out.rows is None and E is not None:
        raise typer.BadParameter(
            "needs a fraction if --embeddings is given; dropglm evaluate takes embeddings for another table.",
            param_hint="--validation",
        )
    texts, y = [texts[row] for row in rows], y[rows]
    if baseline:
        from dropglm.text.comparison import check_class_sizes

        with naming(table.name):
            check_class_sizes(y)
    more = read_unlabelled(unlabeled or (), table, unlabeled_text, quiet=quiet)
    E_more = None if more_embedded is None else more_embedded.all(len(more), "--unlabeled")
    of_texts = {"embeddings": None if E is None else E[rows], "embeddings_unlabeled": E_more}
    model = TextClassifier(**settings, embedder=read_embedder(embedder, quiet=quiet))
    begin = time.perf_counter()
    # In a terminal, the model shows more.
    told = Progress(f"Training on {len(texts):,} texts", shown=not quiet and not model.verbose)
    with naming(table.name), told:
        model.fit(texts, y, X_unlabeled=more or None, **of_texts)
    fit_seconds = time.perf_counter() - begin
    measures = None
    if held_out is not None:
        measures = compute_metrics(model, held_out.texts, held_out.y, None if E is None else E[held_out.rows])
    model.text_column_, model.label_column_ = text, label
    with Progress(f"Writing {out}", shown=not quiet):
        model.save(out)
    found = _suspicious_labels(model, texts, y, rows)
    if suspicious_out is not None and found is None:
        terminal.message(f"warning: {suspicious_out} was not written, since no settings were tuned.")
    elif suspicious_out is not None and found is not None:
        write_disagreements(found, suspicious_out)
    comparison = None
    if baseline:
        from dropglm.text.comparison import compare_with_baseline

        with naming(table.name):
            comparison = compare_with_baseline(
                model, texts, y, more or None, **of_texts, fit_seconds=fit_seconds, shown=not quiet
            )
    seconds = time.perf_counter() - start
    report = TrainReport(model, out, seconds, measures, found, suspicious, comparison)
    if json:
        report.print_json()
    else:
        report.print_tables()


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
        raise typer.BadParameter(why, param_hint=f"--{min(given).replace('_', '-')}")


def _check_names(expectation: str, l2_weights: list[str], scoring: str) -> None:
    """Refuse unknown names before any work."""
    from dropglm.estimators.l2_weights import L2_WEIGHTS
    from dropglm.estimators.scoring import SCORERS, classification_scorers
    from dropglm.penalties import EXPECTATIONS

    check_name("--expectation", expectation, EXPECTATIONS)
    for name in l2_weights:
        check_name("--l2-weights", name, L2_WEIGHTS)
    if scoring not in SCORERS:
        check_name("--scoring", scoring, classification_scorers())


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


def _check_numbers(
    dropout: list[float], l2: list[float], discount: list[float], ngram_weight: list[float]
) -> None:
    if any(not 0.0 <= rate < 1.0 for rate in dropout):
        raise typer.BadParameter("must be in [0, 1).", param_hint="--dropout")
    if any(not 0.0 < weight < math.inf for weight in ngram_weight):
        raise typer.BadParameter("must be a positive number.", param_hint="--ngram-weight")
    for option, numbers in (("--l2", l2), ("--discount", discount)):
        if any(not 0.0 <= number < float("inf") for number in numbers):
            raise typer.BadParameter("must not be negative or infinite.", param_hint=option)


def _ngram_range(given: str) -> tuple[int, int]:
    first, _, last = given.rpartition("-")
    if not (last.isdecimal() and (first or "1").isdecimal()) or not 1 <= int(first or 1) <= int(last) <= 50:
        raise typer.BadParameter(
            f"must be a number from 1 to 50 or a range such as 1-2, got {given!r}.", param_hint="--ngrams"
        )
    return int(first or 1), int(last)


def _one(given: list[float] | None, default: float, option: str) -> float:
    """Return the single value of an option that may be repeated elsewhere."""
    if given and (len(given) > 1 or not 0.0 <= given[0] < float("inf")):
        raise typer.BadParameter("must be one number that is not negative.", param_hint=option)
    return given[0] if given else default


def _one_or_several(given: list[Any] | None) -> Any:
    return given[0] if given and len(given) == 1 else given or None
