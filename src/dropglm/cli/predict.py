"""``dropglm predict``: labels for the texts of a file or a pipe."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dropglm import tables
from dropglm.base.progress import Progress, Stages, begin_stage, is_terminal
from dropglm.cli import files, options, terminal
from dropglm.cli.options import OUTPUT, File, bad_option
from dropglm.tables import Table
from dropglm.tables.formats import Frame, find_format, import_polars

if TYPE_CHECKING:
    import numpy as np

    from dropglm.text.fitted_model import FittedTextModel

WITH_LISTS = ("jsonl", "parquet")  # formats that have lists


def predict(
    model: options.ModelFile,
    table: Annotated[
        str,
        typer.Argument(
            help="Table with texts; - is standard input, with one text per line unless --format says "
            "otherwise."
        ),
        File.READ,
    ] = "-",
    text: options.TextOfModel = None,
    out: Annotated[
        str, OUTPUT.option("Table to write; - is standard output.", "--out", "-o"), File.WRITTEN
    ] = "-",
    out_format: options.OutFormat = None,
    probabilities: Annotated[
        bool, OUTPUT.option("Add the probability of every class.", "--probabilities", "-p")
    ] = False,
    keep: Annotated[list[str] | None, OUTPUT.option("Column to copy to the output; may be repeated.")] = None,
    format: options.Format = None,
    encoding: options.Encoding = None,
    delimiter: options.Delimiter = None,
    embeddings: options.Embeddings = None,
    embedder: options.Embedder = None,
    trust: options.Trust = False,
    threads: options.Threads = -1,
) -> None:
    """Predict the label of every text in a table or from standard input.

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
        source = Table(
            table,
            text,
            keep=tuple(name for name in keep if name != text),
            format=format or ("txt" if table == "-" else None),
            encoding=encoding,
            delimiter=delimiter,
        )
        begin_stage("Predicting")
        with files.advising(advice):
            lists = find_format(out, out_format or ("jsonl" if out == "-" else None))[0].name in WITH_LISTS
            frames = _predictions(classifier, source, keep, E, probabilities=probabilities, lists=lists)
            tables.write(frames, out, format=out_format)


def _predictions(
    model: "FittedTextModel",
    table: Table,
    keep: list[str],
    E: files.EmbeddingRows,
    *,
    probabilities: bool,
    lists: bool,
) -> Iterator[Frame]:
    """Yield labels and probabilities for each batch of rows; without rows, an empty frame."""
    import numpy as np

    labels, separator = _labels(model), model.label_separator_ or options.LABEL_SEPARATOR

    def predictions(p: "np.ndarray", columns: dict[str, Any]) -> dict[str, Any]:
        found: dict[str, Any]
        if model.multilabel_:
            chosen = [np.flatnonzero(row) for row in p > model.thresholds_]
            names = [labels[own].tolist() for own in chosen]
            # The digits that 32 bits hold.
            values = [[float(str(one)) for one in row[own]] for row, own in zip(p, chosen, strict=True)]
            found = {"predicted": names, "probability": values}
            if not lists:
                found["predicted"] = [tables.joined_names(row, separator) for row in names]
                found["probability"] = [separator.join(map(str, row)) for row in values]
        else:
            found = {"predicted": labels[p.argmax(axis=1)].tolist(), "probability": p.max(axis=1)}
        if probabilities:
            found |= {f"p({label})": p[:, k] for k, label in enumerate(model.classes_.tolist())}
        return found | {name: columns[name] for name in keep}

    try:
        with Progress("texts", shown=False) as progress:
            for batch in table.batches():
                texts = list(batch.texts)
                p = model.predict_proba(texts, E.next_rows(len(texts), table.name))
                yield predictions(p, batch.others | {table.text: texts})
                progress.advance(len(texts))
        E.check_all_taken(table.name)
    except tables.EmptyTableError as error:
        terminal.message(f"{str(error).rstrip('.')}, so there is nothing to predict.")
        p = np.eye(len(model.classes_))
        yield import_polars().DataFrame(predictions(p, {name: [""] * len(p) for name in keep})).clear()


def _labels(model: "FittedTextModel") -> "np.ndarray":
    """Return the classes; as numbers if their names are, also with fractions, which models store as names."""
    names = tables.class_names(model.classes_.tolist())
    if len(set(names)) < len(names):  # "1" and "1.0" of a model that was trained in Python
        return model.classes_
    return tables.to_classes(names, tables.class_type(names, fractions=True))
