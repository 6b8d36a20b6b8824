"""What displays and reports share: axes, styles and colours, tables, and self-contained HTML pages."""

import re
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from io import StringIO
from itertools import count
from typing import Any

import numpy as np

from dropglm.base.errors import InputError
from dropglm.base.imports import import_extra

# Distinguishable on a white background, also with colour vision deficiency (after Okabe and Ito).
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#7F6A00", "#56B4E9")
INK = "#222222"


def colors_of(names: Iterable[str], given: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return a colour for each name: the given one, or the next of the cycle.

    Examples
    --------
    >>> colors_of(["sgd", "arow"], {"arow": "black"})
    {'sgd': '#0072B2', 'arow': 'black'}
    """
    cycle = {name: COLORS[k % len(COLORS)] for k, name in enumerate(names)}
    return cycle | {name: color for name, color in (given or {}).items() if name in cycle}


def fresh_axes(columns: int = 1) -> Any:
    """Return new Matplotlib axes side by side, 5 inches wide: one Axes, or an array for several columns."""
    plt = import_extra("matplotlib.pyplot", "plots", "Drawing needs")
    _, axes = plt.subplots(1, columns, figsize=(5 * columns, 4), layout="constrained")
    return axes


def panels(ax: Any, count: int) -> np.ndarray:
    """Return an array of the axes that were given, one per panel, or of new ones."""
    axes = np.ravel(np.asarray(fresh_axes(count) if ax is None else ax, dtype=object))
    if len(axes) != count:
        wanted = "a single Axes" if count == 1 else f"an array of {count} axes, one per panel,"
        raise InputError(f"ax must be {wanted} or None; got {len(axes)} axes.")
    return axes


def line_style(kwargs: Mapping[str, Any], **defaults: Any) -> dict[str, Any]:
    """Return the defaults, replaced by the user's keyword arguments, of which ``lw`` is ``linewidth``.

    Examples
    --------
    >>> line_style({"lw": 3}, color="black", linewidth=1)
    {'color': 'black', 'linewidth': 3}
    """
    from matplotlib.cbook import normalize_kwargs
    from matplotlib.lines import Line2D

    return defaults | normalize_kwargs(dict(kwargs), Line2D)


@dataclass(frozen=True)
class ResultTable:
    """A finished table for a page, a document or the terminal.

    Attributes
    ----------
    title : str
    header : list of str
        Names of the columns.
    rows : list of list of str
        Cells, already formatted.
    """

    title: str
    header: list[str]
    rows: list[list[str]]

    def _is_number(self, column: int) -> bool:
        return all(re.fullmatch(r"[-+\d.e]+", row[column]) for row in self.rows)

    def html(self, level: int = 2) -> str:
        """Return the table as HTML, with its title as a heading of that level."""

        def row_html(row: list[str], tag: str) -> str:
            classes = ("" if self._is_number(k) else ' class="word"' for k in range(len(row)))
            cells = (f"<{tag}{name}>{escape(cell)}</{tag}>" for name, cell in zip(classes, row, strict=True))
            return f"<tr>{''.join(cells)}</tr>"

        body = "".join(row_html(row, "td") for row in self.rows)
        head = f"<thead>{row_html(self.header, 'th')}</thead>"
        title = f"<h{level}>{escape(self.title)}</h{level}>"
        grid = f'<div class="scroll"><table>{head}<tbody>{body}</tbody></table></div>'
        return f'<div class="table">{title}{grid}</div>'


def _svg(figure: Any) -> str:
    """Return a Matplotlib figure as an SVG element that fills the available width, and close the figure."""
    import matplotlib as mpl
    from matplotlib import pyplot as plt

    text = StringIO()
    # Text stays text, because the browser has glyphs that Matplotlib's font lacks. The fixed salt gives a
    # figure the same ids in every run.
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "dropglm"}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")
        figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    plt.close(figure)
    svg = text.getvalue()
    # Drop the XML prologue, which refers to an external DTD, and the fixed size, which does not fit a phone.
    svg = svg[svg.index("<svg") :]
    return re.sub(r' (width|height)="[\d.]+pt"', "", svg, count=2)


def figure(caption: str, panels: list[Any]) -> str:
    """Return Matplotlib figures, side by side if there is room, with a caption."""
    return f"<figure>{''.join(map(_svg, panels))}<figcaption>{escape(caption)}</figcaption></figure>"


def _with_unique_ids(svg: str, number: int) -> str:
    """Put the number of the figure in front of its ids and of all references to them.

    Matplotlib uses the same ids in all figures, and browsers take the first element with an id: curves of one
    figure would be clipped by the axes of another.

    Examples
    --------
    >>> _with_unique_ids('<svg><g id="a">id="b"</g><use xlink:href="#a" clip-path="url(#c)"/></svg>', 7)
    '<svg><g id="svg7-a">id="b"</g><use xlink:href="#svg7-a" clip-path="url(#svg7-c)"/></svg>'
    """

    def renamed(tag: re.Match[str]) -> str:
        return re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>svg{number}-", tag[0])

    return re.sub(r"<\w[^>]*>", renamed, svg)


def page(title: str, blocks: Iterable[str]) -> str:
    """Return a complete HTML document made from blocks of HTML."""
    numbers, style = count(1), (files("dropglm.plots") / "pages.css").read_text("utf-8")
    svg = re.compile("<svg.*?</svg>", re.S)
    body = svg.sub(lambda found: _with_unique_ids(found[0], next(numbers)), "".join(blocks))
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>\n{style}</style></head>\n"
        f"<body><h1>{escape(title)}</h1>\n{body}</body></html>\n"
    )
