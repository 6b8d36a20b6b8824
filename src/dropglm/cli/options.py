"""Options of the commands: those that several commands share, and those of ``dropglm train``."""

from collections.abc import Callable
from enum import Enum, auto
from pathlib import Path
from typing import Annotated, Any

import typer

TABLES, OUTPUT, MODEL, TUNING, ONLINE, DASK = "Tables", "Output", "Model", "Tuning", "Online", "Dask"
TAB_NAMES = ("\\t", "tab")


class File(Enum):
    """What a command does with the file that a parameter names; ``distinct_files`` goes by it."""

    READ = auto()
    WRITTEN = auto()


def _option(panel: str, *names: str, help: str, default_shown: bool = True, **settings: Any) -> Any:
    return typer.Option(*names, help=help, show_default=default_shown, rich_help_panel=panel, **settings)


def _check_format(given: str | None) -> str | None:
    from dropglm.tables.formats import find_format

    return given if given is None else _checked(given, lambda: find_format("", given))


def _check_encoding(given: str | None) -> str | None:
    from dropglm.tables.lines import find_codec

    return given if given is None else _checked(given, lambda: find_codec(given))


def _delimiter(given: str | None) -> str | None:
    from dropglm.tables.formats import check_delimiter

    if given in TAB_NAMES:
        return "\t"
    return given if given is None else _checked(given, lambda: check_delimiter(given))


def _not_zero(given: int) -> int:
    if given == 0:
        raise typer.BadParameter("must not be 0; 1 is one thread, -1 all cores.")
    return given


def _checked(given: str, check: Callable[[], object]) -> str:
    try:
        check()
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None
    return given


# Shared by several commands.

ModelFile = Annotated[
    Path, typer.Argument(help="Model file, written by dropglm train.", show_default=False), File.READ
]
LabelledTable = Annotated[
    str,
    typer.Argument(help="Table with texts and labels; - is standard input.", show_default=False),
    File.READ,
]
Text = Annotated[str, _option(TABLES, "--text", "-t", help="Column with the texts.")]
Label = Annotated[str, _option(TABLES, "--label", "-l", help="Column with the labels.")]
TextOfModel = Annotated[
    str | None,
    _option(
        TABLES,
        "--text",
        "-t",
        help="Column with the texts; by default the one that the model was trained with.",
        default_shown=False,
    ),
]
LabelOfModel = Annotated[
    str | None,
    _option(
        TABLES,
        "--label",
        "-l",
        help="Column with the labels; by default the one that the model was trained with.",
        default_shown=False,
    ),
]
Format = Annotated[
    str | None,
    _option(
        TABLES,
        callback=_check_format,
        help="Format of the tables: csv, tsv, jsonl, parquet or txt (one text per line), optionally with a "
        "compression suffix, as in csv.gz; by default inferred from the file name.",
        default_shown=False,
    ),
]
Encoding = Annotated[
    str | None,
    _option(
        TABLES,
        callback=_check_encoding,
        help="Encoding of the tables, such as cp1252; by default UTF-8.",
        default_shown=False,
    ),
]
Delimiter = Annotated[
    str | None,
    _option(
        TABLES,
        callback=_delimiter,
        help="Field delimiter of CSV tables; write \\t or tab for a tab.",
        default_shown=False,
    ),
]
Embeddings = Annotated[
    Path | None,
    _option(
        TABLES,
        help="NumPy file (.npy) with the embedding of each text, in the order of the table.",
        default_shown=False,
    ),
    File.READ,
]
Embedder = Annotated[
    Path | None,
    _option(
        MODEL,
        help="Folder of a sentence-transformers or model2vec model that computes an embedding of each text.",
        default_shown=False,
    ),
    File.READ,
]
Trust = Annotated[
    bool,
    _option(
        MODEL,
        "--trust",
        help="Trust the author of the model file: accept any token pattern, and any need of memory.",
    ),
]
Json = Annotated[bool, _option(OUTPUT, "--json", help="Write JSON to standard output.")]
Quiet = Annotated[bool, _option(OUTPUT, "--quiet", "-q", help="Do not show progress on standard error.")]
Device = Annotated[
    str | None,
    _option(
        OUTPUT, metavar="[cpu|cuda]", help="Where to fit: cuda is an NVIDIA GPU (extra cuda); default cpu."
    ),
]
Threads = Annotated[int, _option(OUTPUT, callback=_not_zero, help="Number of threads; -1 uses all cores.")]
OutFormat = Annotated[
    str | None,
    _option(
        OUTPUT,
        callback=_check_format,
        help="Format of the output: csv, tsv, jsonl, parquet or txt (the first column only); by default "
        "taken from the suffix of --out, and jsonl for standard output.",
        default_shown=False,
    ),
]

# dropglm train: tables and output.

LabelledTables = Annotated[
    list[str],
    typer.Argument(
        metavar="TABLE",
        help="Table with texts and labels; - is standard input. With --dask there may be several, patterns "
        "such as 'texts-*.csv' and folders.",
        show_default=False,
    ),
    File.READ,
]
Unlabeled = Annotated[
    list[Path] | None,
    _option(
        TABLES,
        "--unlabeled",
        "-u",
        help="Table with more texts, without labels; may be repeated.",
        default_shown=False,
    ),
    File.READ,
]
UnlabeledText = Annotated[
    str | None,
    _option(
        TABLES,
        help="Column with the texts in the unlabelled tables; by default the same as --text.",
        default_shown=False,
    ),
]
EmbeddingsUnlabeled = Annotated[
    list[Path] | None,
    _option(
        TABLES,
        help="NumPy file (.npy) with the embeddings of the texts of --unlabeled; may be repeated.",
        default_shown=False,
    ),
    File.READ,
]
ModelOut = Annotated[Path, _option(OUTPUT, "--out", "-o", help="Model file to write."), File.WRITTEN]
Validation = Annotated[
    str | None,
    _option(
        OUTPUT,
        help="Evaluate the model on held-out texts: a fraction of the table, such as 0.2, or another table.",
        default_shown=False,
    ),
    File.READ,
]
Suspicious = Annotated[
    int,
    _option(
        OUTPUT,
        help="Number of texts to list whose label may be wrong: trained on the other folds, the model "
        "confidently predicts another class.",
        min=0,
    ),
]
SuspiciousOut = Annotated[
    str | None,
    _option(
        OUTPUT,
        help="Table to write with all texts whose label may be wrong, such as labels.csv.",
        default_shown=False,
    ),
    File.WRITTEN,
]
Baseline = Annotated[
    bool,
    _option(
        OUTPUT,
        "--baseline",
        help="Compare the model with tf-idf and logistic regression on the same folds; fits both once more "
        "per fold.",
    ),
]
Seed = Annotated[int, _option(OUTPUT, help="Random seed.", min=0)]

# dropglm train: the model.

Ngrams = Annotated[str, _option(MODEL, help="Maximum n-gram length, or a range of lengths such as 2-3.")]
MinDf = Annotated[
    int | None,
    _option(
        MODEL,
        help="Drop n-grams that occur in fewer than this many texts; by default, n-grams of several words "
        "that occur in a single text.",
        min=1,
        default_shown=False,
    ),
]
Analyzer = Annotated[str, _option(MODEL, help="What n-grams consist of: word, char or char_wb.")]
StopWords = Annotated[str | None, _option(MODEL, help="Words to leave out: english.", default_shown=False)]
MaxDf = Annotated[
    float,
    _option(MODEL, help="Drop n-grams that occur in more than this fraction of texts.", min=0.0, max=1.0),
]
MaxFeatures = Annotated[
    int | None,
    _option(MODEL, help="Keep only this many of the most frequent n-grams.", min=1, default_shown=False),
]
Lowercase = Annotated[bool, _option(MODEL, help="Convert texts to lower case.")]
StripHtml = Annotated[bool, _option(MODEL, help="Remove HTML tags.")]
Expectation = Annotated[
    str,
    _option(
        MODEL, help="How the expectation over dropout is computed: gaussian, quadratic, exact or monte_carlo."
    ),
]
Balanced = Annotated[bool, _option(MODEL, "--balanced", help="Give all classes the same total weight.")]

# dropglm train: settings that cross-validation chooses.

Tune = Annotated[
    bool,
    _option(TUNING, help="Choose settings that have several values by cross-validation; by default only l2."),
]
Dropout = Annotated[
    list[float] | None,
    _option(
        TUNING,
        help="Probability that a feature is dropped. This option, --l2, --discount and --l2-weights may be "
        "repeated to give several values to choose from.",
        default_shown=False,
    ),
]
L2 = Annotated[
    list[float] | None,
    _option(
        TUNING,
        help="Strength of the L2 penalty; with --online it applies per row: use 1e-5 or less.",
        default_shown=False,
    ),
]
Discount = Annotated[
    list[float] | None,
    _option(
        TUNING,
        help="Weight of an unlabelled text in the noise penalty, relative to a labelled one; by default 0, "
        "or 0.1 with --no-tune.",
        default_shown=False,
    ),
]
Latent = Annotated[
    int,
    _option(
        TUNING,
        help="Number of latent features, which are learned from all texts and describe which words occur "
        "together. Only with --unlabeled, and used only if they help texts that were held out.",
        min=0,
    ),
]
Rounds = Annotated[
    int,
    _option(
        TUNING,
        help="Number of rounds in which naive Bayes also counts the unlabelled texts, with the classes that "
        "the model predicts for them; they end early if texts that were held out get worse, or if nothing "
        "changes any more.",
        min=0,
    ),
]
L2Weights = Annotated[
    list[str] | None,
    _option(
        TUNING,
        help="Relative L2 penalty of the n-grams: uniform, naive_bayes or naive_bayes_unlabeled.",
        default_shown=False,
    ),
]
Folds = Annotated[
    int | None,
    _option(
        TUNING,
        help="Number of cross-validation folds; by default five, drawn several times if there are few texts.",
        min=2,
        default_shown=False,
    ),
]
NgramWeight = Annotated[
    list[float] | None,
    _option(
        TUNING,
        help="Factor of n-grams for each word after the first; by default 0.5, or the better of 0.5 and 1 if "
        "there are many texts and few classes.",
        default_shown=False,
    ),
]
Calibrate = Annotated[bool, _option(TUNING, help="Scale the probabilities to fit texts that were held out.")]
NaiveBayes = Annotated[
    bool, _option(TUNING, help="Add naive Bayes' weights, as far as they help texts that were held out.")
]
Scoring = Annotated[
    str, _option(TUNING, help="Score to maximise: the name of a scikit-learn scorer for classification.")
]

# dropglm train --dask.

Dask = Annotated[
    str | None,
    _option(
        DASK,
        help="Train on the processes of a Dask cluster, which read the tables: the address of its scheduler, "
        "such as tcp://HOST:8786, or local to start one process per core.",
        default_shown=False,
    ),
]

# dropglm train --online.

Online = Annotated[
    bool,
    _option(
        ONLINE,
        "--online",
        help="Learn row by row while reading, for tables larger than memory and for pipes.",
    ),
]
Rule = Annotated[str, _option(ONLINE, help="Update rule: adagrad, dropout, arow or sgd.")]
Rate = Annotated[
    float | None, _option(ONLINE, help="Step size; the default depends on --rule.", default_shown=False)
]
Bits = Annotated[int, _option(ONLINE, help="Hash the n-grams to 2^bits columns.", min=1, max=30)]
Classes = Annotated[
    str | None,
    _option(
        ONLINE,
        help="All labels, separated by commas; by default a first pass over the table finds them.",
        default_shown=False,
    ),
]
Epochs = Annotated[int, _option(ONLINE, help="Number of passes over the table.", min=1)]
BadRows = Annotated[str, _option(ONLINE, help="What to do with a row that cannot be used: stop or skip.")]
Checkpoint = Annotated[
    Path | None,
    _option(
        ONLINE,
        help="File that stores the state during training; if it exists, training resumes from it. With "
        "--dask and --no-tune it is a folder.",
        default_shown=False,
    ),
    File.WRITTEN,
]
Every = Annotated[
    int,
    _option(
        ONLINE, help="Write a checkpoint at the end of the first batch after at least this many rows.", min=1
    ),
]
StartFrom = Annotated[
    Path | None,
    _option(
        ONLINE,
        help="Model to continue from. If it was trained without --online, no new n-grams are added.",
        default_shown=False,
    ),
    File.READ,
]

SERVER = "Server"
Host = Annotated[
    str,
    typer.Option(
        rich_help_panel=SERVER,
        help="Name or address to listen on; by default only this computer can open it. 0.0.0.0 lets every "
        "computer of the network use it.",
    ),
]
Port = Annotated[
    int | None,
    typer.Option(
        "--port",
        "-p",
        rich_help_panel=SERVER,
        help="Port; by default the first free one from 8000 on. 0 is any free one.",
        min=0,
        max=65535,
        show_default=False,
    ),
]
