"""``dropglm train``: from a table of texts to a model file."""

import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dropglm.cli import online_options as streams
from dropglm.cli import options, terminal
from dropglm.cli.endings import BadInputError, bad_input, known, not_onto, writable
from dropglm.cli.reading import Reading
from dropglm.cli.train_online import train_online
from dropglm.progress import Progress

if TYPE_CHECKING:
    import numpy as np

    from dropglm.text import TextClassifier
    from dropglm.text.metrics import Metrics

TUNING = "Tuning"
# Options that have no meaning row by row, and those that have one only there.
IN_MEMORY = {
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
ONLINE = {
    *("rule", "rate", "bits", "classes", "epochs", "bad_rows", "checkpoint", "every", "start_from"),
}


def train(
    context: typer.Context,
    table: Annotated[
        str, typer.Argument(help="Table with texts and labels; - is standard input.", show_default=False)
    ],
    text: options.Text = "text",
    label: options.Label = "label",
    unlabeled: Annotated[
        list[Path] | None,
        typer.Option(
            "--unlabeled",
            "-u",
            help="Table with more texts, without labels; may be given several times.",
            show_default=False,
            rich_help_panel=options.TABLES,
        ),
    ] = None,
    unlabeled_text: Annotated[
        str | None,
        typer.Option(
            help="Column with their texts; by default that of --text.",
            show_default=False,
            rich_help_panel=options.TABLES,
        ),
    ] = None,
    out: Annotated[
        Path, typer.Option("--out", "-o", help="Model file to write.", rich_help_panel=options.HOW)
    ] = Path("model.skops"),
    validation: Annotated[
        str | None,
        typer.Option(
            help="Measure the model on texts that it does not train on: a share of the table such as 0.2, or "
            "a table of its own.",
            show_default=False,
            rich_help_panel=options.HOW,
        ),
    ] = None,
    ngrams: Annotated[
        str, typer.Option(help="Longest n-gram, or a range such as 2-3.", rich_help_panel=options.MODEL)
    ] = "2",
    min_df: Annotated[
        int, typer.Option(help="Fewest texts that have an n-gram.", min=1, rich_help_panel=options.MODEL)
    ] = 2,
    max_df: Annotated[
        float,
        typer.Option(
            help="Largest share of texts that have it.", min=0.0, max=1.0, rich_help_panel=options.MODEL
        ),
    ] = 1.0,
    max_features: Annotated[
        int | None,
        typer.Option(
            help="Most n-grams, the most frequent ones.",
            min=1,
            show_default=False,
            rich_help_panel=options.MODEL,
        ),
    ] = None,
    lowercase: Annotated[
        bool, typer.Option(help="Turn texts to lower case.", rich_help_panel=options.MODEL)
    ] = True,
    strip_html: Annotated[
        bool, typer.Option(help="Leave out HTML tags.", rich_help_panel=options.MODEL)
    ] = True,
    expectation: Annotated[
        str,
        typer.Option(
            help="How dropout is integrated out: gaussian, quadratic, exact or monte_carlo.",
            rich_help_panel=options.MODEL,
        ),
    ] = "gaussian",
    balanced: Annotated[
        bool,
        typer.Option("--balanced", help="Let all classes weigh the same.", rich_help_panel=options.MODEL),
    ] = False,
    tune: Annotated[
        bool,
        typer.Option(help="Choose what is not given below by cross-validation.", rich_help_panel=TUNING),
    ] = True,
    dropout: Annotated[
        list[float] | None,
        typer.Option(
            help="Probability that a feature is dropped; several times for several values to choose from, as "
            "the next three.",
            show_default=False,
            rich_help_panel=TUNING,
        ),
    ] = None,
    l2: Annotated[
        list[float] | None,
        typer.Option(
            help="Strength of the ridge; with --online that of every row, a small number such as 1e-5.",
            show_default=False,
            rich_help_panel=TUNING,
        ),
    ] = None,
    discount: Annotated[
        list[float] | None,
        typer.Option(help="Weight of an unlabelled text.", show_default=False, rich_help_panel=TUNING),
    ] = None,
    l2_weights: Annotated[
        list[str] | None,
        typer.Option(
            help="uniform, naive_bayes or naive_bayes_unlabeled.", show_default=False, rich_help_panel=TUNING
        ),
    ] = None,
    folds: Annotated[int, typer.Option(help="Folds of cross-validation.", min=2, rich_help_panel=TUNING)] = 5,
    scoring: Annotated[
        str, typer.Option(help="What to choose by, a scorer of scikit-learn.", rich_help_panel=TUNING)
    ] = "accuracy",
    online: streams.Online = False,
    rule: streams.Rule = "adagrad",
    rate: streams.Rate = None,
    bits: streams.Bits = 20,
    classes: streams.Classes = None,
    epochs: streams.Epochs = 1,
    bad_rows: streams.BadRows = "stop",
    checkpoint: streams.Checkpoint = None,
    every: streams.Every = 100_000,
    start_from: streams.StartFrom = None,
    format: options.Format = None,
    encoding: options.Encoding = None,
    delimiter: options.Delimiter = None,
    seed: Annotated[
        int, typer.Option(help="Decides all that is random.", min=0, rich_help_panel=options.HOW)
    ] = 0,
    threads: options.Threads = -1,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Train a classifier on a table of texts, and save it.

    Tables are CSV, TSV, JSON Lines or Parquet, compressed or not. Without settings the model tunes itself.
    """
    start = time.perf_counter()
    writable(out, "--out")
    given = _given(context)
    if online:
        _refuse(given & IN_MEMORY, "goes with training in memory, not with --online.")
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
    _refuse(given & ONLINE, "goes with --online only.")
    from dropglm.text import TextClassifier
    from dropglm.text.metrics import compute_metrics

    _check_options(expectation, l2_weights or [], scoring)
    _check_numbers(dropout or [], l2 or [], discount or [])
    if not tune and any(len(given or ()) > 1 for given in (dropout, l2, discount, l2_weights)):
        raise typer.BadParameter("several values of a setting are to choose from.", param_hint="--no-tune")
    not_onto(out, table, *(unlabeled or ()), validation or "")
    n_grams = _ngram_range(ngrams)
    reading = Reading(text, label, encoding, delimiter, quiet)
    texts, y = reading.labelled(table, format)
    texts, y, held_out = _split(texts, y, validation, reading, seed)
    more = [one for path in unlabeled or () for one in reading.unlabelled(str(path), unlabeled_text)]
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
    with bad_input():
        model.fit(texts, y, X_unlabeled=more or None)
        measures = None if held_out is None else compute_metrics(model, *held_out)
    with Progress(f"Writing {out}", shown=not quiet):
        model.save(out)
    _tell(model, measures, out, time.perf_counter() - start, json)


def _given(context: typer.Context) -> set[str]:
    """The options that were given, not left at their defaults."""
    sources = {name: context.get_parameter_source(name) for name in context.params}
    return {name for name, source in sources.items() if source is not None and source.name == "COMMANDLINE"}


def _refuse(given: set[str], why: str) -> None:
    if given:
        raise typer.BadParameter(why, param_hint=f"--{min(given).replace('_', '-')}")


def _check_options(expectation: str, l2_weights: list[str], scoring: str) -> None:
    """Refuse what could not work, before all the work."""
    from sklearn.metrics import get_scorer_names

    from dropglm.penalties import PENALTIES
    from dropglm.penalties.ridges import RIDGES

    known("--expectation", expectation, PENALTIES)
    for name in l2_weights:
        known("--l2-weights", name, RIDGES)
    known("--scoring", scoring, get_scorer_names())


def _check_numbers(dropout: list[float], l2: list[float], discount: list[float]) -> None:
    if any(not 0.0 <= rate < 1.0 for rate in dropout):
        raise typer.BadParameter("a probability from 0 on and below 1.", param_hint="--dropout")
    for option, numbers in (("--l2", l2), ("--discount", discount)):
        if any(not 0.0 <= number < float("inf") for number in numbers):
            raise typer.BadParameter("a number that is not negative.", param_hint=option)


def _split(
    texts: list[str], y: "np.ndarray", validation: str | None, reading: Reading, seed: int
) -> "tuple[list[str], np.ndarray, tuple[list[str], np.ndarray] | None]":
    """What to train on, and what to measure on if that is wanted."""
    from sklearn.model_selection import train_test_split

    if validation is None:
        return texts, y, None
    try:
        share = float(validation)
    except ValueError:
        return texts, y, reading.labelled(validation)
    if not 0.0 < share < 1.0:
        raise typer.BadParameter("a share is between 0 and 1.", param_hint="--validation")
    smallest = min(Counter(y.tolist()).values())
    try:
        ours, held_out, y_ours, y_held_out = train_test_split(
            texts, y, test_size=share, random_state=seed, stratify=y if smallest > 1 else None
        )
    except ValueError:
        raise BadInputError(
            f"--validation {share} of {len(texts)} texts is less than one of each class; take a larger "
            "share, or a table of its own."
        ) from None
    return ours, y_ours, (held_out, y_held_out)


def _ngram_range(given: str) -> tuple[int, int]:
    first, _, last = given.rpartition("-")
    if not (last.isdecimal() and (first or "1").isdecimal()) or not 1 <= int(first or 1) <= int(last) <= 50:
        raise typer.BadParameter(
            f"{given!r} is neither a number from 1 to 50 nor a range such as 1-2.", param_hint="--ngrams"
        )
    return int(first or 1), int(last)


def _one(given: list[float] | None, default: float, option: str) -> float:
    """The value, of which there may be one only."""
    if given and (len(given) > 1 or not 0.0 <= given[0] < float("inf")):
        raise typer.BadParameter("one number that is not negative.", param_hint=option)
    return given[0] if given else default


def _one_or_several(given: list[Any] | None) -> Any:
    return given[0] if given and len(given) == 1 else given or None


def _tell(
    model: "TextClassifier", measures: "Metrics | None", out: Path, seconds: float, as_json: bool
) -> None:
    """What was learnt."""
    from dropglm.text.explanation import top_to_dict

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
    said = model.summary_.lines()
    if measures is not None:
        said.append(("validation", measures.line()))
    terminal.pairs([*said, ("model", f"{out}, {out.stat().st_size / 1e6:.1f} MB, {seconds:.1f} s in all")])
    terminal.top_table(top)
