"""``dropglm predict``: labels for the texts of a file or a pipe."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from dropglm import tables
from dropglm.base.progress import Progress, Stages, begin_stage, is_terminal, plural
from dropglm.cli import files, options, terminal
from dropglm.cli.errors import BadInputError
from dropglm.cli.options import OUTPUT, File, bad_option
from dropglm.tables import Table
from dropglm.tables.formats import Frame, find_format, import_polars

if TYPE_CHECKING:
    import numpy as np

    from dropglm.text.fitted_model import FittedTextModel
    from dropglm.text.guarantees import Selective

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
    max_error: options.MaxError = None,
    confidence: options.Confidence = 0.9,
    sets: Annotated[
        float | None,
        OUTPUT.option(
            "Add a column 'labels' with the labels that contain the right one with this probability, such as "
            "0.9, the most probable one first.",
            callback=options.share,
        ),
    ] = None,
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
    own = {"predicted", "probability"} | ({"labels"} if sets else set())
    if own & set(keep):
        raise bad_option(
            "--keep", f"the output has its own columns {' and '.join(sorted(own))}; rename yours."
        )
    if top_k > 1 and (max_error or sets):
        raise bad_option("--top-k", "cannot be used with --max-error and --sets.")
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
            row_of=classifier.row_of,
        )
        sources = files.texts_or_files(given or (), how)
        if top_k > 1 and classifier.multilabel_:
            raise bad_option("--top-k", "the model decides for each label of a text; use --probabilities.")
        evidence = classifier._needed_evidence() if max_error or sets else None
        rule = evidence.selective(max_error, confidence) if evidence and max_error else None
        if rule is not None:
            terminal.message(f"{'; '.join(str(rule).splitlines())}.")
        sample = _Sample()
        begin_stage("Predicting")
        with files.advising(advice):
            lists = find_format(out, out_format or ("jsonl" if out == "-" else None))[0].name in WITH_LISTS
            if classifier.multilabel_ and not lists:
                _check_separator(classifier, classifier.label_separator_ or options.LABEL_SEPARATOR)
            label_sets = partial(evidence.label_sets, coverage=sets) if evidence and sets else None
            form = _Form(keep, top_k, probabilities, lists, rule, label_sets)
            frames = _predictions(classifier, sources, E, form, sample)
            tables.write(frames, out, format=out_format)
    if rule and sample.seen:
        share = 100.0 * sample.left_open / sample.seen
        terminal.message(f"left open: {sample.left_open:,} of {plural(sample.seen, 'text')} ({share:.1f} %).")
    unlike = classifier.compare_with_training(sample.texts) if sample.texts else None
    if unlike is not None and unlike.is_unusual:
        terminal.message(f"warning: {unlike.warning()}")


class _Form(NamedTuple):
    """What is written of each text."""

    keep: list[str]  # columns of the table
    top_k: int
    probabilities: bool  # those of all classes
    lists: bool  # whether the format of the output has them
    rule: "Selective | None"  # where to answer
    label_sets: "Callable[[np.ndarray], list[list[int]]] | None"


class _Sample:
    """What has been predicted: how many texts, how many of them are open, and a random sample of them."""

    MOST = 500

    def __init__(self) -> None:
        import numpy as np

        self.texts: list[str] = []
        self.seen = self.left_open = 0
        self._draw = np.random.default_rng(0).integers

    def add(self, texts: list[str], left_open: int) -> None:
        """Add texts; each of those so far is in the sample with the same probability."""
        free = self.MOST - len(self.texts)
        self.texts += texts[:free]
        last = self.seen + len(texts)
        rest = texts[free:]
        if rest:
            places = self._draw(0, range(last - len(rest) + 1, last + 1))
            for number in (places < self.MOST).nonzero()[0].tolist():
                self.texts[places[number]] = rest[number]
        self.seen, self.left_open = last, self.left_open + left_open


def _predictions(
    model: "FittedTextModel", sources: list[Table], E: files.EmbeddingRows, form: _Form, sample: _Sample
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
        if form.rule is not None:
            pairs = zip(found["predicted"], form.rule.answers(p).tolist(), strict=True)
            found["predicted"] = [label if answered else None for label, answered in pairs]
        if form.label_sets is not None:
            rows = [labels[own].tolist() for own in form.label_sets(p)]
            found["labels"] = rows if form.lists else [tables.joined_names(row, separator) for row in rows]
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
                    found = predictions(p, {source.text: texts} | batch.others)
                    yield found
                    sample.add(texts, found["predicted"].count(None))
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
