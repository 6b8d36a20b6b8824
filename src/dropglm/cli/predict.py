"""``dropglm predict``: labels for the texts of a file or a pipe."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from dropglm import tables
from dropglm.base.progress import Progress, Stages, begin_stage, is_terminal
from dropglm.cli import files, options, terminal
from dropglm.cli.errors import BadInputError
from dropglm.cli.options import OUTPUT, File, bad_option
from dropglm.tables import Table
from dropglm.tables.formats import Frame, find_format, import_polars

if TYPE_CHECKING:
    import numpy as np

    from dropglm.text.fitted_model import FittedTextModel

WITH_LISTS = ("jsonl", "parquet")  # formats that have lists


def predict(
    model: options.ModelFile,
    given: options.TextsOrFiles = None,
    text: options.TextOfModel = None,
    out: Annotated[
        str, OUTPUT.option("Table to write; - is standard output.", "--out", "-o"), File.WRITTEN
    ] = "-",
    out_format: options.OutFormat = None,
    probabilities: Annotated[
        bool, OUTPUT.option("Add the probability of every class.", "--probabilities", "-p")
    ] = False,
    top_k: Annotated[
        int,
        OUTPUT.option(
            "Number of most probable labels to write for each text.", "--top-k", "--top", "-k", min=1
        ),
    ] = 1,
    keep: Annotated[list[str] | None, OUTPUT.option("Column to copy to the output; may be repeated.")] = None,
    format: options.Format = None,
    encoding: options.Encoding = None,
    delimiter: options.Delimiter = None,
    embeddings: options.Embeddings = None,
    embedder: options.Embedder = None,
    trust: options.Trust = False,
    threads: options.Threads = -1,
) -> None:
    """Predict labels for texts given as arguments, in files or on standard input.

    The output has one row per text, with the label in column 'predicted'
    and its probability in column 'probability'. Several labels are lists in JSON Lines
    and Parquet, and have the separator of the training table between them in other formats;
    the separator alone means none.
    """
    if out != "-":
        files.check_output_table(out, out_format)
    keep = list(dict.fromkeys(keep or ()))
    if set(keep) & {"predicted", "probability"}:
        raise bad_option("--keep", "the output has its own columns predicted and probability; rename yours.")
    # Not if predictions go to the terminal, nor to another program, which may write there.
    with Stages(shown=is_terminal() and out != "-"):
        classifier, E = files.model_and_embeddings(model, embeddings, embedder, trust=trust)
        classifier.n_jobs = threads
        text, _, advice = files.columns_of_model(classifier, text)
        how = Table(
            "-",
            text,
            keep=tuple(name for name in keep if name != text),
            format=format,
            encoding=encoding,
            delimiter=delimiter,
        )
        sources = files.texts_or_files(given or (), how)
        if top_k > 1 and classifier.multilabel_:
            raise bad_option("--top-k", "the model decides for each label of a text; use --probabilities.")
        begin_stage("Predicting")
        with files.advising(advice):
            lists = find_format(out, out_format or ("jsonl" if out == "-" else None))[0].name in WITH_LISTS
            form = _Form(keep, top_k, probabilities=probabilities, lists=lists)
            if classifier.multilabel_ and not lists:
                _check_separator(classifier, classifier.label_separator_ or options.LABEL_SEPARATOR)
            frames = _predictions(classifier, sources, E, form)
            tables.write(frames, out, format=out_format)


class _Form(NamedTuple):
    """What is written of each text."""

    keep: list[str]  # columns of the table
    top_k: int
    probabilities: bool  # those of all classes
    lists: bool  # whether the format of the output has them


def _predictions(
    model: "FittedTextModel", sources: list[Table], E: files.EmbeddingRows, form: _Form
) -> Iterator[Frame]:
    """Yield labels and probabilities for each batch of rows; without rows, an empty frame."""
    import numpy as np

    labels, separator = _labels(model), model.label_separator_ or options.LABEL_SEPARATOR

    def predictions(p: "np.ndarray", columns: dict[str, Any]) -> dict[str, Any]:
        found: dict[str, Any]
        if model.multilabel_ or form.top_k > 1:
            if model.multilabel_:
                chosen = [np.flatnonzero(row) for row in p > model.thresholds_]
            else:
                chosen = list(np.argsort(-p, axis=1, kind="stable")[:, : form.top_k])
            names = [labels[own].tolist() for own in chosen]
            # The digits that 32 bits hold.
            values = [[float(str(one)) for one in row[own]] for row, own in zip(p, chosen, strict=True)]
            found = {"predicted": names, "probability": values}
            if not form.lists:
                found["predicted"] = [tables.joined_names(row, separator) for row in names]
                found["probability"] = [separator.join(map(str, row)) for row in values]
        else:
            found = {"predicted": labels[p.argmax(axis=1)].tolist(), "probability": p.max(axis=1)}
        if form.probabilities:
            found |= {f"p({label})": p[:, k] for k, label in enumerate(model.classes_.tolist())}
        return found | {name: columns[name] for name in form.keep}

    n_before = 0
    with Progress("texts", shown=False) as progress:
        for source in sources:
            try:
                for batch in source.batches():
                    texts = list(batch.texts)
                    p = model.predict_proba(texts, E.next_rows(len(texts), source.name))
                    yield predictions(p, batch.others | {source.text: texts})
                    n_before += len(texts)
                    progress.advance(len(texts))
            except tables.EmptyTableError as error:
                terminal.message(f"{str(error).rstrip('.')}, so there is nothing to predict.")
    if n_before:
        E.check_all_taken(sources[-1].name)
    else:
        p = np.eye(len(model.classes_))
        yield import_polars().DataFrame(predictions(p, {name: [""] * len(p) for name in form.keep})).clear()


def _check_separator(model: "FittedTextModel", separator: str) -> None:
    """Refuse a separator of labels that is part of one: predictions could not be read as labels again."""
    within = [name for name in tables.class_names(model.classes_.tolist()) if separator in name]
    if within:
        raise BadInputError(
            f"The label {within[0]!r} contains {separator!r}, which is between labels in this format; write "
            "JSON Lines or Parquet."
        )


def _labels(model: "FittedTextModel") -> "np.ndarray":
    """Return the classes; as numbers if their names are, also with fractions, which models store as names."""
    names = tables.class_names(model.classes_.tolist())
    if len(set(names)) < len(names):  # "1" and "1.0" of a model that was trained in Python
        return model.classes_
    return tables.to_classes(names, tables.class_type(names, fractions=True))
