"""Options: how commands declare, check and refuse them, and those that several commands share."""

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import field, fields
from enum import Enum, auto
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
from typer.core import TyperCommand, TyperOption

from dropglm.base.registry import lookup
from dropglm.tables.formats import check_delimiter, find_format
from dropglm.tables.lines import find_codec

LABEL_SEPARATOR = ";"  # of several labels in what is written, unless a model was trained with another one
TAB_NAMES = ("\\t", "tab")

# Names that other programs give to options and commands, and ours that mean the same.
SPELLINGS = {
    **dict.fromkeys(("jobs", "n-jobs", "n-threads"), "threads"),
    **dict.fromkeys(("text-column", "text-col", "text-field"), "text"),
    **dict.fromkeys(("label-column", "label-col", "label-field", "target"), "label"),
    **dict.fromkeys(("label-sep", "label-separator"), "separator"),
    **dict.fromkeys(("sep", "field-separator"), "delimiter"),
    **dict.fromkeys(("unlabelled", "unlabeled-data"), "unlabeled"),
    **dict.fromkeys(("proba", "probas", "probs"), "probabilities"),
    **dict.fromkeys(("random-state", "random-seed"), "seed"),
    **dict.fromkeys(("weight-column", "sample-weight"), "weight"),
    **dict.fromkeys(("info", "inspect"), "explain"),
    **dict.fromkeys(("test", "score"), "evaluate"),
    **dict.fromkeys(("fit", "learn"), "train"),
    "output": "out",
    "output-format": "out-format",
    "ngram-range": "ngrams",
    "cv": "folds",
    "annotate": "label",
    "classify": "predict",
}
# Options of other programs, and earlier ones of ours, that stand for one of ours with a value or, if they are
# followed by an argument or ask for what is done anyway, for nothing. Some mean this in one command only.
SHORTHANDS: dict[str, tuple[str, ...]] = {
    "--balanced": ("--class-weight", "balanced"),
    "--labels-only": ("--out-format", "txt"),
    **dict.fromkeys(("--input", "--data", "train --multilabel"), ()),
    **dict.fromkeys(("evaluate --report", "evaluate --confusion-matrix", "evaluate --errors"), ()),
    "explain --label": ("--class",),
}
# What to do in place of options that other programs have.
ADVICE = {
    "train -C": "is the inverse of our --l2: for C = 10, give --l2 0.1.",
    "train --test-size": "is --validation 0.2 here.",
    "predict --threshold": "see --max-error, which leaves texts open where too many answers would be wrong.",
    **dict.fromkeys(
        ("label --separator", "label --multilabel"),
        "texts have one class each here; for several labels, ask for one at a time, such as "
        "--classes music,other --out music.labels.jsonl.",
    ),
    "evaluate --metric": "all measures are reported; --json has their names.",
    "evaluate --cv": "dropglm train reports the scores of cross-validation; evaluate measures a model.",
}

Options = TypeVar("Options")
Command = Callable[[typer.Context, Options], None]


class Panel(str):
    """The title of a panel of the help, which shows options in panels."""

    def option(self, help: str, *names: str, **settings: Any) -> Any:
        """Return an option of this panel."""
        return typer.Option(*names, help=help, rich_help_panel=str(self), **settings)

    def field(
        self, help: str, *names: str, default: Any = None, file: "File | None" = None, **settings: Any
    ) -> Any:
        """Return an option of this panel as a field of a dataclass; see ``with_options``."""
        chosen = self.option(help, *names, **settings)
        return field(default=default, metadata={"typer": (chosen,) if file is None else (chosen, file)})


TABLES, OUTPUT, MODEL, TUNING = Panel("Tables"), Panel("Output"), Panel("Model"), Panel("Tuning")
ONLINE, DASK, SERVER = Panel("Online"), Panel("Dask"), Panel("Server")


class File(Enum):
    """What a command does with the file that a parameter names; ``distinct_files`` goes by it."""

    READ = auto()
    WRITTEN = auto()


def our_spelling(name: str) -> str:
    """Return our name of an option or a command; names may have underscores, as in Python.

    Examples
    --------
    >>> our_spelling("n_jobs"), our_spelling("max_df")
    ('threads', 'max-df')
    """
    name = name.replace("_", "-")
    return SPELLINGS.get(name, name)


def option_name(parameter: str) -> str:
    """Return the option that sets a parameter of a command."""
    return f"--{parameter.replace('_', '-')}"


def bad_option(option: str, why: str) -> typer.BadParameter:
    """Return the error about an option, or an argument, that cannot be used."""
    return typer.BadParameter(why, param_hint=option)


@contextmanager
def refusing(option: str | None = None) -> Iterator[None]:
    """Turn an error about a value into one about an option, by default the one whose callback this is."""
    try:
        yield
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint=option) from None


def check_name(option: str, name: str, names: Iterable[str]) -> None:
    """Refuse a name that is not among these, and suggest the nearest one."""
    with refusing(option):
        lookup(dict.fromkeys(names), name, option.lstrip("-"))


def with_options(
    kind: type[Options], *, common: Collection[str] | None = None
) -> Callable[[Command[Options]], Callable[..., None]]:
    """Give a command the fields of a dataclass as its parameters; it is called with an instance.

    If ``common`` options are named, the help shows only these.
    """

    def decorate(command: Command[Options]) -> Callable[..., None]:
        @wraps(command)
        def called(context: typer.Context, **values: Any) -> None:
            command(context, kind(**values))

        parameters = [Parameter("context", Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)]
        given = signature(kind).parameters
        for each in fields(kind):  # type: ignore[arg-type]
            info = each.metadata.get("typer")
            annotation = Annotated[each.type, *info] if info else each.type
            parameters.append(given[each.name].replace(annotation=annotation))
        called.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
        called.common_options = common  # type: ignore[attr-defined]
        return called

    return decorate


def _checked_by(check: Callable[[str], object]) -> Callable[[str | None], str | None]:
    """Return a callback that refuses the values for which the check raises an error."""

    def callback(given: str | None) -> str | None:
        if given is not None:
            with refusing():
                check(given)
        return given

    return callback


_check_format = _checked_by(lambda given: find_format("", given))
_check_encoding = _checked_by(find_codec)


def _delimiter(given: str | None) -> str | None:
    return "\t" if given in TAB_NAMES else _checked_by(check_delimiter)(given)


def check_separator(given: str | None) -> str | None:
    """Refuse a separator of labels that is blank."""
    if given is not None and not given.strip():
        raise typer.BadParameter("must not be blank.")
    return given


def _not_zero(given: int) -> int:
    if given == 0:
        raise typer.BadParameter("must not be 0; 1 is one thread, -1 all cores.")
    return given


def share(given: float | None) -> float | None:
    """Refuse a share that is not between 0 and 1."""
    if given is not None and not 0.0 < given < 1.0:
        raise typer.BadParameter("must be between 0 and 1.")
    return given


# Shared by several commands.

ModelFile = Annotated[
    Path,
    typer.Argument(metavar="MODEL", help="Model file, written by dropglm train; also -m FILE."),
    File.READ,
]
TextsOrFiles = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="TEXT|FILE",
        help="Texts in quotes, or files with texts; - is standard input, with one text per line unless it "
        "begins like a table with the column of the texts or --format says so, and the default. What exists "
        "is a file, and what has a blank is a text.",
    ),
    File.READ,
]
LabelledTable = Annotated[
    str, typer.Argument(help="Table with texts and labels; - is standard input."), File.READ
]
Text = Annotated[str, TABLES.option("Column with the texts.", "--text", "-t")]
Texts = Annotated[
    str,
    TABLES.option(
        "Column with the texts; several columns are separated by commas, and each has n-grams of its own.",
        "--text",
        "-t",
    ),
]
_OF_MODEL = "by default the one that the model was trained with."
TextOfModel = Annotated[str | None, TABLES.option(f"Column with the texts; {_OF_MODEL}", "--text", "-t")]
LabelOfModel = Annotated[str | None, TABLES.option(f"Column with the labels; {_OF_MODEL}", "--label", "-l")]
SeparatorOfModel = Annotated[
    str | None,
    TABLES.option(
        f"What separates several labels of a row, such as ';'; {_OF_MODEL}", callback=check_separator
    ),
]
Weight = Annotated[
    str | None,
    TABLES.option(
        "Column with the weights of the rows, numbers of at least 0: all measures are weighted by them."
    ),
]
Format = Annotated[
    str | None,
    TABLES.option(
        "Format of the tables: csv, tsv, jsonl, parquet or txt (one text per line), optionally with a "
        "compression suffix, as in csv.gz; by default inferred from the file name.",
        callback=_check_format,
    ),
]
Encoding = Annotated[
    str | None,
    TABLES.option("Encoding of the tables, such as cp1252; by default UTF-8.", callback=_check_encoding),
]
Delimiter = Annotated[
    str | None,
    TABLES.option("Field delimiter of CSV tables; write \\t or tab for a tab.", callback=_delimiter),
]
Embeddings = Annotated[
    Path | None,
    TABLES.option("NumPy file (.npy) with the embedding of each text, in the order of the table."),
    File.READ,
]
NO_EMBEDDER = "none"
Embedder = Annotated[
    str | None,
    MODEL.option(
        "Encoder that computes an embedding of each text: use (of the extra embeddings), wordllama, "
        "model2vec:NAME, sentence-transformers:NAME, fastembed:NAME, or the local folder of a "
        "sentence-transformers or model2vec model; several with commas between them."
    ),
    File.READ,
]
Trust = Annotated[
    bool,
    MODEL.option(
        "Trust the author of the model file: accept any token pattern, any need of memory, and "
        "load the encoder that it names.",
        "--trust",
    ),
]
Json = Annotated[bool, OUTPUT.option("Write JSON to standard output.", "--json")]
Quiet = Annotated[bool, OUTPUT.option("Do not show progress on standard error.", "--quiet", "-q")]
Threads = Annotated[
    int, OUTPUT.option("Number of threads; -1 uses all cores.", "--threads", "-j", callback=_not_zero)
]
MAX_ERROR = (
    "Answer only where at most this share of the answers is wrong, such as 0.05, and leave the other texts "
    "open: {open}. It rests on held-out texts: those of train --validation or evaluate --guarantee or, as an "
    "estimate, those of cross-validation."
)
MaxError = Annotated[
    float | None,
    OUTPUT.option(MAX_ERROR.format(open="their label is empty, or null"), callback=share),
]
MaxErrorOfService = Annotated[
    float | None,
    OUTPUT.option(MAX_ERROR.format(open='their label is null, and "open" true'), callback=share),
]
Confidence = Annotated[
    float, OUTPUT.option("How sure --max-error is, over the draw of the held-out texts.", callback=share)
]
OutFormat = Annotated[
    str | None,
    OUTPUT.option(
        "Format of the output: csv, tsv, jsonl, parquet or txt (the first column only); by default "
        "taken from the suffix of --out, and jsonl for standard output.",
        callback=_check_format,
    ),
]

# Servers.

Host = Annotated[
    str,
    SERVER.option(
        "Name or address to listen on; by default only this computer can open it. 0.0.0.0 lets every "
        "computer of the network use it."
    ),
]
Port = Annotated[
    int | None,
    SERVER.option(
        "Port; by default the first free one from 8000 on. 0 is any free one.",
        "--port",
        "-p",
        min=0,
        max=65535,
    ),
]


class Subcommand(TyperCommand):
    """A command; its help shows the common options if there are many, and ``--help-all`` shows all of them.

    Commands that read a model take its file as their first argument, or as ``-m FILE`` in any place.
    """

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        # Line breaks within paragraphs are those of the source.
        self.help = re.sub(r"(?<!\n)\n(?!\n)", " ", self.help or "")

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments."""
        common = getattr(self.callback, "common_options", None)
        everything = "--help-all" in args
        if common is not None:
            options = [option for option in self.params if isinstance(option, TyperOption)]
            for option in options:
                option.hidden = not everything and option.name not in common
            self.epilog = None if everything else f"All {len(options)} options: {ctx.command_path} --help-all"
        args = ["--help"] if everything else _in_our_words(ctx.info_name, args)
        if self.params[0].name == "model":
            args = _model_first(args)
        return super().parse_args(ctx, args)


def _in_our_words(command: str, args: list[str]) -> list[str]:
    """Return the arguments of a command without the options of other programs.

    Examples
    --------
    >>> _in_our_words("evaluate", ["m.skops", "--data", "a.csv", "--report"])
    ['m.skops', 'a.csv']
    """
    end = args.index("--") if "--" in args else len(args)
    found: list[str] = []
    for one in args[:end]:
        if advice := ADVICE.get(f"{command} {one}"):
            raise bad_option(one, advice)
        found += SHORTHANDS.get(f"{command} {one}", SHORTHANDS.get(one, (one,)))
    return found + args[end:]


def _model_first(args: list[str]) -> list[str]:
    """Return the arguments with the file of ``-m FILE`` before all others."""
    for place, one in enumerate(args):
        name, _, file = one.partition("=")
        if one == "--":
            break
        if name == "--model" and file:
            return [file, *args[:place], *args[place + 1 :]]
        if one in ("-m", "--model"):
            if place + 1 == len(args):
                raise bad_option(one, "name the file of the model.")
            return [args[place + 1], *args[:place], *args[place + 2 :]]
    return args
