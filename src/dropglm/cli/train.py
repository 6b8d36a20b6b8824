"""``dropglm train``: from a table of texts to a model file, in memory or on a Dask cluster."""

import logging
import math
import os
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

from dropglm import tables
from dropglm.base.errors import ClusterError
from dropglm.base.progress import Stages, begin_stage, plural
from dropglm.cli import files, terminal
from dropglm.cli.errors import BadInputError, naming_table
from dropglm.cli.files import EmbeddingRows, read_embedder, read_labelled
from dropglm.cli.lazy_modules import forget
from dropglm.cli.options import NO_EMBEDDER, bad_option, check_name, option_name, with_options
from dropglm.cli.training import TrainOptions, TrainRun
from dropglm.tables import Batch, Table, group_labels, row_weights

if TYPE_CHECKING:
    import numpy as np
    from distributed import Client

    from dropglm.places.labels import RowLabels
    from dropglm.text import TextClassifier
    from dropglm.text.columns import Columns
    from dropglm.text.comparison import Comparison, Scores
    from dropglm.text.metrics import Disagreement, Metrics, MultilabelMetrics

# Options that only apply with or without --online.
IN_MEMORY_ONLY = {
    *("unlabeled", "unlabeled_text", "validation", "suspicious", "suspicious_out", "baseline", "seed"),
    *("validation_column", "numeric", "categorical", "second_label", "device", "dask", "precision"),
    *("group", "embeddings", "embeddings_unlabeled", "embedder", "latent", "rounds", "ngram_weight"),
    *("min_df", "max_df", "max_features", "analyzer", "characters", "stop_words", "expectation"),
    *("class_weight", "tune", "dropout", "discount", "l2_weights", "folds", "calibrate", "naive_bayes"),
    "scoring",
}
TRUE_OR_FALSE = {"true": True, "1": True, "false": False, "0": False, "": False}
SEVERAL_LABELS = {"separator", "label_probabilities"}  # or probabilities of them
NOT_WITH_DASK = {
    "second_label",
    *("validation", "validation_column", "suspicious", "suspicious_out", "baseline"),
    *("embeddings", "embeddings_unlabeled", "device", "label_probabilities"),
}
NOT_WITH_PROBABILITIES = {
    *("label", "separator", "validation", "validation_column", "baseline"),
    *("suspicious", "suspicious_out", "precision"),
}
ONLINE_ONLY = {
    *("rule", "rate", "bits", "classes", "epochs", "bad_rows", "checkpoint", "every", "start_from", "trust")
}
# Options whose names are those of the parameters of the classifier, with one value or with several.
SAME = (
    *("max_df", "max_features", "analyzer", "stop_words", "lowercase", "strip_html", "tune", "expectation"),
    *("calibrate", "naive_bayes", "rounds", "scoring", "precision", "device", "class_weight"),
)
CHARACTERS = (3, 4)
SEVERAL = ("dropout", "l2", "discount", "l2_weights", "ngram_weight")


GIVEN = ("COMMANDLINE", "DEFAULT_MAP")  # where options come from that a user gave; the second is --config
# What the help shows of the options; --help-all shows all of them.
COMMON = {
    *("text", "numeric", "categorical", "label", "unlabeled", "separator", "weight", "group"),
    *("out", "validation", "baseline", "ngrams", "stop_words", "embedder", "dropout", "l2", "folds"),
    *("online", "dask", "json", "quiet"),
}


@with_options(TrainOptions, common=COMMON)
def train(context: typer.Context, options: TrainOptions) -> None:
    """Train a classifier on a table of texts and save it.

    Tables are CSV, TSV, JSON Lines or Parquet, compressed or not.
    Unless given, --dropout, --l2 and --l2-weights are chosen by cross-validation.
    """
    sources = {name: context.get_parameter_source(name) for name in context.params}
    classes = _probability_columns(options.label_probabilities)
    if not options.tables and sys.stdin is not None and sys.stdin.isatty():
        raise bad_option("TABLE", "name a table, or pass one through standard input.")
    files.check_output(options.out, "--out", regular=True)
    first, *others = tables.find_files(options.tables or ["-"])
    columns = _columns(options)
    table = Table(
        first,
        options.text if columns is None else columns.text[0],
        None if classes else options.label,
        row_of=columns,
        keep=(
            *(name for name in (options.group, options.validation_column) if name is not None),
            *(options.second_label or ()),
        ),
        weight=options.weight,
        lists=not options.online,
        label_separator=options.separator,
        probabilities=tuple(classes.values()),
        format=files.format_of(first, options.format),
        encoding=options.encoding,
        delimiter=options.delimiter,
    )
    given = {name for name, source in sources.items() if source and source.name in GIVEN}
    with Stages(shown=not options.quiet) as stages:
        every = [table, *(replace(table, path=path) for path in others)]
        _train(TrainRun(options, given, every, stages, time.perf_counter()))


def _train(run: TrainRun) -> None:
    """Check the options, and train in one of the three ways."""
    options, given, table = run.options, run.given, run.table
    advice = {
        getattr(options, name): f"name the column to use with --{name}"
        for name in ("text", "label")
        if name not in given
    }
    terminal.announce_compilation(options.quiet)
    if options.online:
        run.refuse({"dry_run"}, "cannot be used with --online.")
        if len(run.tables) > 1:
            raise bad_option("TABLE", "--online reads one table; join several with cat, or drop --online.")
        run.refuse(IN_MEMORY_ONLY, "cannot be used with --online.")
        run.refuse(SEVERAL_LABELS, "cannot be used with --online, which learns one label per row.")
        from dropglm.cli.train_online import train_online

        with files.advising(advice):
            train_online(run, _ngram_range(options.ngrams))
        return
    online_only = ONLINE_ONLY if options.dask is None else ONLINE_ONLY - {"checkpoint"}
    run.refuse(online_only, "can be used only with --online.")
    if options.label_probabilities is not None:
        run.refuse(NOT_WITH_PROBABILITIES, "cannot be used with --label-probabilities.")
    if not options.tune:
        run.refuse({"latent", "rounds", "precision"}, "cannot be used with --no-tune.")
    if options.rounds and not options.naive_bayes:
        run.refuse({"rounds"}, "cannot be used with --no-naive-bayes.")
    if options.characters and not (options.tune and options.calibrate and options.analyzer == "word"):
        run.refuse({"characters"}, "needs words, and cannot be used with --no-tune or --no-calibrate.")
    if not options.tune:
        run.refuse({"suspicious", "suspicious_out"}, "needs the folds of the tuning; drop --no-tune.")
        if options.validation is None and options.validation_column is None:
            run.refuse({"group"}, "needs the folds of the tuning, or --validation; drop --no-tune.")
    if options.validation_column is not None:
        if options.validation is not None:
            raise bad_option("--validation-column", "cannot be used with --validation.")
        if options.validation_column in (table.text, table.label, table.weight, options.group):
            raise bad_option("--validation-column", f"{options.validation_column!r} has another purpose.")
    if options.second_label:
        if not options.tune:
            raise bad_option("--second-label", "needs the folds of the tuning; drop --no-tune.")
        for name in ("label_probabilities", "separator", "group"):
            if getattr(options, name):
                raise bad_option("--second-label", f"cannot be used with {option_name(name)}.")
        for name in options.second_label:
            if name in (table.text, table.label, table.weight):
                raise bad_option(
                    "--second-label", f"{name!r} is the column with the texts, labels or weights."
                )
        if len(set(options.second_label)) < len(options.second_label):
            raise bad_option("--second-label", "names a column twice; give each source once.")
    if options.suspicious_out is not None:
        files.check_output_table(options.suspicious_out, None, option="--suspicious-out")
    _check_names(options)
    _check_numbers(options)
    settings = _settings(options)
    if options.dry_run:
        with files.advising(advice):
            _dry_run(run)
        return
    if options.dask is None:
        with files.advising(advice):
            _train_in_memory(run, settings)
        return
    run.refuse(NOT_WITH_DASK, "cannot be used with --dask.")
    if options.tune:
        run.refuse({"checkpoint"}, "cannot be used with --dask unless --no-tune is given.")
    _train_dask(run, options.dask, settings)


def _columns(options: TrainOptions) -> "Columns | None":
    """Return the columns of a row, if it is more than a single text."""
    names = [
        tuple(name.strip() for name in (given or "").split(",") if name.strip())
        for given in (options.text, options.numeric, options.categorical)
    ]
    if not any(names[1:]) and len(names[0]) == 1:
        return None
    from dropglm.text.columns import Columns

    if options.online:
        raise bad_option("--text", "with --online must be a single column.")
    text, numeric, categorical = names
    return Columns(text, numeric, categorical).check()


def _dry_run(run: TrainRun) -> None:
    """Print the options, and what would be trained on."""
    labelled, without = read_labelled(*run.tables)
    more = files.read_unlabelled(run.options.unlabeled or (), run.table, run.options.unlabeled_text)
    counts = Counter(name for row in labelled.labels for name in (row if isinstance(row, tuple) else (row,)))
    run.stages.close()
    print(f"# {plural(len(labelled.texts), 'text')} with labels, {len(without.texts) + len(more):,} without")
    if not run.table.probabilities:
        print(f"# labels: {', '.join(f'{name!r} {count:,}' for name, count in counts.most_common())}")
    print(run.options_as_toml())


def _train_in_memory(run: TrainRun, settings: dict[str, Any]) -> None:
    """Fit a classifier to all texts at once, measure it as the options say and save it."""
    import numpy as np

    from dropglm.places.labels import RowLabels
    from dropglm.search.scoring import SCORERS
    from dropglm.text import TableClassifier, TextClassifier
    from dropglm.text.columns import KINDS, plain_texts
    from dropglm.text.metrics import metrics_of
    from dropglm.text.training import text_groups

    forget("pandas")  # which scikit-learn imports, to recognise data frames: there are none
    options, table = run.options, run.table
    _check_embeddings(options)
    embedded = EmbeddingRows(options.embeddings)
    more_embedded = EmbeddingRows(*(options.embeddings_unlabeled or ()))
    labelled, without = read_labelled(*run.tables)
    groups = None if options.group is None else group_labels(table, labelled)
    texts, weights = labelled.texts, row_weights(table, labelled)
    y, soft = _labels_or_probabilities(labelled, options.label_probabilities)
    several = soft is None and tables.has_lists(labelled.labels)
    if not several:
        run.refuse({"precision"}, "is for rows with several labels; give --separator, or lists of labels.")
    labels = set(soft or tables.all_names([] if y is None else y.tolist()))
    if len(labels) == 1 and not several:
        raise BadInputError(
            f"{run.source}: all rows have the label {min(labels)!r}; at least two classes are needed."
        )
    if options.separator and all(len(row) < 2 for row in labelled.labels if isinstance(row, tuple)):
        terminal.message(f"warning: no row has two labels with {options.separator!r} between them.")
    with naming_table(run.source):
        # A class for each row: of several labels the rarest one, of probabilities the likeliest.
        numbers = RowLabels.of(None, y, len(texts), soft)
    if options.tune and options.scoring not in SCORERS:
        _check_scoring(
            options.scoring, np.eye(len(numbers.classes), dtype=int) if several else numbers.classes
        )
    if not (without.texts or options.unlabeled):
        run.refuse({"latent", "rounds"}, "needs --unlabeled, or rows without a label.")
    E = embedded.all(len(texts) + len(without.texts), run.source)
    together = None
    if options.validation is not None or options.validation_column is not None:
        together = text_groups(TextClassifier(**settings), texts, numbers.y, groups).labels
    rows, validation = _split(labelled, y, numbers.y, together, run)
    texts, numbers = [texts[row] for row in rows], numbers.take(rows)
    y = None if y is None else y[rows]
    of_rows = {
        "sample_weight": None if weights is None else [weights[row] for row in rows],
        "groups": None if groups is None else [groups[row] for row in rows],
    }
    places, gaps = np.asarray(labelled.rows)[rows] - 1, np.asarray(without.rows, np.intp) - 1
    if options.baseline:
        from dropglm.text.comparison import check_class_sizes, compare_with_baseline

        if several:
            run.refuse({"baseline"}, "compares models of one label per row.")
        if table.row_of is not None:
            run.refuse({"baseline"}, "compares models of a single column of texts.")
        assert y is not None
        with naming_table(run.source):
            check_class_sizes(y)
    more = files.read_unlabelled(options.unlabeled or (), table, options.unlabeled_text)
    more_E = more_embedded.all(len(more), "--unlabeled")
    more = [*without.texts, *more]
    of_texts = {
        "embeddings": None if E is None else E[places],
        "embeddings_unlabeled": more_E
        if E is None or not len(gaps)
        else files.joined_embeddings(E[gaps], more_E),
    }
    columns = table.row_of
    of_table = {} if columns is None else {kind: getattr(columns, kind) for kind in KINDS}
    model = (TableClassifier if of_table else TextClassifier)(
        **settings, **of_table, embedder=_embedder(options)
    )
    begin = time.perf_counter()
    with naming_table(run.source):
        run.stages.plan(_costs(model, texts, numbers, more, validation, baseline=options.baseline))
        if options.second_label:
            second = _second_labels(options.second_label, labelled, rows, without, numbers.classes)
            model.fit(**_with_second_labels(texts, y, without.texts, more, of_texts, of_rows), **second)
        else:
            model.fit(texts, y, X_unlabeled=more or None, **of_texts, **of_rows, label_probabilities=soft)
    fit_seconds = time.perf_counter() - begin
    measures = None
    if validation is not None:
        begin_stage("Evaluating")
        of_them = np.asarray(validation.rows.rows) - 1
        p = model.predict_proba(validation.rows.texts, None if E is None else E[of_them])
        measures = metrics_of(model, validation.y, p, validation.weights)
        seen = set(texts)
        known = sum(text in seen for text in validation.rows.texts)
        # Some texts occur twice in any large table, and among new texts; most of them only if it is the same.
        is_same = known > len(validation.rows.texts) / 2
        if is_same:
            terminal.message(
                f"warning: {known:,} of the {measures.texts:,} texts of --validation are also trained on, so "
                "their scores are too good, and guarantees are estimates."
            )
        if not model.multilabel_:  # rows of a group are not independent of each other
            held_out = groups is None and not is_same
            model._set_evidence(p, validation.y, "guarantee" if held_out else "estimate")
    run.save(model)
    begin_stage("Finding suspicious labels")
    found = None if y is None else _suspicious_labels(model, plain_texts(columns, texts), y, places)
    if options.suspicious_out is not None:
        _write_suspicious(options.suspicious_out, found)
    comparison = None
    if options.baseline:
        begin_stage("Comparing with tf-idf")
        with naming_table(run.source):
            comparison = compare_with_baseline(
                model,
                texts,
                y,
                more or None,
                **of_texts,
                **of_rows,
                fit_seconds=fit_seconds,
                shown=not options.quiet,
            )
    hint = _encoder_hint(run, model, texts, y, of_rows | {"label_probabilities": soft})
    by_class = None if y is None else _held_out_metrics(model, y, of_rows["sample_weight"])
    listed, n_found = (found or [])[: options.suspicious], len(found or ())
    suspicious = {"found": n_found, "listed": terminal.disagreements_to_json(listed)}
    lines, measured = run.lines_about_rows(len(without.texts)), None
    if measures is not None and validation is not None:
        left_out = f"; {plural(validation.left_out, 'row')} without a label left out"
        lines.append(("validation", measures.line() + (left_out if validation.left_out else "")))
        measured = measures.to_dict() | {"rows_without_label": validation.left_out}
    run.report(
        model,
        [*lines, ("encoder", hint["advice"])] if hint else lines,
        rows_without_label=len(without.texts),
        encoder_hint=hint,
        validation=measured,
        suspicious_labels=None if found is None else suspicious,
        held_out=by_class and by_class.to_dict(),
        baseline=comparison and comparison.to_dict(),
    )
    if options.json or options.quiet:
        return
    if by_class is not None and len(by_class.by_class) > 2:
        terminal.print_classes(by_class, "Classes, on held-out texts")
    if listed:
        title = "Labels that may be wrong, by models trained on the other folds"
        terminal.print_disagreements(f"{title}: {len(listed):,} of {n_found:,}", listed)
    if comparison is not None:
        _print_comparison(comparison)


def _probability_columns(given: str | None) -> dict[str, str]:
    """Return the columns of ``--label-probabilities``, by class."""
    if given is None:
        return {}
    pairs = [pair.split("=") for pair in given.split(",")]
    names = tables.class_names(pair[0].strip() for pair in pairs)
    columns = [pair[-1].strip() for pair in pairs]
    distinct = len(set(names)) == len(set(columns)) == len(pairs) > 1
    if not (distinct and all(len(pair) == 2 for pair in pairs) and all(names) and all(columns)):
        raise bad_option(
            "--label-probabilities",
            f"must name a column for each of at least two classes, as in a=p_a,b=p_b, got {given!r}.",
        )
    return dict(zip(names, columns, strict=True))


def _labels_or_probabilities(
    labelled: Batch, given: str | None
) -> "tuple[np.ndarray | None, dict[Any, np.ndarray] | None]":
    """Return the classes of rows, or else their probabilities by class, as the option says."""
    import numpy as np

    if given is None:
        return tables.to_classes(labelled.labels), None
    P, classes = np.array(labelled.labels), tables.to_classes(list(_probability_columns(given))).tolist()
    return None, dict(zip(classes, P.T, strict=True))


def _second_labels(
    columns: list[str], labelled: Batch, rows: "np.ndarray", without: Batch, classes: "np.ndarray"
) -> dict[str, Any]:
    """Return the second-hand labels of the rows that are trained on, then of those without a label."""
    by_name = {tables.class_name(label): label for label in classes.tolist()}
    found = {}
    for column in columns:
        own, others = labelled.others[column], without.others[column]
        names = [name.strip() if name else None for name in [*(own[row] for row in rows), *others]]
        found[column] = [by_name.get(name, name) if name else None for name in names]
    return {"second_labels": found}


def _with_second_labels(
    texts: list[str],
    y: Any,
    without: Sequence[str],
    more: list[str],
    of_texts: dict[str, Any],
    of_rows: dict[str, Any],
) -> dict[str, Any]:
    """Return the arguments of a fit in which the rows without a label are among those with one."""
    weights, E, F = of_rows["sample_weight"], of_texts["embeddings"], of_texts["embeddings_unlabeled"]
    m = len(without)
    if E is not None and m:
        import numpy as np

        E, F = np.vstack([E, F[:m]]), F[m:] if len(F) > m else None
    return {
        "X": [*texts, *without],
        "y": [*y.tolist(), *[None] * m],
        "X_unlabeled": more[m:] or None,
        "sample_weight": None if weights is None else [*weights, *[1.0] * m],
        "embeddings": E,
        "embeddings_unlabeled": F,
    }


def _costs(
    model: "TextClassifier",
    texts: list[str],
    labels: "RowLabels",
    more: list[str],
    validation: "Validation | None",
    *,
    baseline: bool,
) -> list[tuple[str, float]]:
    """Return the stages that follow once all texts are read, and roughly how many seconds each takes."""
    import numpy as np

    from dropglm.search.held_out import FOLDS
    from dropglm.text.training import rough_costs

    _, counts = np.unique(labels.y, return_counts=True)
    sizes, K = (sum(map(len, texts)), sum(map(len, more))), len(labels.classes)
    stages = rough_costs(model, counts, *sizes, problems=K if K > 2 or labels.multilabel else 1)
    comparing = 2 * (FOLDS - 1) * sum(cost for _, cost in stages)  # of two methods, as if equally fast
    if validation is not None:
        stages.append(("Evaluating", files.PREDICTING * sum(map(len, validation.rows.texts))))
    return [*stages, ("Comparing with tf-idf", comparing)] if baseline else stages


# Beyond these, trying an encoder would take more than some seconds.
MOST_TRIED, MOST_TRIED_CHARACTERS = 1000, 100_000


def _encoder_hint(
    run: TrainRun, model: "TextClassifier", texts: list[str], y: "np.ndarray | None", of_rows: dict[str, Any]
) -> dict[str, Any] | None:
    """Return what the installed encoder would bring, if it would: the scores of the labelled texts alone.

    It is not used unless asked for: predictions would take a hundred times as long and need the package, and
    there would be no exports.
    """
    from dropglm.text.encoders import INSTALLED_BY_US, is_installed
    from dropglm.text.fitted_model import readable_score

    search, options = model.summary_.search, run.options
    few = len(texts) <= MOST_TRIED and sum(map(len, texts)) <= MOST_TRIED_CHARACTERS
    asked = options.embeddings or options.embedder
    if search is None or asked or not few or not is_installed(INSTALLED_BY_US):
        return None
    begin_stage("Trying an encoder")
    settings = model.get_params() | {"embedder": INSTALLED_BY_US, "verbose": 0}
    tried = type(model)(**settings).fit(texts, y, **of_rows)
    found, shares = tried.summary_.search, search["score_of_shares"]
    enough = search["score"] + (search["standard_error"] or 0.0)
    if not found["score"] > (enough if shares is None else max(enough, shares)):
        return None
    name, score = readable_score(found["scoring"], found["score"])
    _, now = readable_score(search["scoring"], search["score"])
    without = ", even without the unlabelled texts" if model.summary_.unlabeled else ""
    advice = f"try --embedder {INSTALLED_BY_US}: {name} {score:.4f} instead of {now:.4f}{without}"
    return {
        "embedder": INSTALLED_BY_US,
        "score": found["score"],
        "accuracy": found["accuracy"],
        "advice": advice,
    }


def _embedder(options: TrainOptions) -> Any:
    """Return the embedder; None if none is named, or "none", with which no encoder is tried either."""
    return None if options.embedder == NO_EMBEDDER else read_embedder(options.embedder)


def _check_embeddings(options: TrainOptions) -> None:
    """Refuse embeddings of some texts without those of the others, and embeddings with an embedder."""
    files.check_not_both(options.embeddings, options.embedder)
    if options.embeddings_unlabeled and not (options.embeddings and options.unlabeled):
        raise bad_option("--embeddings-unlabeled", "needs --embeddings and --unlabeled as well.")
    if options.embeddings and options.unlabeled and not options.embeddings_unlabeled:
        raise bad_option(
            "--embeddings",
            "needs the embeddings of the texts of --unlabeled as well; give --embeddings-unlabeled.",
        )


class Validation(NamedTuple):
    """Rows on which ``--validation`` measures a model, and how many were left out for want of a label."""

    rows: Batch
    y: "np.ndarray"
    weights: list[float] | None
    left_out: int = 0


def _split(
    labelled: Batch, y: "np.ndarray | None", numbers: "np.ndarray", groups: "np.ndarray | None", run: TrainRun
) -> "tuple[np.ndarray, Validation | None]":
    """Return which rows to train on and, if ``--validation`` is given, those to measure on.

    Both have the same shares of the numbers, as far as possible.

    Texts of a group are either all trained on or all measured on; a group is drawn like its first text.
    """
    import numpy as np

    from dropglm.search.held_out import group_numbers

    rows, options = np.arange(len(numbers)), run.options
    if options.validation_column is not None:
        unit_of = rows if groups is None else group_numbers(groups)
        marked = np.array([_is_true(value, options) for value in labelled.others[options.validation_column]])
        is_held_out = np.isin(unit_of, unit_of[marked])
        if is_held_out.all() or not is_held_out.any():
            which = "no row" if not is_held_out.any() else "every row"
            raise BadInputError(
                f"{run.source}: {which} with a label is true in the column {options.validation_column!r}; "
                "hold out some rows, and leave others for training."
            )
        return np.flatnonzero(~is_held_out), _held_out(labelled, y, np.flatnonzero(is_held_out), run)
    if options.validation is None:
        return rows, None
    try:
        fraction = float(options.validation)
    except ValueError:
        if options.embeddings:
            raise bad_option(
                "--validation",
                "needs a fraction if --embeddings is given; dropglm evaluate takes embeddings for another "
                "table.",
            ) from None
        other = replace(run.table, path=options.validation, keep=(), format=None)
        read, without = read_labelled(other)
        several = tables.has_lists([*read.labels, *labelled.labels])
        of_other = (
            tables.to_classes(read.labels, several=several),
            row_weights(other, read),
            len(without.texts),
        )
        return rows, Validation(read, *of_other)
    if not 0.0 < fraction < 1.0:
        raise bad_option("--validation", "a fraction must be between 0 and 1.")
    unit_of = rows if groups is None else group_numbers(groups)
    units, first = np.unique(unit_of, return_index=True)
    counts = Counter(numbers[first].tolist())
    n_held_out = math.ceil(fraction * len(units))
    n_train = len(units) - n_held_out
    stratified = min(counts.values()) > 1
    needed = len(counts) if stratified else 1
    if min(n_train, n_held_out) < needed:
        advice = "smaller" if n_train < n_held_out else "larger"
        what = "texts" if groups is None else "groups of texts"
        raise BadInputError(
            f"--validation {fraction} of {len(units)} {what} leaves {n_train} for training and {n_held_out} "
            f"for evaluation; each needs at least {needed}. Choose a {advice} fraction or a separate table."
        )
    from sklearn.model_selection import train_test_split

    drawn = train_test_split(
        units,
        test_size=n_held_out,
        random_state=options.seed,
        stratify=numbers[first] if stratified else None,
    )
    ours, held_out = drawn if groups is None else (np.flatnonzero(np.isin(unit_of, some)) for some in drawn)
    return ours, _held_out(labelled, y, held_out, run)


def _held_out(labelled: Batch, y: "np.ndarray | None", rows: "np.ndarray", run: TrainRun) -> Validation:
    """Return some rows of the table to measure on."""
    assert y is not None
    measured = labelled.take(rows.tolist())
    return Validation(measured, y[rows], row_weights(run.table, measured))


def _is_true(value: Any, options: TrainOptions) -> bool:
    """Return what a value of the column of held-out rows says; one that is missing is false."""
    name = str(value).strip().lower()
    if value is not None and name not in TRUE_OR_FALSE:
        raise BadInputError(
            f"The column {options.validation_column!r} must be true or false in each row, got {value!r}."
        )
    return TRUE_OR_FALSE.get(name, False)


def _held_out_metrics(
    model: "TextClassifier", y: "np.ndarray", weights: list[float] | None
) -> "Metrics | MultilabelMetrics | None":
    """Return the metrics of cross-validation over the texts that were held out; None without tuning."""
    import numpy as np

    from dropglm.text.metrics import metrics_of

    probabilities = getattr(model, "cv_probabilities_", None)
    if probabilities is None:
        return None
    rows = np.flatnonzero(~np.isnan(probabilities[:, 0]))
    kept = None if weights is None else np.asarray(weights)[rows]
    return metrics_of(model, y[rows], probabilities[rows], kept)


def _suspicious_labels(
    model: "TextClassifier", texts: Sequence[str], y: "np.ndarray", rows: "np.ndarray"
) -> "list[Disagreement] | None":
    """Return the texts whose labels are suspicious, with their rows in the table; None without tuning."""
    from dropglm.text import suspicious_labels

    probabilities = getattr(model, "cv_probabilities_", None)
    if probabilities is None:
        return None
    found = suspicious_labels(texts, y, probabilities, model.classes_, k=None)
    return [one._replace(row=int(rows[one.row])) for one in found]


def _write_suspicious(path: str, found: "list[Disagreement] | None") -> None:
    """Write texts with suspicious labels as a table, in a format that follows from the name of the file."""
    from dropglm.text.metrics import Disagreement

    if found is None:
        terminal.message(f"warning: {path} was not written, since no settings were tuned.")
        return
    entries = terminal.disagreements_to_json(found)
    columns = {name: [entry[name] for entry in entries] for name in Disagreement._fields}
    tables.write(columns, path)


def _print_comparison(comparison: "Comparison") -> None:
    """Print the scores of a model and of the baseline."""

    def row(name: str, scores: "Scores", sign: str = "") -> tuple[str, ...]:
        numbers = (f"{score.mean:{sign}.4f} ± {score.standard_error:.4f}" for score in scores)
        return name, *numbers

    terminal.print_table(
        f"Comparison over {comparison.folds} folds, with settings chosen on the training texts of each fold",
        ("method", "accuracy", "log loss"),
        (
            row("dropglm", comparison.model),
            row("tf-idf and logistic regression", comparison.baseline),
            row("difference", comparison.difference, "+"),
        ),
    )


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
    if options.class_weight is not None:
        check_name("--class-weight", options.class_weight, ("balanced",))
    if options.stop_words is not None:
        check_name("--stop-words", options.stop_words, ("english",))


def _check_scoring(scoring: str, labels: "np.ndarray") -> None:
    """Refuse a scorer that these labels do not suit, such as f1, which needs the labels 0 and 1."""
    import numpy as np
    from sklearn.dummy import DummyClassifier
    from sklearn.metrics import get_scorer

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
    if options.precision is not None and not 0.0 < options.precision < 1.0:
        raise bad_option("--precision", "must be between 0 and 1.")
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
        "characters": CHARACTERS if options.characters else None,
        "min_df": (1, 2) if options.min_df is None else options.min_df,
        "n_latent": options.latent,
        "cv": options.folds,
        "n_jobs": options.threads,
        "random_state": options.seed,
    }


def _ngram_range(given: str) -> tuple[int, int]:
    first, _, last = given.replace(",", "-").rpartition("-")
    if not (last.isdecimal() and (first or "1").isdecimal()) or not 1 <= int(first or 1) <= int(last) <= 50:
        raise bad_option("--ngrams", f"must be a number from 1 to 50 or a range such as 1-2, got {given!r}.")
    return int(first or 1), int(last)


def _train_dask(run: TrainRun, address: str, settings: dict[str, Any]) -> None:
    """Fit a classifier to the rows of all tables, which the workers of a cluster read, and save it.

    Tables without labels may have another column of texts, and have the format that their names say.
    """
    options, table, quiet = run.options, run.table, run.options.quiet
    settings["embedder"] = _embedder(options)
    files.check_columns(table.text, table.label, table.keep, table.weight)
    scheme, _, place = address.partition("://")
    if address != "local" and not (scheme and place.rpartition(":")[2].isdecimal()):
        raise bad_option("--dask", f"must be local or an address such as tcp://HOST:8786, got {address!r}.")
    unlabeled = [str(path) for path in options.unlabeled or ()]
    if "-" in (run.table.path, *unlabeled):
        raise bad_option("--dask", "standard input cannot be read by several processes.")
    labelled = [replace(one, path=os.path.abspath(str(one.path))) for one in run.tables]
    other = files.unlabelled(table, options.unlabeled_text)
    more = [replace(other, path=os.path.abspath(path)) for path in tables.find_files(unlabeled)]
    out, checkpoint = options.out, options.checkpoint
    files.check_distinct([("--out", out)], [file.name for file in (*labelled, *more)])
    if checkpoint is not None and checkpoint.resolve() in out.resolve().parents:
        raise bad_option(
            "--out",
            f"{out} is in the folder of --checkpoint, which is removed after the training; choose another "
            "one.",
        )
    from dropglm.dask import TextClassifier
    from dropglm.dask.collections import table_partitions
    from dropglm.dask.engine import DaskEngine, connected
    from dropglm.places.partitions.checkpoint import remove_checkpoint

    # After an interrupt, a local scheduler may fail to forget tasks that nobody wants; it ends anyway.
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)
    with _explaining_workers(), connected(address) as client:
        if not quiet:
            terminal.message(_dashboard(client))
        engine = DaskEngine(client)
        model = TextClassifier(**settings)
        model._columns = table.row_of
        begin_stage(f"Reading {plural(len(labelled) + len(more), 'file')}")
        parts, n_without = table_partitions(engine, labelled)
        others = table_partitions(engine, more)[0] if more else []
        model.fit_parts(engine, parts, others, checkpoint)
    local = model.to_local()
    run.save(local)
    remove_checkpoint(checkpoint)
    run.report(
        local,
        run.lines_about_rows(n_without),
        rows_without_label=n_without,
        validation=None,
        suspicious_labels=None,
        baseline=None,
    )


def _dashboard(client: "Client") -> str:
    """Return a sentence with the address of Dask's dashboard and the size of the cluster."""
    threads = client.nthreads().values()
    size = f"{plural(len(threads), 'worker')}, {plural(sum(threads), 'thread')}"
    needs = "" if find_spec("bokeh") else " (it needs bokeh on the scheduler)"
    return f"Dask runs with {size}; its dashboard is {client.dashboard_link}{needs}."


@contextmanager
def _explaining_workers() -> Iterator[None]:
    """Turn errors of workers into errors with a sentence."""
    try:
        yield
    except TimeoutError as error:
        if str(error):
            raise
        raise ClusterError("Dask did not answer in time; the machine may be too busy. Try again.") from error
    except ImportError as error:
        if error.name is None:
            raise
        raise BadInputError(
            f"a Dask worker cannot import {error.name}; install the same packages on all machines."
        ) from error
