"""An HTML page that shows what a model has learnt, and how it classifies some texts."""

from collections.abc import Mapping
from html import escape
from typing import Any

import numpy as np

from dropglm.cli.terminal import visible
from dropglm.extras import import_extra
from dropglm.pages import ResultTable, figure, page
from dropglm.plots import NgramWeightsDisplay
from dropglm.plots.axes import COLORS
from dropglm.text import TextModel
from dropglm.text.explanation import Explanation


def explanation_page(model: TextModel, name: str, explained: Mapping[str, Explanation], top: int) -> str:
    """Return the page as self-contained HTML."""
    import_extra("matplotlib", "plots", "The page needs").use("svg")
    summary = ResultTable(
        "The model", ["", ""], [[heading, visible(text)] for heading, text in model.summary_.lines()]
    )
    labels = model.classes_.tolist()
    bars = [_figure_of(NgramWeightsDisplay.from_estimator(model, label, top)) for label in labels]
    blocks = [
        summary.html(),
        figure("The n-grams with the largest weights for each class.", bars),
    ]
    for text, why in explained.items():
        blocks += [_highlighted(model, text, why, labels), _contributions(why, labels, top)]
    return page(f"What {name} has learnt", blocks)


def _contributions(why: Explanation, labels: list[Any], top: int) -> str:
    rows = [[str(label), f"{p:.4f}"] for label, p in why.probabilities.items()]
    bars = _figure_of(NgramWeightsDisplay.from_explanation(why, labels, top))
    table = ResultTable("Probabilities", ["class", "probability"], rows)
    return table.html() + figure("The n-grams of this text with the largest contributions.", [bars])


def _highlighted(model: TextModel, text: str, why: Explanation, labels: list[Any]) -> str:
    """Return the tokens of a text as HTML, each in the colour of the class that it favours."""
    tokens = model.vectorizer_.tokenize(text)
    weights = _token_weights(tokens, why, model.ngram_range[1], len(labels))
    strongest = max(float(np.abs(weights).max(initial=0.0)), 1e-12)
    unknown = set(why.unknown)
    words = []
    for token, row in zip(tokens, weights, strict=True):
        shown = escape(visible(token))
        favoured = int(row.argmax())
        if token in unknown:
            words.append(f'<span class="unknown">{shown}</span>')
        elif row[favoured] > 0:
            colour = _tint(favoured, float(row[favoured]) / strongest)
            words.append(f'<mark style="background:{colour}">{shown}</mark>')
        else:
            words.append(shown)
    key = " ".join(
        f'<mark style="background:{_tint(k, 0.8)}">{escape(visible(str(label)))}</mark>'
        for k, label in enumerate(labels)
    )
    title = escape(visible(f"{why.label}, probability {why.probability:.2f}"))
    note = ' <span class="text"><span class="unknown">unknown</span></span>' if unknown else ""
    return f'<h2>{title}</h2><p class="key">{key}{note}</p><p class="text">{" ".join(words)}</p>'


def _token_weights(tokens: list[str], why: Explanation, longest: int, classes: int) -> np.ndarray:
    """Return the weights, shape (tokens, classes); the weight of an n-gram is shared by its tokens."""
    weight = {entry.ngram: np.array(entry.weights) for entry in why.contributions}
    total = np.zeros((len(tokens), classes))
    for n in range(1, longest + 1):
        for start in range(len(tokens) - n + 1):
            found = weight.get(" ".join(tokens[start : start + n]))
            if found is not None:
                total[start : start + n] += found / n
    return total


def _tint(number: int, strength: float) -> str:
    red, green, blue = (int(COLORS[number % len(COLORS)][k : k + 2], 16) for k in (1, 3, 5))
    return f"rgba({red},{green},{blue},{0.08 + 0.5 * strength:.2f})"


def _figure_of(display: NgramWeightsDisplay) -> Any:
    """Return the figure, as high as its bars need."""
    drawn = display.figure_
    drawn.set_size_inches(5, 1.2 + 0.26 * max(4, len(display.ngrams)))
    return drawn
