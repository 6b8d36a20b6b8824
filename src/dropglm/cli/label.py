"""``dropglm label``: a page in the browser, from a table of texts to labels and a model."""

import atexit
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dropglm.base.errors import InputError
from dropglm.base.progress import Stages, begin_stage, plural
from dropglm.cli import options, terminal
from dropglm.cli.errors import naming_table
from dropglm.cli.files import check_columns, check_distinct, check_output
from dropglm.cli.options import MODEL, OUTPUT, SERVER, TABLES, File, bad_option, share
from dropglm.tables import Table
from dropglm.tables.formats import check_file_exists
from dropglm.web import require_server

if TYPE_CHECKING:
    from dropglm.labelling.session import LabellingSession
    from dropglm.text.encoders import Encoder
    from dropglm.text.fitted_model import FittedTextModel

SUFFIX = ".labels.jsonl"
# Seconds after which a thread that computes lets another one run. With Python's own 0.005, each of the few
# changes of threads between a key press and the next text may wait that long.
SWITCH_INTERVAL = 0.0005
AUTO = "auto"
MOST_TEXTS = 50_000  # that are embedded unless it is asked for; this takes about two minutes of a core


@dataclass(frozen=True)
class LabelOptions:
    """The arguments of ``dropglm label``, in the order of its help."""

    table: Annotated[str, typer.Argument(help="Table with texts to label."), File.READ]
    text: options.Text = "text"
    label: str | None = TABLES.field(
        "Column with labels that some texts have already; they are used to start with.", "--label", "-l"
    )
    show: str | None = TABLES.field(
        "Further columns that the page shows with each text, separated by commas; the model does not see "
        "them."
    )
    classes: str | None = MODEL.field(
        "Names of the classes, separated by commas; more can be added on the page.", "--classes", "--labels"
    )
    out: Path | None = OUTPUT.field(
        "File in which all answers are stored; by default beside the table, with the suffix .labels.jsonl. "
        "If it exists, labelling continues.",
        "--out",
        "-o",
        file=File.WRITTEN,
    )
    model: Path | None = MODEL.field(
        "Model file whose guesses are used while there are few labels.", file=File.READ
    )
    only_open: bool = MODEL.field(
        "Ask only for texts that --model leaves open, the worst first, and for the random share.",
        default=False,
    )
    max_error: float | None = MODEL.field(
        "Share of the answers of --model that may be wrong, with --only-open; by default 0.05. Texts are "
        "open where it is not sure enough.",
        callback=share,
    )
    confidence: float | None = MODEL.field(
        "How sure --max-error is, with --only-open; by default 0.9.", callback=share
    )
    embedder: str = MODEL.field(
        "Encoder that computes an embedding of each text, in the background: auto (use, if it is installed "
        f"and there are at most {MOST_TEXTS:,} texts), none, or what dropglm train takes.",
        default=AUTO,
    )
    trust: options.Trust = False
    random_share: float = MODEL.field(
        "Share of the texts that are drawn at random, not chosen by the model; they give the estimate of "
        "accuracy.",
        default=0.2,
        min=0.0,
        max=1.0,
    )
    port: options.Port = None
    host: options.Host = "127.0.0.1"
    browser: bool = SERVER.field("Open the page in the browser.", default=True)
    format: options.Format = None
    encoding: options.Encoding = None
    delimiter: options.Delimiter = None
    threads: options.Threads = -1
    quiet: options.Quiet = False


@options.with_options(LabelOptions)
def label(_: typer.Context, chosen: LabelOptions) -> None:
    """Label texts in the browser, with a model that learns while you label.

    Every answer is stored at once. Stop with Ctrl-C; the same command continues.
    """
    require_server("Labelling in the browser needs")
    if chosen.table == "-":
        raise bad_option("TABLE", "standard input is not supported; name a file.")
    check_columns(chosen.text, chosen.label)
    check_file_exists(chosen.table)
    names = _class_names(chosen.classes)
    _check_only_open(chosen)
    journal = chosen.out or default_journal(chosen.table)
    check_distinct([("--out", journal)], [chosen.table, chosen.model])
    check_output(journal, "--out", regular=True)

    with Stages(shown=not chosen.quiet) as stages:
        from dropglm.labelling.output_files import Exports
        from dropglm.labelling.session import LabellingSession
        from dropglm.web.application import AllowedHosts, application, page_token
        from dropglm.web.label_page import LabelPage
        from dropglm.web.running import address_of, listen, open_browser, run

        source = Table(
            chosen.table,
            chosen.text,
            chosen.label,
            keep=_columns(chosen.show),
            optional_text=True,
            format=chosen.format,
            encoding=chosen.encoding,
            delimiter=chosen.delimiter,
        )
        texts, known, n_without, shown = texts_and_labels(source)
        embedder = embedder_for(chosen.embedder, len(texts))
        start_from = None if chosen.model is None else _start_model(chosen.model, texts, trust=chosen.trust)
        order = None
        if chosen.only_open and start_from is not None:
            order = open_texts(start_from, texts, chosen.max_error or 0.05, chosen.confidence or 0.9)
        with listen(chosen.host, chosen.port) as listener:
            begin_stage("Preparing the texts")
            with (
                naming_table(chosen.table),
                LabellingSession(
                    texts,
                    journal,
                    classes=names,
                    labels=known,
                    start_from=start_from,
                    embedder=embedder,
                    random_share=chosen.random_share,
                    order=order,
                ) as session,
            ):
                atexit.register(_end_now, session)
                exports = Exports(session, _stem(journal), source, n_jobs=chosen.threads)
                # The start model may be one that was exported: it is in memory by now.
                paths = journal, *exports.paths.values()
                check_distinct([("--out", path) for path in paths], [chosen.table])
                for path in exports.paths.values():
                    check_output(path, "--out")
                token = page_token(str(journal.resolve()))
                page = LabelPage(session, exports, Path(chosen.table).name, shown)
                app = application(page.routes(), AllowedHosts(chosen.host), token=token, log=False)
                address = address_of(listener, chosen.host, token)
                stages.close()
                if n_without:
                    terminal.message(f"skipped {plural(n_without, 'row')} without a text.")
                if order is not None:
                    copy_of = session.answers.numbers.copy_of
                    left = len({copy_of[number] for number in order if session.is_free(number)})
                    terminal.message(f"{plural(left, 'open text')} without an answer.")
                for notice in session.notices:
                    terminal.message(notice)
                print(f"Answers are stored in {journal} ({_n_labels(session)} so far).")
                print(f"Open {address}", flush=True)
                if chosen.browser:
                    open_browser(address)
                before = sys.getswitchinterval()
                sys.setswitchinterval(SWITCH_INTERVAL)
                try:
                    run(app, listener)
                finally:
                    sys.setswitchinterval(before)
                n_labels = _n_labels(session)
            print(f"{n_labels} in {journal}; run the command again to continue.")


def _check_only_open(chosen: LabelOptions) -> None:
    if chosen.only_open and chosen.model is None:
        raise bad_option("--only-open", "needs --model, whose open texts are asked for.")
    for option, value in (("--max-error", chosen.max_error), ("--confidence", chosen.confidence)):
        if value is not None and not chosen.only_open:
            raise bad_option(option, "can be used only with --only-open.")


def open_texts(model: "FittedTextModel", texts: list[str], max_error: float, confidence: float) -> list[int]:
    """Return the numbers of the texts that a model leaves open, the least sure first, and say how many."""
    begin_stage("Looking for open texts")
    rule, p = model.selective(max_error, confidence), model.predict_proba(texts)
    terminal.message(f"{'; '.join(str(rule).splitlines())}.")
    is_open = ~rule.answers(p)
    order = [number for number in p.max(axis=1).argsort(kind="stable").tolist() if is_open[number]]
    terminal.message(f"left open: {len(order):,} of {plural(len(texts), 'text')}.")
    if not order:
        raise InputError("The model leaves no text open; a smaller --max-error leaves more.")
    return order


def embedder_for(chosen: str, n_texts: int) -> "Encoder | None":
    """Return the encoder that is chosen, or None; it is loaded when the first text is embedded."""
    from dropglm.text.encoders import encoder_of, is_installed

    if chosen == AUTO:
        return encoder_of("use") if n_texts <= MOST_TEXTS and is_installed("use") else None
    return None if chosen == options.NO_EMBEDDER else encoder_of(chosen)


def _n_labels(session: "LabellingSession") -> str:
    return plural(len(session.answers.class_numbers()), "label")


def _end_now(session: "LabellingSession") -> None:
    """End the process at once if features are still being computed, for which Python would wait."""
    if not session.has_ended:
        sys.stdout.flush()
        os._exit(0)


def default_journal(table: str) -> Path:
    """Return the file of answers beside a table.

    Examples
    --------
    >>> default_journal("data/reviews.csv.gz").name
    'reviews.labels.jsonl'
    """
    path = Path(table)
    name = path.name
    for suffix in reversed(path.suffixes[-2:]):  # the format, and the compression if there is one
        name = name.removesuffix(suffix) or name
    return path.with_name(name + SUFFIX)


def _stem(journal: Path) -> Path:
    """Return what the names of exported files start with."""
    name = journal.name
    return journal.with_name(name.removesuffix(SUFFIX) if name.endswith(SUFFIX) else journal.stem)


def _class_names(given: str | None) -> list[str]:
    from dropglm.labelling.answers import checked_name

    names = given.split(",") if given is not None else []
    if not all(map(str.strip, names)):
        raise bad_option("--classes", "must be names separated by commas.")
    if any(name.endswith(".jsonl") for name in names):
        raise bad_option("--classes", "has the name of a file; --out says where answers are stored.")
    with options.refusing("--classes"):
        names = list(map(checked_name, names))
    if len(set(names)) < len(names):
        raise bad_option("--classes", "a class is named twice.")
    return names


def _columns(given: str | None) -> tuple[str, ...]:
    names = [] if given is None else [name.strip() for name in given.split(",")]
    if not all(names):
        raise bad_option("--show", "must be names of columns separated by commas.")
    return tuple(dict.fromkeys(names))


def texts_and_labels(
    table: Table,
) -> tuple[list[str], dict[int, str], int, dict[str, list[str | None]]]:
    """Return the texts, the labels that some have, the number of rows without text, and further columns."""
    from dropglm.labelling.output_files import has_text

    begin_stage(f"Reading {table.name}")
    read = table.read()
    rows = [row for row, text in enumerate(read.texts) if has_text(text)]
    given = enumerate([read.labels[row] for row in rows] if read.labels else [])
    known = {number: name for number, name in given if name is not None}
    others = {name: [column[row] for row in rows] for name, column in read.others.items()}
    return [read.texts[row] for row in rows], known, len(read.texts) - len(rows), others


def _start_model(path: Path, texts: list[str], *, trust: bool) -> "FittedTextModel":
    from dropglm.text.fitted_model import load_fitted_model

    model = load_fitted_model(path, trust=trust)
    with naming_table(str(path)):
        if model.multilabel_:
            raise InputError("the model predicts several labels per text; labelling asks for one per text.")
        model.predict_proba(texts[:1])  # a model that needs embeddings cannot be used
    return model
