"""What all ways of ``dropglm train`` share: the options, saving a model, and the report about it."""

import json
import time
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dropglm.base.progress import Stages, begin_stage
from dropglm.cli import options, terminal
from dropglm.cli.options import DASK, MODEL, ONLINE, OUTPUT, TABLES, TUNING, File, our_spelling
from dropglm.tables import Table

if TYPE_CHECKING:
    from dropglm.text.fitted_model import FittedTextModel

TOP = 8  # n-grams of each class
NOT_IN_CONFIG = ("config", "dry_run")


def _read_config(context: typer.Context, path: Path | None) -> Path | None:
    """Take the options in a TOML file as the defaults of the command."""
    if path is None:
        return None
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise typer.BadParameter(f"{path} cannot be read: {error.strerror}.") from None
    except ValueError as error:
        raise typer.BadParameter(f"{path} is not a TOML file: {error}.") from None
    known = {one.name.replace("_", "-"): one for one in context.command.params if one.name is not None}
    context.default_map = {}
    for name, value in content.items():
        is_off = name.startswith("no-") and isinstance(value, bool)
        ours = our_spelling(name.removeprefix("no-") if is_off else name)
        options.check_name("--config", ours, known)
        option = known[ours]
        takes_several = option.nargs != 1 or getattr(option, "multiple", False)
        value = not value if is_off else [value] if takes_several and not isinstance(value, list) else value
        context.default_map[str(option.name)] = value
    return path


@dataclass(frozen=True)
class TrainOptions:
    """The arguments of ``dropglm train``, in the order of its help."""

    tables: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="TABLE",
            help="Tables with texts and labels, patterns such as 'texts-*.csv', or folders; - is standard "
            "input, and the default.",
        ),
        File.READ,
    ] = None
    text: options.Texts = "text"
    numeric: str | None = TABLES.field(
        "Columns with numbers or dates that are used beside the texts, separated by commas."
    )
    categorical: str | None = TABLES.field(
        "Columns with categories that are used beside the texts, separated by commas."
    )
    label: str = TABLES.field(
        "Column with the labels. Rows without a label are unlabelled texts; --online skips them.",
        "--label",
        "-l",
        default="label",
    )
    separator: str | None = TABLES.field(
        "What separates several labels of a row, such as ';': a row may have any number of them, and the "
        "separator alone means none of the labels. Lists in JSON Lines and Parquet need no separator.",
        callback=options.check_separator,
    )
    label_probabilities: str | None = TABLES.field(
        "Columns with the probabilities of the classes, in place of --label: a=p_a,b=p_b for the classes a "
        "and b. Rows where all of them are empty are unlabelled texts."
    )
    second_label: list[str] | None = TABLES.field(
        "Column with labels that may be wrong, of rules, a language model or another annotator, for rows "
        "without a label; may be repeated. Held-out rows with a label decide how far they count."
    )
    group: str | None = TABLES.field(
        "Column with groups of related texts, such as their author: texts of a group are held out together, "
        "by cross-validation and by --validation. Copies of a text always are."
    )
    weight: str | None = TABLES.field("Column with the weights of the rows: numbers of at least 0.")
    unlabeled: list[Path] | None = TABLES.field(
        "Table with more texts, without labels; may be repeated.", "--unlabeled", "-u", file=File.READ
    )
    unlabeled_text: str | None = TABLES.field(
        "Column with the texts in the unlabelled tables; by default the same as --text."
    )
    embeddings: options.Embeddings = None
    embeddings_unlabeled: list[Path] | None = TABLES.field(
        "NumPy file (.npy) with the embeddings of the texts of --unlabeled; may be repeated.", file=File.READ
    )
    embedder: options.Embedder = None
    out: Path = OUTPUT.field(
        "Model file to write.", "--out", "-o", default=Path("model.skops"), file=File.WRITTEN
    )
    validation: str | None = OUTPUT.field(
        "Evaluate the model on held-out texts: a fraction of the table, such as 0.2, or another table. "
        "Guarantees of predict --max-error and --sets then rest on them.",
        file=File.READ,
    )
    validation_column: str | None = OUTPUT.field(
        "Column that is true for the rows to hold out, in place of --validation: dropglm label exports "
        "drawn_at_random."
    )
    suspicious: int = OUTPUT.field(
        "How many texts to list whose label may be wrong, going by cross-validation.",
        default=5,
        min=0,
    )
    suspicious_out: str | None = OUTPUT.field(
        "Table to write with all texts whose label may be wrong, such as labels.csv.", file=File.WRITTEN
    )
    baseline: bool = OUTPUT.field(
        "Compare the model with tf-idf and logistic regression on the same folds; fits both once more "
        "per fold.",
        "--baseline",
        default=False,
    )
    ngrams: str = MODEL.field("Maximum n-gram length, or a range of lengths such as 2-3.", default="2")
    min_df: int | None = MODEL.field(
        "Drop n-grams that occur in fewer than this many texts; by default, n-grams of several words "
        "that occur in a single text.",
        min=1,
    )
    max_df: float = MODEL.field(
        "Drop n-grams that occur in more than this fraction of texts.", default=1.0, min=0.0, max=1.0
    )
    max_features: int | None = MODEL.field("Keep only this many of the most frequent n-grams.", min=1)
    analyzer: str = MODEL.field("What n-grams consist of: word, char or char_wb.", default="word")
    stop_words: str | None = MODEL.field("Stop-word list to leave out; only english is built in.")
    characters: bool = MODEL.field(
        "Beside words, also use sequences of three and four letters within words, as far as they help texts "
        "that were held out: they also say something about words that no text with a label has.",
        default=True,
    )
    lowercase: bool = MODEL.field("Convert texts to lower case.", default=True)
    strip_html: bool = MODEL.field("Remove HTML tags.", default=True)
    expectation: str = MODEL.field(
        "How the expectation over dropout is computed: gaussian, quadratic, exact or monte_carlo.",
        default="gaussian",
    )
    class_weight: str | None = MODEL.field("balanced gives all classes the same total weight.")
    tune: bool = TUNING.field(
        "Choose settings by cross-validation: those with several values and, unless given, --dropout, --l2 "
        "and --l2-weights.",
        default=True,
    )
    dropout: list[float] | None = TUNING.field(
        "Probability that a feature is dropped; by default 0.5 or 0. This option, --l2, --discount and "
        "--l2-weights may be repeated to give several values to choose from."
    )
    l2: list[float] | None = TUNING.field(
        "Strength of the L2 penalty; with --online it applies per row: use 1e-5 or less."
    )
    discount: list[float] | None = TUNING.field(
        "Weight of an unlabelled text in the noise penalty, relative to a labelled one; by default 0."
    )
    latent: int = TUNING.field(
        "Number of latent features, which are learned from all texts and describe which words occur "
        "together. Only with unlabelled texts, and used only if they help texts that were held out.",
        default=50,
        min=0,
    )
    rounds: int = TUNING.field(
        "Rounds of self-training for naive Bayes on the unlabelled texts; they stop early if held-out texts "
        "get worse.",
        default=3,
        min=0,
    )
    l2_weights: list[str] | None = TUNING.field(
        "Relative L2 penalty of the n-grams: uniform, naive_bayes or naive_bayes_unlabeled; by default one "
        "of the first two."
    )
    folds: int | None = TUNING.field(
        "Number of cross-validation folds; by default five, drawn several times if there are few texts.",
        min=2,
    )
    ngram_weight: list[float] | None = TUNING.field(
        "Multiply an n-gram's weight by this for each word after the first; by default 0.5, or the better of "
        "0.5 and 1 if there are more than 1,000 texts with labels."
    )
    calibrate: bool = TUNING.field("Scale the probabilities to fit texts that were held out.", default=True)
    naive_bayes: bool = TUNING.field(
        "Blend in the weights of naive Bayes as far as cross-validation gains.", default=True
    )
    precision: float | None = TUNING.field(
        "If rows have several labels: the share of the predictions of each label that are expected to be "
        "right, such as 0.9; by default, thresholds have the best F1."
    )
    scoring: str = TUNING.field(
        "Score to maximise: the name of a scikit-learn scorer for classification.", default="neg_log_loss"
    )
    dask: str | None = DASK.field(
        "Train on the processes of a Dask cluster, which read the tables: the address of its scheduler, "
        "such as tcp://HOST:8786, or local to start one process per core."
    )
    online: bool = ONLINE.field(
        "Learn row by row while reading, for tables larger than memory and for pipes.",
        "--online",
        default=False,
    )
    rule: str = ONLINE.field("Update rule: adagrad, dropout, arow or sgd.", default="adagrad")
    rate: float | None = ONLINE.field("Step size; the default depends on --rule.")
    bits: int = ONLINE.field("Hash the n-grams to 2^bits columns.", default=20, min=1, max=30)
    classes: str | None = ONLINE.field(
        "All labels, separated by commas; by default a first pass over the table finds them."
    )
    epochs: int = ONLINE.field("Number of passes over the table.", default=1, min=1)
    bad_rows: str = ONLINE.field("What to do with a row that cannot be used: stop or skip.", default="stop")
    checkpoint: Path | None = ONLINE.field(
        "File that stores the state during training; if it exists, training resumes from it. With "
        "--dask and --no-tune it is a folder.",
        file=File.WRITTEN,
    )
    every: int = ONLINE.field(
        "Rows between checkpoints.",
        default=100_000,
        min=1,
    )
    start_from: Path | None = ONLINE.field(
        "Model to continue from. If it was trained without --online, it needs --no-characters, and no new "
        "n-grams are added.",
        file=File.READ,
    )
    trust: options.Trust = False
    format: options.Format = None
    encoding: options.Encoding = None
    delimiter: options.Delimiter = None
    seed: int = OUTPUT.field("Random seed.", default=0, min=0)
    threads: options.Threads = -1
    device: str | None = OUTPUT.field(
        "Where to fit: cuda is an NVIDIA GPU (extra cuda); default cpu.", metavar="[cpu|cuda]"
    )
    config: Path | None = OUTPUT.field(
        "TOML file with options, such as l2 = 0.1; those on the command line go first. --dry-run writes one.",
        is_eager=True,
        callback=_read_config,
        file=File.READ,
    )
    dry_run: bool = OUTPUT.field(
        "Print the options as TOML, and what the tables hold, but do not train.", "--dry-run", default=False
    )
    json: options.Json = False
    quiet: bool = OUTPUT.field(
        "Print only errors, warnings and what --json prints.", "--quiet", "-q", default=False
    )


@dataclass(frozen=True)
class TrainRun:
    """A run of ``dropglm train``.

    Attributes
    ----------
    options : TrainOptions
    given : set of str
        Names of the options that the user gave.
    tables : list of Table
        The tables to train on, all of them read in the same way.
    stages : Stages
        What shows the progress of the run.
    start : float
        When the run started.
    """

    options: TrainOptions
    given: set[str]
    tables: list[Table]
    stages: Stages
    start: float

    @property
    def table(self) -> Table:
        """The first table, which says how all are read."""
        return self.tables[0]

    @property
    def source(self) -> str:
        """The name in messages of what it trains on."""
        return self.table.name if len(self.tables) == 1 else f"the {len(self.tables)} tables"

    def options_as_toml(self) -> str:
        """Return the options that the user gave as ``--config`` reads them; the others are comments."""
        lines = []
        for name, value in vars(self.options).items():
            if value is not None and name not in NOT_IN_CONFIG:
                mark = "" if name in self.given else "# "
                written = json.dumps(value, default=str, ensure_ascii=False)
                lines.append(f"{mark}{options.option_name(name).lstrip('-')} = {written}")
        return "\n".join(sorted(lines, key=lambda line: line.startswith("#")))

    def refuse(self, names: Iterable[str], why: str) -> None:
        """Refuse options that the user gave and that cannot be used."""
        refused = self.given.intersection(names)
        if refused:
            raise options.bad_option(options.option_name(min(refused)), why)

    def save(self, model: Any) -> None:
        """Write a model with the names of the columns that it was trained with."""
        model.text_column_, model.label_column_ = self.table.text, self.table.label
        if model.multilabel_:
            model.label_separator_ = self.table.label_separator or options.LABEL_SEPARATOR
        begin_stage(f"Writing {self.options.out}")
        model.save(self.options.out)

    def lines_about_rows(self, n_without: int) -> list[tuple[str, str]]:
        """Return the lines about rows without a label, and about the weights of the others."""
        lines = terminal.without_label(n_without, "used as unlabelled texts")
        weight = self.options.weight
        return lines if weight is None else [*lines, ("weights", f"those of the column {weight!r}")]

    def report(self, model: "FittedTextModel", lines: Iterable[tuple[str, str]] = (), **content: Any) -> None:
        """Print what a model has learnt, with more ``lines`` for the terminal or content of the JSON."""
        from dropglm.text.explanation import top_to_dict

        self.stages.close()
        out, seconds, top = self.options.out, time.perf_counter() - self.start, model.top_features(TOP)
        trust = model._trust()
        if self.options.json:
            content["use"] = trust and trust.to_dict()
            known = {"model": str(out), "seconds": round(seconds, 3), **model.summary_.to_dict()}
            terminal.print_json({**known, **content, "top_features": top_to_dict(top)})
            return
        if self.options.quiet:
            return
        file = "model", f"{out}, {out.stat().st_size / 1e6:.1f} MB, {seconds:.1f} s in total"
        use = [("use", trust.line())] if trust else []
        terminal.print_pairs([*use, *model.summary_.lines(), *lines, file])
        terminal.print_top_ngrams(top)
