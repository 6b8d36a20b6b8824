"""``dropglm train --online``: from a stream of rows to a model file, in constant memory.

This module is imported when it is needed, and with it what online learning needs of the library.
"""

import time
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

from dropglm.base.model_files import ModelFileError
from dropglm.base.progress import Progress, begin_stage
from dropglm.cli import terminal
from dropglm.cli.errors import BadInputError
from dropglm.cli.files import check_columns, check_output
from dropglm.cli.options import bad_option, check_name, option_name
from dropglm.cli.training import TrainOptions, TrainRun
from dropglm.core.online import RULES
from dropglm.linear.online_model import OnlineModel
from dropglm.tables import Table, class_names
from dropglm.text.fitted_model import FittedTextModel, load_fitted_model
from dropglm.text.labels import warn_about_classes
from dropglm.text.online_text_model import (
    MOST_LISTED,
    OnlineTextModel,
    OnlineTraining,
    find_classes,
    table_settings,
)

BAD_ROWS = ("stop", "skip")
FIRST_LINE = 100  # rows
SLOWER = 4.0  # how many times as long as reading a table, roughly, learning from it takes


def train_online(run: TrainRun, ngram_range: tuple[int, int]) -> None:
    """Learn from the table row by row, show progressive figures and save the model."""
    options = run.options
    start_from, checkpoint = options.start_from, options.checkpoint
    l2, *more = options.l2 or [0.0]
    if more or not 0.0 <= l2 < float("inf"):
        raise bad_option("--l2", "must be one number that is not negative.")
    settings = {
        **{name: getattr(options, name) for name in ("rule", "rate", "bits", "lowercase", "strip_html")},
        "l2": l2,
        "ngram_range": ngram_range,
    }
    check_name("--bad-rows", options.bad_rows, BAD_ROWS)
    check_name("--rule", options.rule, RULES)
    base = None if start_from is None else load_fitted_model(start_from, trust=options.trust)
    run = _with_columns_of(base, run)
    source = run.table
    _check(source, options)
    model = _model(settings, base, run)
    model.n_jobs = options.threads
    origin = table_settings(source)
    origin["start_from"] = 0 if start_from is None else zlib.crc32(start_from.read_bytes())
    if checkpoint is not None and checkpoint.exists():
        training, rows = _resume(checkpoint, model, options, origin), None
    else:
        training, rows = _start(model, run, origin)

    def skipped(sentence: str) -> None:
        if training.bad_rows <= MOST_LISTED:
            terminal.message(f"skipped: {sentence}")
        if training.bad_rows == MOST_LISTED:
            terminal.message("further bad rows are counted but not listed.")

    saved = training.row
    is_new, rows_before = not (training.epoch or training.row), training.model.model.t_
    begin_stage("Learning")
    with ProgressiveFigures(training, rows) as figures:
        on_bad = skipped if options.bad_rows == "skip" else None
        for _ in training.learn(source, epochs=options.epochs, on_bad=on_bad):
            figures.update()
            if checkpoint is not None and not 0 <= training.row - saved < options.every:
                training.save(checkpoint)
                saved = training.row
    if is_new and training.model.model.t_ == rows_before:
        raise BadInputError(
            f"{source.name}: no row has one of the classes {', '.join(training.class_names)}."
        )
    if training.sorted_by_class:
        terminal.message(
            "warning: the rows are sorted by class; shuffle the table, since online learning needs mixed "
            "classes."
        )
    run.save(training.model)
    if checkpoint is not None:
        checkpoint.unlink(missing_ok=True)
    lines = [("bad rows", f"{training.bad_rows:,} skipped")] if training.bad_rows else []
    lines += terminal.without_label(training.unlabeled_rows, "skipped")
    run.report(
        training.model,
        lines,
        rows_without_label=training.unlabeled_rows,
        bad_rows=training.bad_rows,
        first_bad_rows=training.first_bad_rows,
    )


def _check(source: Table, options: TrainOptions) -> None:
    """Refuse options that cannot work, before any work."""
    if not (options.rate is None or 0.0 < options.rate < float("inf")):
        raise bad_option("--rate", "must be a finite number above 0.")
    if options.epochs > 1 and not _is_file(source):
        raise bad_option("--epochs", "a pipe can be read only once.")
    if options.checkpoint is not None:
        check_output(options.checkpoint, "--checkpoint", regular=True)


def _with_columns_of(base: FittedTextModel | None, run: TrainRun) -> TrainRun:
    """Let the run read the columns that the model to continue from was trained with, unless given."""
    text = base.text_column_ if base is not None and "text" not in run.given else None
    label = base.label_column_ if base is not None and "label" not in run.given else None
    table = replace(run.table, text=text or run.table.text, label=label or run.table.label)
    check_columns(table.text, table.label, weight=table.weight)
    return replace(run, tables=[table])


def _model(settings: dict[str, Any], base: FittedTextModel | None, run: TrainRun) -> OnlineTextModel:
    """Return a new model, or the one to continue from."""
    if base is None:
        return OnlineTextModel.new(settings)
    fixed = {"classes", "bits", "ngrams", "lowercase", "strip_html"}
    fixed |= {"rule", "l2"} if isinstance(base, OnlineTextModel) else set()
    run.refuse(fixed, f"is already set by {run.options.start_from}.")
    if isinstance(base, OnlineTextModel):
        if "rate" in run.given:
            base.model.rate = settings["rate"]
        return base
    steps = {name: settings[name] for name in ("rule", "rate", "l2")}
    return OnlineTextModel.start_from(base, OnlineModel(**steps))


def _start(
    model: OnlineTextModel, run: TrainRun, origin: dict[str, Any]
) -> tuple[OnlineTraining, int | None]:
    """Return a training at its start, and the number of rows to learn from, if it is known."""
    source, options, rows = run.table, run.options, None
    if not model.is_new:
        return OnlineTraining(model, origin), rows
    if options.classes is not None:
        names = _split_classes(options.classes)
    elif _is_file(source):
        begin_stage(f"Finding the classes of {source.name}")
        start = time.perf_counter()
        counts = find_classes(source, skip_bad=options.bad_rows == "skip")
        names, rows = sorted(counts), options.epochs * counts.total()
        run.stages.plan([("Learning", SLOWER * options.epochs * (time.perf_counter() - start))])
    else:
        raise bad_option("--classes", "must list all labels, since a pipe can be read only once.")
    warn_about_classes(dict.fromkeys(names))
    return OnlineTraining.start(model, names, origin), rows


def _resume(
    checkpoint: Path, model: OnlineTextModel, options: TrainOptions, origin: dict[str, Any]
) -> OnlineTraining:
    """Return the training of the checkpoint, unless it was made with other settings."""
    hint = f"remove {checkpoint} to start again"
    try:
        training = OnlineTraining.load(checkpoint, trust=options.trust)
    except ModelFileError as error:
        raise BadInputError(
            f"{str(error).removesuffix('.')}, so it is not a checkpoint; name another file with --checkpoint."
        ) from None
    theirs = training.model.current_settings | training.origin
    for name, value in sorted((model.current_settings | origin).items()):
        before = tuple(theirs[name]) if isinstance(theirs.get(name), list) else theirs.get(name)
        if before != value:
            option = option_name("ngrams" if name == "ngram_range" else name)
            raise BadInputError(f"{checkpoint} was made with a different {option}; {hint}.")
    if options.classes is not None and set(_split_classes(options.classes)) != set(training.class_names):
        classes = ",".join(training.class_names)
        raise BadInputError(f"{checkpoint} was made with the classes {classes}; {hint}.")
    if training.epoch >= options.epochs:
        raise BadInputError(
            f"{checkpoint} has already completed {training.epoch} pass{'' if training.epoch == 1 else 'es'}; "
            f"raise --epochs, or {hint}."
        )
    training.model.n_jobs = model.n_jobs
    place = f"row {training.row:,}" + (f" of pass {training.epoch + 1}" if options.epochs > 1 else "")
    terminal.message(f"resuming from {checkpoint}, after {place}.")
    return training


def _split_classes(classes: str) -> list[str]:
    names = class_names(label.strip() for label in classes.split(","))
    if len(set(names)) < max(2, len(names)) or not all(names):
        raise bad_option("--classes", "must be two or more different labels, such as neg,pos.")
    return names


def _is_file(source: Table) -> bool:
    """Return whether the table can be read twice; a missing file is reported when it is opened."""
    path = Path(str(source.path))
    return source.path != "-" and (path.is_file() or not path.exists())


class ProgressiveFigures(Progress):
    """Progressive accuracy and log loss during training.

    One line is written whenever the number of rows has doubled.
    """

    HEADER = f"{'rows':>12} {'accuracy':>9} {'since last':>11} {'log loss':>9} {'bad rows':>9} {'rows/s':>9}"

    def __init__(self, training: OnlineTraining, rows: int | None) -> None:
        super().__init__("rows", rows, shown=False)
        self.training = training
        self.rows_at_start = training.model.model.t_
        self.next_line = FIRST_LINE
        self.counts_at_last_line = self.training.progressive_counts

    def __enter__(self) -> Self:
        super().__enter__()
        self._skip_to_next_line()
        self.write(self.HEADER)
        return self

    def update(self) -> None:
        """Show the figures after another batch."""
        rows = self.training.model.model.t_
        if rows >= self.next_line:
            self.write(self._figures())
            self.counts_at_last_line = self.training.progressive_counts
            self._skip_to_next_line()
        self.advance(rows - self.rows_at_start - self.done)

    def _skip_to_next_line(self) -> None:
        while self.next_line <= self.training.model.model.t_:
            self.next_line *= 2

    def _figures(self) -> str:
        model = self.training.model.model
        weight, right = self.training.progressive_counts
        weight, right = weight - self.counts_at_last_line[0], right - self.counts_at_last_line[1]
        since = f"{right / weight:.4f}" if weight else ""
        speed = (model.t_ - self.rows_at_start) / max(self.clock() - self.start, 1e-9)
        return (
            f"{model.t_:>12,} {model.progressive_accuracy_:>9.4f} {since:>11} "
            f"{model.progressive_log_loss_:>9.4f} {self.training.bad_rows:>9,} {speed:>9,.0f}"
        )

    def __exit__(self, kind: object, *error: object) -> None:
        if self.training.progressive_counts[0] > self.counts_at_last_line[0]:
            self.write(self._figures())
        super().__exit__(kind, *error)
