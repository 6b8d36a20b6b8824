"""``dropglm tag``: train a tagger for the tokens of sentences, predict tags, and evaluate it."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dropglm.base.progress import Stages, begin_stage, plural
from dropglm.cli import options, terminal
from dropglm.cli.errors import BadInputError, naming_table
from dropglm.cli.files import check_output, distinct_files
from dropglm.cli.options import MODEL, OUTPUT, TABLES, File, Subcommand, check_name

if TYPE_CHECKING:
    from dropglm.sequences.files import Columns, Sentence
    from dropglm.sequences.model import FittedTagger

app = typer.Typer(
    no_args_is_help=True,
    help="Tag the tokens of sentences, such as parts of speech, chunks or names.",
)

FILE_HELP = (
    "File of sentences: a token per line with columns (CoNLL), or a sentence per line (JSON Lines); - is "
    "standard input."
)
Sentences = Annotated[str, typer.Argument(help=FILE_HELP), File.READ]
Format = Annotated[
    str | None,
    TABLES.option("Format of the files, conll or jsonl; by default inferred from the file name."),
]
Token = Annotated[str | None, TABLES.option("Column with the tokens; by default 0, or tokens in JSON Lines.")]
Tag = Annotated[str | None, TABLES.option("Column with the tags; by default -1, the last, or tags.")]
Column = Annotated[
    list[str] | None,
    TABLES.option(
        "Column with further features of the tokens, such as parts of speech; may be repeated. By default, "
        "the columns between tokens and tags, or none in JSON Lines."
    ),
]
TrainedModel = Annotated[Path, typer.Argument(help="Model file, written by dropglm tag train."), File.READ]


@app.command(cls=Subcommand)
@distinct_files
def train(
    sentences: Sentences,
    out: Annotated[
        Path, OUTPUT.option("Model file to write.", "--out", "-o", "--model", "-m"), File.WRITTEN
    ] = Path("tagger.skops"),
    unlabeled: Annotated[
        str | None, TABLES.option("File with sentences without tags.", "--unlabeled", "-u"), File.READ
    ] = None,
    format: Format = None,
    token: Token = None,
    tag: Tag = None,
    column: Column = None,
    dropout: Annotated[
        float, MODEL.option("Probability that a feature is dropped from a token.", min=0.0, max=0.999)
    ] = 0.5,
    l2: Annotated[float, MODEL.option("Strength of the penalty of all coefficients.", min=0.0)] = 0.3,
    discount: Annotated[
        float, MODEL.option("Weight of a sentence without tags in the noise penalty.", min=0.0)
    ] = 0.005,
    threads: options.Threads = -1,
    quiet: options.Quiet = False,
) -> None:
    """Train a tagger on sentences with tags.

    The features of a token are the word, its lower case, prefixes, suffixes and shape,
    its neighbours, and further columns. A tag _ (in JSON Lines: null) is unknown.
    """
    check_output(out, "--out")
    columns = _columns(sentences, format, token, tag, column)
    with Stages(shown=not quiet) as stages:
        stages.plan([("Reading", 1.0), ("Fitting", 20.0)])
        begin_stage("Reading")
        from dropglm.sequences import SequenceTagger
        from dropglm.sequences.files import read_sentences

        found = read_sentences(sentences, columns)
        columns = columns._replace(others=_others(found, columns))
        more = [] if unlabeled is None else read_sentences(unlabeled, columns, tagged=False)
        begin_stage("Fitting")
        tagger = SequenceTagger(dropout, l2, discount=discount, n_jobs=threads)
        with naming_table(sentences):
            tagger.fit(
                [one.tokens for one in found],
                [one.tags for one in found],
                X_unlabeled=[one.tokens for one in more] or None,
            )
        tagger._fitted.columns = columns.as_dict()
        tagger.save(out)
    if quiet:
        return
    listed = ", ".join(tagger.tags_)
    terminal.print_pairs(
        [
            ("sentences", f"{len(found):,}" + (f", and {len(more):,} without tags" if more else "")),
            ("tokens", f"{sum(len(one.tokens) for one in found):,}"),
            ("tags", f"{len(tagger.tags_)}: {terminal.excerpt(listed, 200)}"),
            ("features", f"{tagger.n_features_in_:,}, with {len(tagger._fitted.theta):,} coefficients"),
            ("fit", f"{tagger.result_.status} after {plural(tagger.n_iter_, 'iteration')}"),
            ("model", str(out)),
        ]
    )


@app.command(cls=Subcommand)
@distinct_files
def predict(
    model: TrainedModel,
    sentences: Sentences = "-",
    out: Annotated[
        str, OUTPUT.option("File to write; - is standard output.", "--out", "-o"), File.WRITTEN
    ] = "-",
    format: Format = None,
    token: Token = None,
    column: Column = None,
    threads: options.Threads = -1,
) -> None:
    """Predict the tags of sentences.

    The output has one more column, the predicted tags; in JSON Lines it is named predicted.
    """
    if out != "-":
        check_output(out, "--out")
    from dropglm.sequences.files import read_sentences, write_tags
    from dropglm.sequences.model import load_fitted_tagger

    tagger = load_fitted_tagger(model)
    tagger.n_jobs = threads
    columns = _columns(sentences, format, token, None, column, tagger)
    found = read_sentences(sentences, columns, tagged=False)
    with naming_table(sentences):
        tags = tagger.predict([one.tokens for one in found])
    write_tags(out, found, tags, columns)


@app.command(cls=Subcommand)
@distinct_files
def evaluate(
    model: TrainedModel,
    sentences: Sentences,
    format: Format = None,
    token: Token = None,
    tag: Tag = None,
    column: Column = None,
    threads: options.Threads = -1,
    json: options.Json = False,
) -> None:
    """Report how well a tagger predicts the tags of sentences.

    The report has the accuracy over tokens and, if the tags mark entities (B-PER, I-PER, O),
    precision, recall and F1 of entities, over all and by type.
    """
    from dropglm.sequences.files import read_sentences
    from dropglm.sequences.metrics import EntityScores, entity_scores, known_pairs
    from dropglm.sequences.model import load_fitted_tagger

    tagger = load_fitted_tagger(model)
    tagger.n_jobs = threads
    columns = _columns(sentences, format, token, tag, column, tagger)
    found = read_sentences(sentences, columns)
    tags: list[list[Any]] = [one.tags or [] for one in found]
    with naming_table(sentences):
        predicted = tagger.predict([one.tokens for one in found])
        pairs = known_pairs(tags, predicted)
    unknown = sum(true not in tagger.tags for true, _ in pairs)
    accuracy = sum(true == given for true, given in pairs) / len(pairs)
    is_complete = all(known is not None for own in tags for known in own)
    marks = is_complete and all(true == "O" or true[:2] in {"B-", "I-", "E-", "S-"} for true, _ in pairs)
    entities: EntityScores | None = entity_scores(tags, predicted) if marks else None
    if json:
        more = {} if entities is None else {"entities": entities.to_dict()}
        terminal.print_json(
            {"sentences": len(found), "tokens": len(pairs), "unknown_tags": unknown, "accuracy": accuracy}
            | more
        )
        return
    terminal.print_pairs(
        [
            ("sentences", f"{len(found):,}"),
            ("tokens", f"{len(pairs):,}"),
            *([("unknown", f"{unknown:,} with tags that the model does not have")] if unknown else []),
            ("accuracy", f"{accuracy:.4f}"),
            *([("entities", str(entities))] if entities is not None else []),
        ]
    )
    if entities is not None:
        terminal.print_table(
            "Entities",
            ("type", "precision", "recall", "F1", "entities"),
            (
                (kind, f"{one.precision:.4f}", f"{one.recall:.4f}", f"{one.f1:.4f}", f"{one.true:,}")
                for kind, one in (entities.by_type or {}).items()
            ),
        )


def _columns(
    path: str,
    format: str | None,
    token: str | None,
    tag: str | None,
    others: list[str] | None,
    tagger: "FittedTagger | None" = None,
) -> "Columns":
    """Return the columns of a file: those that are named, else those that the model was trained with."""
    from dropglm.sequences.files import CONLL, JSONL, Columns, format_of

    if format is not None:
        check_name("--format", format, (CONLL, JSONL))
    known = None if tagger is None else tagger.columns
    chosen = format or (known["format"] if known is not None and path == "-" else format_of(path))
    named = Columns.of(chosen, token, tag, others or ())
    if known is None:
        return named
    if known["format"] != chosen:
        if len(named.others) != len(known["others"]):
            raise BadInputError(
                f"{path} is not a {known['format']} file, as that which the model was trained with: name as "
                f"many columns of features as there, {len(known['others'])}, with --column."
            )
        return named
    return Columns(
        chosen,
        known["token"] if token is None else named.token,
        known["tag"] if tag is None else named.tag,
        named.others if others else tuple(known["others"]),
    )


def _others(found: "list[Sentence]", columns: "Columns") -> tuple[Any, ...]:
    """Return the further columns of the sentences, which CoNLL files have by default between the others."""
    if columns.others or columns.format != "conll":
        return columns.others
    first = int(columns.token) + 1
    return tuple(range(first, first + len(found[0].tokens[0]) - 1))
