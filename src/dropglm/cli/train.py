"""``dropglm train``: from a table of texts to a model file."""

import math
import time
import warnings
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from dropglm.cli import options, terminal
from dropglm.cli.errors import BadInputError, naming
from dropglm.cli.inputs_outputs import TableReader, check_name, check_output
from dropglm.cli.train_online import train_online
from dropglm.progress import Progress

if TYPE_CHECKING:
    import numpy as np

    from dropglm.text import TextClassifier
    from dropglm.text.metrics import Metrics

# Options that only apply with or without --online.
IN_MEMORY_ONLY = {
    *(
        "unlabeled",
        "unlabeled_text",
        "validation",
        "min_df",
        "max_df",
        "max_features",
        "expectation",
        "balanced",
    ),
    *("tune", "dropout", "discount", "l2_weights", "folds", "scoring", "seed"),
}
ONLINE_ONLY = {
    *("rule", "rate", "bits", "classes", "epochs", "bad_rows", "checkpoint", "every", "start_from"),
}


def train(
    context: typer.Context,
    table: options.LabelledTable,
    text: options.Text = "text",
    label: options.Label = "label",
    unlabeled: options.Unlabeled = None,
    unlabeled_text: options.UnlabeledText = None,
    out: options.ModelOut = Path("model.skops"),
    validation: options.Validation = None,
    ngrams: options.Ngrams = "2",
    min_df: options.MinDf = 2,
    max_df: options.MaxDf = 1.0,
    max_features: options.MaxFeatures = None,
    lowercase: options.Lowercase = True,
    strip_html: options.StripHtml = True,
    expectation: options.Expectation = "gaussian",
    balanced: options.Balanced = False,
    tune: options.Tune = True,
    dropout: options.Dropout = None,
    l2: options.L2 = None,
    discount: options.Discount = None,
    l2_weights: options.L2Weights = None,
    folds: options.Folds = 5,
    scoring: options.Scoring = "accuracy",
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
    format: options.Format = None,
    encoding: options.Encoding = None,
    delimiter: options.Delimiter = None,
    seed: options.Seed = 0,
    threads: options.Threads = -1,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Train a classifier on a table of texts and save it.

    Tables are CSV, TSV, JSON Lines or Parquet, compressed or not.
    Unless given, --dropout, --l2 and --l2-weights are chosen by cross-validation.
    """
    start = time.perf_counter()
    check_output(out, "--out", (table, *(unlabeled or ()), validation, start_from), regular=True)
    given = _given(context)
    if online:
        _refuse(given & IN_MEMORY_ONLY, "cannot be used with --online.")
        train_online(
            (table, text, label, format, encoding, delimiter),
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
            threads=threads,
            json=json,
            quiet=quiet,
        )
        return
    _refuse(given & ONLINE_ONLY, "can be used only with --online.")
    from dropglm.text import TextClassifier
    from dropglm.text.metrics import compute_metrics

    _check_names(expectation, l2_weights or [], scoring)
    _check_numbers(dropout or [], l2 or [], discount or [])
    if not tune and any(len(values or ()) > 1 for values in (dropout, l2, discount, l2_weights)):
        raise typer.BadParameter("without tuning, give each setting one value.", param_hint="--no-tune")
    n_grams = _ngram_range(ngrams)
    reader = TableReader(text, label, encoding, delimiter, quiet)
    texts, y = reader.labelled(table, format)
    labels = set(y.tolist())
    if len(labels) < 2:
        raise BadInputError(
            f"{table}: all rows have the label {min(labels)!r}; at least two classes are needed."
        )
    if tune:
        _check_scoring(scoring, y)
    texts, y, held_out = _split(texts, y, validation, reader, seed)
    more = [one for path in unlabeled or () for one in reader.unlabelled(str(path), unlabeled_text)]
    model = TextClassifier(
        ngram_range=n_grams,
        min_df=min_df,
        max_df=max_df,
        max_features=max_features,
        lowercase=lowercase,
        strip_html=strip_html,
        tune=tune,
        dropout=_one_or_several(dropout),
        l2=_one_or_several(l2),
        discount=_one_or_several(discount),
        l2_weights=_one_or_several(l2_weights),
        expectation=expectation,
        class_weight="balanced" if balanced else None,
        cv=folds,
        scoring=scoring,
        n_jobs=threads,
        random_state=seed,
        verbose=terminal.verbosity(quiet),
    )
    with naming(table):
        model.fit(texts, y, X_unlabeled=more or None)
    measures = None if held_out is None else compute_metrics(model, *held_out)
    model.text_column_, model.label_column_ = text, label
    with Progress(f"Writing {out}", shown=not quiet):
        model.save(out)
    _print_result(model, measures, out, time.perf_counter() - start, json)


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
    from dropglm.estimators.search import classification_scorers
    from dropglm.penalties import EXPECTATIONS

    check_name("--expectation", expectation, EXPECTATIONS)
    for name in l2_weights:
        check_name("--l2-weights", name, L2_WEIGHTS)
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


def _check_numbers(dropout: list[float], l2: list[float], discount: list[float]) -> None:
    if any(not 0.0 <= rate < 1.0 for rate in dropout):
        raise typer.BadParameter("must be in [0, 1).", param_hint="--dropout")
    for option, numbers in (("--l2", l2), ("--discount", discount)):
        if any(not 0.0 <= number < float("inf") for number in numbers):
            raise typer.BadParameter("must not be negative or infinite.", param_hint=option)


def _split(
    texts: list[str], y: "np.ndarray", validation: str | None, reader: TableReader, seed: int
) -> "tuple[list[str], np.ndarray, tuple[list[str], np.ndarray] | None]":
    """Return the texts and labels to train on, and those to measure on if there are any."""
    from sklearn.model_selection import train_test_split

    if validation is None:
        return texts, y, None
    try:
        fraction = float(validation)
    except ValueError:
        return texts, y, reader.labelled(validation)
    if not 0.0 < fraction < 1.0:
        raise typer.BadParameter("a fraction must be between 0 and 1.", param_hint="--validation")
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
    ours, held_out, y_ours, y_held_out = train_test_split(
        texts,
        y,
        test_size=n_held_out,
        random_state=seed,
        stratify=y if stratified else None,
    )
    return ours, y_ours, (held_out, y_held_out)


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


def _print_result(
    model: "TextClassifier", measures: "Metrics | None", out: Path, seconds: float, as_json: bool
) -> None:
    """Print what was learnt."""
    from dropglm.text.top_ngrams import top_to_dict

    top = model.top_features(8)
    if as_json:
        content = {
            "model": str(out),
            "seconds": round(seconds, 3),
            **model.summary_.to_dict(),
            "validation": None if measures is None else measures.to_dict(),
            "top_features": top_to_dict(top),
        }
        terminal.as_json(content)
        return
    lines = model.summary_.lines()
    if measures is not None:
        lines.append(("validation", measures.line()))
    terminal.pairs([*lines, ("model", f"{out}, {out.stat().st_size / 1e6:.1f} MB, {seconds:.1f} s in total")])
    terminal.top_table(top)
