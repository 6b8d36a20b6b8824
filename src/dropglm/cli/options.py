"""Options of the commands: those that several commands share, and those of ``dropglm train``."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum, auto
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from dropglm.tables.formats import check_delimiter, find_format
from dropglm.tables.lines import find_codec

TABLES, OUTPUT, MODEL, TUNING = "Tables", "Output", "Model", "Tuning"
ONLINE, DASK, SERVER = "Online", "Dask", "Server"
TAB_NAMES = ("\\t", "tab")

Options = TypeVar("Options")
Command = Callable[[typer.Context, Options], None]


class File(Enum):
    """What a command does with the file that a parameter names; ``distinct_files`` goes by it."""

    READ = auto()
    WRITTEN = auto()


def option(panel: str, help: str, *names: str, **settings: Any) -> Any:
    """Return an option that the help shows in a panel."""
    return typer.Option(*names, help=help, rich_help_panel=panel, **settings)


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


def with_options(kind: type[Options]) -> Callable[[Command[Options]], Callable[..., None]]:
    """Give a command the fields of a dataclass as its parameters; it is called with an instance."""

    def decorate(command: Command[Options]) -> Callable[..., None]:
        @wraps(command)
        def called(context: typer.Context, **values: Any) -> None:
            command(context, kind(**values))

        first = Parameter("context", Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)
        called.__signature__ = Signature([first, *signature(kind).parameters.values()])  # type: ignore[attr-defined]
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


def _not_zero(given: int) -> int:
    if given == 0:
        raise typer.BadParameter("must not be 0; 1 is one thread, -1 all cores.")
    return given


# Shared by several commands.

ModelFile = Annotated[Path, typer.Argument(help="Model file, written by dropglm train."), File.READ]
LabelledTable = Annotated[
    str, typer.Argument(help="Table with texts and labels; - is standard input."), File.READ
]
Text = Annotated[str, option(TABLES, "Column with the texts.", "--text", "-t")]
TextOfModel = Annotated[
    str | None,
    option(
        TABLES, "Column with the texts; by default the one that the model was trained with.", "--text", "-t"
    ),
]
LabelOfModel = Annotated[
    str | None,
    option(
        TABLES, "Column with the labels; by default the one that the model was trained with.", "--label", "-l"
    ),
]
Format = Annotated[
    str | None,
    option(
        TABLES,
        "Format of the tables: csv, tsv, jsonl, parquet or txt (one text per line), optionally with a "
        "compression suffix, as in csv.gz; by default inferred from the file name.",
        callback=_check_format,
    ),
]
Encoding = Annotated[
    str | None,
    option(TABLES, "Encoding of the tables, such as cp1252; by default UTF-8.", callback=_check_encoding),
]
Delimiter = Annotated[
    str | None,
    option(TABLES, "Field delimiter of CSV tables; write \\t or tab for a tab.", callback=_delimiter),
]
Embeddings = Annotated[
    Path | None,
    option(TABLES, "NumPy file (.npy) with the embedding of each text, in the order of the table."),
    File.READ,
]
Embedder = Annotated[
    Path | None,
    option(
        MODEL, "Folder of a sentence-transformers or model2vec model that computes an embedding of each text."
    ),
    File.READ,
]
Trust = Annotated[
    bool,
    option(
        MODEL,
        "Trust the author of the model file: accept any token pattern, and any need of memory.",
        "--trust",
    ),
]
Json = Annotated[bool, option(OUTPUT, "Write JSON to standard output.", "--json")]
Quiet = Annotated[bool, option(OUTPUT, "Do not show progress on standard error.", "--quiet", "-q")]
Threads = Annotated[int, option(OUTPUT, "Number of threads; -1 uses all cores.", callback=_not_zero)]
OutFormat = Annotated[
    str | None,
    option(
        OUTPUT,
        "Format of the output: csv, tsv, jsonl, parquet or txt (the first column only); by default "
        "taken from the suffix of --out, and jsonl for standard output.",
        callback=_check_format,
    ),
]

# Servers.

Host = Annotated[
    str,
    option(
        SERVER,
        "Name or address to listen on; by default only this computer can open it. 0.0.0.0 lets every "
        "computer of the network use it.",
    ),
]
Port = Annotated[
    int | None,
    option(
        SERVER,
        "Port; by default the first free one from 8000 on. 0 is any free one.",
        "--port",
        "-p",
        min=0,
        max=65535,
    ),
]


@dataclass(frozen=True)
class TrainOptions:
    """The arguments of ``dropglm train``, in the order of its help."""

    tables: Annotated[
        list[str],
        typer.Argument(
            metavar="TABLE",
            help="Table with texts and labels; - is standard input. With --dask there may be several, "
            "patterns such as 'texts-*.csv' and folders.",
        ),
        File.READ,
    ]
    text: Text = "text"
    label: Annotated[str, option(TABLES, "Column with the labels.", "--label", "-l")] = "label"
    unlabeled: Annotated[
        list[Path] | None,
        option(TABLES, "Table with more texts, without labels; may be repeated.", "--unlabeled", "-u"),
        File.READ,
    ] = None
    unlabeled_text: Annotated[
        str | None,
        option(TABLES, "Column with the texts in the unlabelled tables; by default the same as --text."),
    ] = None
    embeddings: Embeddings = None
    embeddings_unlabeled: Annotated[
        list[Path] | None,
        option(TABLES, "NumPy file (.npy) with the embeddings of the texts of --unlabeled; may be repeated."),
        File.READ,
    ] = None
    embedder: Embedder = None
    out: Annotated[Path, option(OUTPUT, "Model file to write.", "--out", "-o"), File.WRITTEN] = Path(
        "model.skops"
    )
    validation: Annotated[
        str | None,
        option(
            OUTPUT,
            "Evaluate the model on held-out texts: a fraction of the table, such as 0.2, or another table.",
        ),
        File.READ,
    ] = None
    suspicious: Annotated[
        int,
        option(
            OUTPUT,
            "Number of texts to list whose label may be wrong: trained on the other folds, the model "
            "confidently predicts another class.",
            min=0,
        ),
    ] = 5
    suspicious_out: Annotated[
        str | None,
        option(OUTPUT, "Table to write with all texts whose label may be wrong, such as labels.csv."),
        File.WRITTEN,
    ] = None
    baseline: Annotated[
        bool,
        option(
            OUTPUT,
            "Compare the model with tf-idf and logistic regression on the same folds; fits both once more "
            "per fold.",
            "--baseline",
        ),
    ] = False
    ngrams: Annotated[str, option(MODEL, "Maximum n-gram length, or a range of lengths such as 2-3.")] = "2"
    min_df: Annotated[
        int | None,
        option(
            MODEL,
            "Drop n-grams that occur in fewer than this many texts; by default, n-grams of several words "
            "that occur in a single text.",
            min=1,
        ),
    ] = None
    max_df: Annotated[
        float, option(MODEL, "Drop n-grams that occur in more than this fraction of texts.", min=0.0, max=1.0)
    ] = 1.0
    max_features: Annotated[
        int | None, option(MODEL, "Keep only this many of the most frequent n-grams.", min=1)
    ] = None
    analyzer: Annotated[str, option(MODEL, "What n-grams consist of: word, char or char_wb.")] = "word"
    stop_words: Annotated[str | None, option(MODEL, "Words to leave out: english.")] = None
    lowercase: Annotated[bool, option(MODEL, "Convert texts to lower case.")] = True
    strip_html: Annotated[bool, option(MODEL, "Remove HTML tags.")] = True
    expectation: Annotated[
        str,
        option(
            MODEL, "How the expectation over dropout is computed: gaussian, quadratic, exact or monte_carlo."
        ),
    ] = "gaussian"
    balanced: Annotated[bool, option(MODEL, "Give all classes the same total weight.", "--balanced")] = False
    tune: Annotated[
        bool,
        option(TUNING, "Choose settings that have several values by cross-validation; by default only l2."),
    ] = True
    dropout: Annotated[
        list[float] | None,
        option(
            TUNING,
            "Probability that a feature is dropped. This option, --l2, --discount and --l2-weights may be "
            "repeated to give several values to choose from.",
        ),
    ] = None
    l2: Annotated[
        list[float] | None,
        option(TUNING, "Strength of the L2 penalty; with --online it applies per row: use 1e-5 or less."),
    ] = None
    discount: Annotated[
        list[float] | None,
        option(
            TUNING,
            "Weight of an unlabelled text in the noise penalty, relative to a labelled one; by default 0, "
            "or 0.1 with --no-tune.",
        ),
    ] = None
    latent: Annotated[
        int,
        option(
            TUNING,
            "Number of latent features, which are learned from all texts and describe which words occur "
            "together. Only with --unlabeled, and used only if they help texts that were held out.",
            min=0,
        ),
    ] = 50
    rounds: Annotated[
        int,
        option(
            TUNING,
            "Number of rounds in which naive Bayes also counts the unlabelled texts, with the classes that "
            "the model predicts for them; they end early if texts that were held out get worse, or if "
            "nothing changes any more.",
            min=0,
        ),
    ] = 3
    l2_weights: Annotated[
        list[str] | None,
        option(TUNING, "Relative L2 penalty of the n-grams: uniform, naive_bayes or naive_bayes_unlabeled."),
    ] = None
    folds: Annotated[
        int | None,
        option(
            TUNING,
            "Number of cross-validation folds; by default five, drawn several times if there are few texts.",
            min=2,
        ),
    ] = None
    ngram_weight: Annotated[
        list[float] | None,
        option(
            TUNING,
            "Factor of n-grams for each word after the first; by default 0.5, or the better of 0.5 and 1 if "
            "there are many texts and few classes.",
        ),
    ] = None
    calibrate: Annotated[bool, option(TUNING, "Scale the probabilities to fit texts that were held out.")] = (
        True
    )
    naive_bayes: Annotated[
        bool, option(TUNING, "Add naive Bayes' weights, as far as they help texts that were held out.")
    ] = True
    scoring: Annotated[
        str, option(TUNING, "Score to maximise: the name of a scikit-learn scorer for classification.")
    ] = "neg_log_loss"
    dask: Annotated[
        str | None,
        option(
            DASK,
            "Train on the processes of a Dask cluster, which read the tables: the address of its scheduler, "
            "such as tcp://HOST:8786, or local to start one process per core.",
        ),
    ] = None
    online: Annotated[
        bool,
        option(
            ONLINE, "Learn row by row while reading, for tables larger than memory and for pipes.", "--online"
        ),
    ] = False
    rule: Annotated[str, option(ONLINE, "Update rule: adagrad, dropout, arow or sgd.")] = "adagrad"
    rate: Annotated[float | None, option(ONLINE, "Step size; the default depends on --rule.")] = None
    bits: Annotated[int, option(ONLINE, "Hash the n-grams to 2^bits columns.", min=1, max=30)] = 20
    classes: Annotated[
        str | None,
        option(ONLINE, "All labels, separated by commas; by default a first pass over the table finds them."),
    ] = None
    epochs: Annotated[int, option(ONLINE, "Number of passes over the table.", min=1)] = 1
    bad_rows: Annotated[str, option(ONLINE, "What to do with a row that cannot be used: stop or skip.")] = (
        "stop"
    )
    checkpoint: Annotated[
        Path | None,
        option(
            ONLINE,
            "File that stores the state during training; if it exists, training resumes from it. With "
            "--dask and --no-tune it is a folder.",
        ),
        File.WRITTEN,
    ] = None
    every: Annotated[
        int,
        option(
            ONLINE, "Write a checkpoint at the end of the first batch after at least this many rows.", min=1
        ),
    ] = 100_000
    start_from: Annotated[
        Path | None,
        option(
            ONLINE, "Model to continue from. If it was trained without --online, no new n-grams are added."
        ),
        File.READ,
    ] = None
    trust: Trust = False
    format: Format = None
    encoding: Encoding = None
    delimiter: Delimiter = None
    seed: Annotated[int, option(OUTPUT, "Random seed.", min=0)] = 0
    threads: Threads = -1
    device: Annotated[
        str | None,
        option(
            OUTPUT, "Where to fit: cuda is an NVIDIA GPU (extra cuda); default cpu.", metavar="[cpu|cuda]"
        ),
    ] = None
    json: Json = False
    quiet: Quiet = False
