"""``dropglm explain``: what a model has learnt, and why it predicts a label for a text."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dropglm.cli import options, terminal
from dropglm.cli.inputs_outputs import check_output
from dropglm.files import replacing

if TYPE_CHECKING:
    from dropglm.text.explanation import Explanation


def explain(
    model: options.ModelFile,
    texts: Annotated[
        list[str] | None, typer.Argument(help="Texts to explain, each in quotes.", show_default=False)
    ] = None,
    top: Annotated[
        int,
        typer.Option(
            help="Number of n-grams to show per class and per text.", min=1, rich_help_panel=options.OUTPUT
        ),
    ] = 15,
    html: Annotated[
        Path | None,
        typer.Option(
            help="Write a self-contained HTML page with figures to this file.",
            show_default=False,
            rich_help_panel=options.OUTPUT,
        ),
    ] = None,
    json: options.Json = False,
) -> None:
    """Show the n-grams that favour each class and, for given texts, the contribution of each n-gram."""
    from dropglm.text import load_model
    from dropglm.text.explanation import top_to_dict

    if html is not None:
        check_output(html, "--html", (model,))
    classifier = load_model(model)
    best = classifier.top_features(top)
    explained = {text: classifier.explain(text) for text in texts or ()}
    if html is not None:
        from dropglm.cli.explanation_page import explanation_page

        with replacing(html) as stream:
            stream.write(explanation_page(classifier, model.name, explained, top).encode())
    if json:
        terminal.as_json(
            {
                "summary": classifier.summary_.to_dict(),
                "top_features": top_to_dict(best),
                "texts": [{"text": text} | why.to_dict() for text, why in explained.items()],
            }
        )
        return
    terminal.pairs(classifier.summary_.lines())
    terminal.top_table(best)
    for text, why in explained.items():
        _print_explanation(text, why, top)
    if html is not None:
        terminal.message(f"wrote {html}.")


def _print_explanation(text: str, why: "Explanation", top: int) -> None:
    shown = text if len(text) <= 40 else f"{text[:39]}…"
    several = len(why.probabilities) > 2
    given = list(why.probabilities).index(why.label)
    terminal.table(
        f"{shown!r}: {why.label}, probability {why.probability:.2f}",
        ("n-gram", "favours", "weight", *([f"weight for {why.label}"] if several else ())),
        (
            (
                entry.ngram,
                str(entry.label),
                f"{entry.weight:+.2f}",
                *([f"{entry.weights[given]:+.2f}"] if several else ()),
            )
            for entry in why.contributions[:top]
        ),
        words=2,
    )
    base = ", ".join(f"{label} {b:+.2f}" for label, b in zip(why.probabilities, why.base, strict=True))
    terminal.pairs([("intercept", base)])
    rest = len(why.contributions) - top
    if rest > 0:
        terminal.pairs([("not shown", f"{rest} n-grams with smaller weights")])
    if why.unknown:
        terminal.pairs([("unknown", ", ".join(why.unknown))])
