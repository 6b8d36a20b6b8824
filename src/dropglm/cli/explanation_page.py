"""An HTML page that shows what a model has learnt, and how it classifies some texts."""

from collections.abc import Mapping
from html import escape
from itertools import pairwise
from typing import Any

import numpy as np

from dropglm.base.imports import import_extra
from dropglm.cli.terminal import printable
from dropglm.plots import NgramWeightsDisplay
from dropglm.plots.pages import COLORS, ResultTable, figure, page
from dropglm.text.explanation import Explanation, NgramWeight
from dropglm.text.fitted_model import FittedTextModel
from dropglm.text.ngrams.tokens import as_written

MOST_FIGURES = 12  # a table is easier to search, and quicker to write, if there are more classes
SHOWN_CLASSES = 5  # with their probabilities for a text
FAINTEST = 0.04  # share of the strongest weight; weaker words are not coloured
FOR, AGAINST = COLORS[:2]
NO_BREAK = "\N{NO-BREAK SPACE}"


def explanation_page(
    model: FittedTextModel,
    name: str,
    best: Mapping[Any, list[NgramWeight]],
    explained: Mapping[str, Explanation],
    top: int,
) -> str:
    """Return the page as self-contained HTML."""
    import_extra("matplotlib", "plots", "The page needs").use("svg")
    summary = ResultTable(
        "The model", ["", ""], [[heading, printable(text)] for heading, text in model.summary_.lines()]
    )
    blocks = [summary.html(), _top_ngrams(best)]
    for text, why in explained.items():
        blocks.append(f"<section>{_highlighted(model, text, why)}{_contributions(why, top)}</section>")
    return page(f"What {name} has learnt", blocks)


def _top_ngrams(best: Mapping[Any, list[NgramWeight]]) -> str:
    """Return the most important n-grams of each class: as bars, or as a table if there are many classes."""
    chosen = (
        "The most important n-grams of each class, given their weights and how many texts contain them. The "
        "weight is what the n-gram adds to the predictor of the class in a typical text that contains it. "
        "N-grams with punctuation come after all others."
    )
    if len(best) <= MOST_FIGURES:
        bars = [_figure_of(NgramWeightsDisplay._of_class(*pair).plot()) for pair in best.items()]
        return figure(f"{chosen} Bars are in order of their length.", bars)
    rows = [
        [
            printable(str(label)),
            ", ".join(f"{printable(name)}{NO_BREAK}{weight:+.2f}" for name, weight in entries),
        ]
        for label, entries in best.items()
    ]
    table = ResultTable("The classes", ["class", "n-grams with their weights"], rows)
    return f"{table.html()}<p>{escape(chosen)} The most important ones come first.</p>"


def _contributions(why: Explanation, top: int) -> str:
    """Return the bars of the largest contributions, and how contributions add up."""
    sums = [[*row._replace(name=printable(row.name)).cells("\N{EM SPACE}")] for row in why.outline(0)]
    bars = NgramWeightsDisplay.from_explanation(why, top) if why.supporting or why.opposing else None
    compared = f"for and against the label {why.label}"
    if why.labels is None:
        compared = f"that tip the prediction, the class {why.label} against the runner-up ({why.against})"
    caption = (
        f"The n-grams {compared}, the largest contributions first. N-grams with punctuation are left out."
    )
    bars_html = figure(printable(caption), [_figure_of(bars)]) if bars else ""
    return bars_html + ResultTable("How the contributions add up", ["", "contribution"], sums).html(3)


def _highlighted(model: FittedTextModel, text: str, why: Explanation) -> str:
    """Return the tokens of a text as HTML, each in the colour of the class that it favours."""
    tokens = model.vectorizer.tokenize(text)
    weights = _token_weights(tokens, why, model.vectorizer.ngram_range[1])
    strongest = max(float(np.abs(weights).max(initial=0.0)), 1e-12)
    unknown = set(why.unknown)
    words = []
    for before, token, weight in zip(_blanks(tokens), tokens, weights.tolist(), strict=True):
        shown = escape(printable(token))
        if token in unknown:
            shown = f'<span class="unknown">{shown}</span>'
        elif abs(weight) > FAINTEST * strongest:
            colour = _tint(FOR if weight > 0 else AGAINST, abs(weight) / strongest)
            shown = f'<mark style="background:{colour}" title="{weight:+.3f}">{shown}</mark>'
        words.append(f"{before}{shown}")
    key = " ".join(
        f'<mark style="background:{_tint(colour, 0.8)}">{escape(printable(side))}</mark>'
        for colour, side in zip((FOR, AGAINST), why.sides, strict=True)
    )
    title = escape(printable(f"{why.label}, probability {why.probability:.2f}"))
    classes = ", ".join(f"{printable(name)}{NO_BREAK}{p:.2f}" for name, p in why.most_probable(SHOWN_CLASSES))
    given = "" if why.labels is None else f"Labels: {escape(printable(why.given()))}. "
    note = ' <span class="text"><span class="unknown">unknown</span></span>' if unknown else ""
    return (
        f"<h2>{title}</h2><p>{given}Probabilities: {escape(classes)}</p>"
        f'<p class="key">{key}{note}</p><p class="text">{"".join(words)}</p>'
    )


def _blanks(tokens: list[str]) -> list[str]:
    """Return what to write before each token: nothing within scripts that do not separate words.

    Examples
    --------
    >>> _blanks(["很", "好", "film"])
    ['', '', ' ']
    """
    joined = (as_written(f"{first} {second}") for first, second in pairwise(tokens))
    return ["", *(" " if " " in each else "" for each in joined)][: len(tokens)]


def _token_weights(tokens: list[str], why: Explanation, longest: int) -> np.ndarray:
    """Return the weight of each token; the weight of an n-gram is shared by its tokens."""
    weight = {entry.ngram: entry.weight for entry in why.contributions}
    total = np.zeros(len(tokens))
    for n in range(1, longest + 1):
        for start in range(len(tokens) - n + 1):
            total[start : start + n] += weight.get(as_written(" ".join(tokens[start : start + n])), 0.0) / n
    return total


def _tint(colour: str, strength: float) -> str:
    red, green, blue = (int(colour[k : k + 2], 16) for k in (1, 3, 5))
    return f"rgba({red},{green},{blue},{0.5 * strength:.2f})"


def _figure_of(display: NgramWeightsDisplay) -> Any:
    """Return the figure, as high as its bars need."""
    drawn = display.figure_
    drawn.set_size_inches(5, 1.2 + 0.26 * max(4, len(display.ngrams)))
    return drawn
