"""``dropglm train``: from a table of texts to a model file."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dropglm import tables
from dropglm.cli import options, terminal

if TYPE_CHECKING:
    import numpy as np

    from dropglm.cli.measures import Measures
    from dropglm.text import TextClassifier

TUNING = "Tuning"


def train(
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
        int, typer.Option(help="Fewest texts that have an n-gram.", rich_help_panel=options.MODEL)
    ] = 2,
    max_df: Annotated[
        float, typer.Option(help="Largest share of texts that have it.", rich_help_panel=options.MODEL)
    ] = 1.0,
    max_features: Annotated[
        int | None,
        typer.Option(
            help="Most n-grams, the most frequent ones.", show_default=False, rich_help_panel=options.MODEL
        ),
    ] = None,
    lowercase: Annotated[
        bool, typer.Option(help="Turn texts to lower case.", rich_help_panel=options.MODEL)
    ] = True,
    strip_html: Annotated[
        bool, typer.Option(help="Leave out HTML tags.", rich_help_panel=options.MODEL)
    ] = True,
    penalty: Annotated[
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
        typer.Option(help="Strength of the ridge.", show_default=False, rich_help_panel=TUNING),
    ] = None,
    discount: Annotated[
        list[float] | None,
        typer.Option(help="Weight of an unlabelled text.", show_default=False, rich_help_panel=TUNING),
    ] = None,
    ridge: Annotated[
        list[str] | None,
        typer.Option(help="uniform or naive_bayes.", show_default=False, rich_help_panel=TUNING),
    ] = None,
    folds: Annotated[int, typer.Option(help="Folds of cross-validation.", rich_help_panel=TUNING)] = 5,
    scoring: Annotated[
        str, typer.Option(help="What to choose by, a scorer of scikit-learn.", rich_help_panel=TUNING)
    ] = "accuracy",
    format: options.Format = None,
    encoding: options.Encoding = None,
    delimiter: options.Delimiter = None,
    seed: Annotated[int, typer.Option(help="Decides all that is random.", rich_help_panel=options.HOW)] = 0,
    threads: options.Threads = -1,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Train a classifier on a table of texts, and save it.

    Tables are CSV, TSV, JSON Lines or Parquet, compressed or not. Without settings the model tunes itself.
    """
    from dropglm.cli.measures import measured
    from dropglm.text import TextClassifier

    start = time.perf_counter()
    _can_be_written(out)
    reading: dict[str, Any] = {"format": format, "encoding": encoding, "delimiter": delimiter}
    with terminal.step(f"Reading {table}", quiet=quiet):
        texts, y = labelled(table, text, label, reading)
    texts, y, held_out = _split(texts, y, validation, text, label, encoding, delimiter, seed, quiet)
    more: list[str] = []
    for path in unlabeled or ():
        with terminal.step(f"Reading {path}", quiet=quiet):
            column = unlabeled_text or text
            more += tables.read(path, column, encoding=encoding, delimiter=delimiter)[column].to_list()
    model = TextClassifier(
        ngram_range=_ngram_range(ngrams),
        min_df=min_df,
        max_df=max_df,
        max_features=max_features,
        lowercase=lowercase,
        strip_html=strip_html,
        tune=tune,
        dropout=_one_or_several(dropout),
        l2=_one_or_several(l2),
        discount=_one_or_several(discount),
        ridge=_one_or_several(ridge),
        penalty=penalty,
        class_weight="balanced" if balanced else None,
        cv=folds,
        scoring=scoring,
        n_jobs=threads,
        random_state=seed,
        verbose=terminal.bars(quiet),
    )
    model.fit(texts, y, unlabeled=more or None)
    measures = None if held_out is None else measured(model, *held_out)
    with terminal.step(f"Writing {out}", quiet=quiet):
        model.save(out)
    _tell(model, measures, out, time.perf_counter() - start, json)


def labelled(table: str, text: str, label: str, reading: dict[str, Any]) -> tuple[list[str], "np.ndarray"]:
    """The texts and labels of a table."""
    frame = tables.read(table, text, label, **reading)
    return frame[text].to_list(), frame[label].to_numpy()


def _can_be_written(out: Path) -> None:
    """Refuse a place that could not be written to after all the work."""
    if out.is_dir():
        raise OSError(f"{out} is a folder; name a file in it with --out.")
    if not out.parent.is_dir():
        raise OSError(f"{out} cannot be written: there is no folder {out.parent}.")


def _split(
    texts: list[str],
    y: "np.ndarray",
    validation: str | None,
    text: str,
    label: str,
    encoding: str | None,
    delimiter: str | None,
    seed: int,
    quiet: bool,
) -> "tuple[list[str], np.ndarray, tuple[list[str], np.ndarray] | None]":
    """What to train on, and what to measure on if that is wanted."""
    from collections import Counter

    from sklearn.model_selection import train_test_split

    if validation is None:
        return texts, y, None
    try:
        share = float(validation)
    except ValueError:
        with terminal.step(f"Reading {validation}", quiet=quiet):
            reading = {"encoding": encoding, "delimiter": delimiter}
            return texts, y, labelled(validation, text, label, reading)
    if not 0.0 < share < 1.0:
        raise typer.BadParameter("a share is between 0 and 1.", param_hint="--validation")
    smallest = min(Counter(y.tolist()).values())
    ours, held_out, y_ours, y_held_out = train_test_split(
        texts, y, test_size=share, random_state=seed, stratify=y if smallest > 1 else None
    )
    return ours, y_ours, (held_out, y_held_out)


def _ngram_range(given: str) -> tuple[int, int]:
    shortest, _, longest = given.rpartition("-")
    try:
        return int(shortest or 1), int(longest)
    except ValueError:
        raise typer.BadParameter(
            f"{given!r} is neither a number nor a range such as 1-2.", param_hint="--ngrams"
        ) from None


def _one_or_several(given: list[Any] | None) -> Any:
    return given[0] if given and len(given) == 1 else given or None


def _tell(
    model: "TextClassifier", measures: "Measures | None", out: Path, seconds: float, as_json: bool
) -> None:
    """What was learnt."""
    top = model.top_features(8)
    if as_json:
        content = {
            "model": str(out),
            "seconds": round(seconds, 3),
            **model.summary_.to_dict(),
            "validation": None if measures is None else measures.to_dict(),
            "top_features": {str(label): [entry._asdict() for entry in row] for label, row in top.items()},
        }
        terminal.as_json(content)
        return
    said = model.summary_.lines()
    if measures is not None:
        said.append(("validation", measures.line()))
    terminal.pairs([*said, ("model", f"{out}, {out.stat().st_size / 1e6:.1f} MB, {seconds:.1f} s in all")])
    tell_top(top)


def tell_top(top: dict[Any, list[Any]]) -> None:
    """The n-grams that speak most for each class, as a table."""
    rows = (
        (str(label), ", ".join(f"{entry.ngram} {entry.weight:+.2f}" for entry in entries))
        for label, entries in top.items()
    )
    terminal.table("What speaks for each class", ("class", "n-grams, and what each adds"), rows, words=2)
