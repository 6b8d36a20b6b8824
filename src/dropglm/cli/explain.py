"""``dropglm explain``: what a model has learnt, and why it predicts a label for a text."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from dropglm.base.files import replacing
from dropglm.cli import options, terminal
from dropglm.cli.files import (
    advising,
    check_output,
    columns_of_model,
    model_and_embeddings,
    texts_or_files,
)
from dropglm.cli.options import MODEL, OUTPUT, File
from dropglm.tables import Table

if TYPE_CHECKING:
    from dropglm.text.explanation import Explanation


def explain(
    model: options.ModelFile,
    given: options.TextsOrFiles = None,
    text: options.TextOfModel = None,
    format: options.Format = None,
    encoding: options.Encoding = None,
    delimiter: options.Delimiter = None,
    top: Annotated[
        int,
        OUTPUT.option(
            "Number of n-grams to show per class, and for either side of an explanation of a text.",
            "--top",
            "-n",
            min=1,
        ),
    ] = 15,
    html: Annotated[
        Path | None,
        OUTPUT.option("Self-contained HTML page with figures to write.", "--out", "--html", "-o"),
        File.WRITTEN,
    ] = None,
    label: Annotated[
        str | None,
        MODEL.option("Class to explain; by default the most probable one of each text.", "--class"),
    ] = None,
    embeddings: Annotated[
        Path | None,
        MODEL.option("NumPy file (.npy) with the embedding of each of the texts, in their order."),
        File.READ,
    ] = None,
    embedder: options.Embedder = None,
    trust: options.Trust = False,
    json: options.Json = False,
) -> None:
    """Show what a model has learnt: the n-grams that favour each class; of texts, what tips the prediction.

    The predicted class of a text, or that of --class, is compared with the most probable other one; positive
    contributions favour the first. If texts have several labels, contributions add up to the log odds of the
    most probable one, or that of --class, which are compared with its threshold.
    """
    from dropglm.text.columns import plain_texts
    from dropglm.text.explanation import top_to_dict

    if html is not None:
        check_output(html, "--html")
    classifier, rows = model_and_embeddings(model, embeddings, embedder, trust=trust)
    if label is not None:
        options.check_name("--class", label, map(str, classifier.classes_.tolist()))
    best = classifier.top_features(top)
    text, _, advice = columns_of_model(classifier, text)
    how = Table("-", text, format=format, encoding=encoding, delimiter=delimiter, row_of=classifier.row_of)
    with advising(advice):
        sources = texts_or_files(given, how) if given else []
        texts = [one for source in sources for one in source.read().texts]
    E = rows.all(len(texts), "the command")
    explained = {
        one: classifier.explain(one, None if E is None else E[k], label=label) for k, one in enumerate(texts)
    }
    if html is not None:
        from dropglm.cli.explanation_page import explanation_page

        with replacing(html) as stream:
            stream.write(explanation_page(classifier, model.name, best, explained, top).encode())
    if json:
        terminal.print_json(
            {
                "summary": classifier.summary_.to_dict(),
                "columns": {"text": classifier.text_column_, "label": classifier.label_column_},
                "top_features": top_to_dict(best),
                "texts": [{"text": one} | why.to_dict() for one, why in explained.items()],
            }
        )
        return
    if not sources:
        lines = classifier.summary_.lines()
        if classifier.row_of is not None:
            lines.append(("columns", f"{classifier.row_of}; {classifier.label_column_!r} (labels)"))
        elif classifier.text_column_ and classifier.label_column_:
            lines.append(
                ("columns", f"{classifier.text_column_!r} (texts), {classifier.label_column_!r} (labels)")
            )
        terminal.print_pairs(lines)
        terminal.print_top_ngrams(best)
    for one, why in explained.items():
        _print_explanation(plain_texts(classifier.row_of, [one])[0], why, top)
    if html is not None:
        terminal.message(f"wrote {html}.")


def _print_explanation(text: str, why: "Explanation", top: int) -> None:
    from dropglm.text.explanation import listed

    shown = terminal.excerpt(" ".join(text.split()), 40)
    probabilities = ", ".join(f"{name} {p:.2f}" for name, p in why.most_probable())
    terminal.print_table(
        f"{shown!r}: {probabilities}",
        ("what tips the prediction", "contribution"),
        (row.cells() for row in why.outline(top)),
    )
    pairs = [] if why.labels is None else [("labels", why.given())]
    pairs += [("unknown", listed(why.unknown))] if why.unknown else []
    if pairs:
        terminal.print_pairs(pairs)
