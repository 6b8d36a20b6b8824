"""A self-contained HTML page of tables and figures."""

import re
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from html import escape
from io import StringIO
from typing import Any

STYLE = """
:root { color-scheme: light; }
body { font: 1rem/1.5 system-ui, sans-serif; color: #222; background: #fff; margin: 0 auto; padding: 1rem;
       max-width: 52rem; }
h1, h2, p, figcaption { overflow-wrap: anywhere; }
h1 { font-size: 1.5rem; line-height: 1.25; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; margin: 1rem 0; font-variant-numeric: tabular-nums; }
h2 { font-size: 1rem; margin: 2rem 0 0; }
th, td { padding: .25rem .9rem .25rem 0; text-align: right; }
th { border-bottom: 1px solid #222; }
th.word, td.word { text-align: left; overflow-wrap: anywhere; min-width: 8.5rem; }
figure { display: flex; flex-wrap: wrap; gap: 1rem; margin: 2rem 0; break-inside: avoid; }
figure svg { flex: 1 1 18rem; max-width: 30rem; height: auto; }
.text { line-height: 1.9; overflow-wrap: anywhere; }
.text mark { color: inherit; border-radius: .2rem; padding: .1rem .15rem; }
.text .unknown { text-decoration: underline dotted #888; }
.key { color: #444; font-size: .95rem; }
.key mark { color: inherit; padding: .1rem .4rem; border-radius: .2rem; }
figcaption { flex-basis: 100%; color: #444; font-size: .95rem; }
@media (max-width: 30rem) { table { font-size: .85rem; } th, td { padding-right: .5rem; }
                            th.word, td.word { min-width: 6.5rem; } }
"""


@dataclass(frozen=True)
class Table:
    """A title, a header and rows of text."""

    title: str
    header: list[str]
    rows: list[list[str]]

    def _is_number(self, column: int) -> bool:
        return all(re.fullmatch(r"[-+\d.e]+", row[column]) for row in self.rows)

    def plain(self) -> str:
        """For a terminal."""
        widths = [max(map(len, column)) for column in zip(self.header, *self.rows, strict=True)]

        def line(row: list[str]) -> str:
            cells = (
                cell.rjust(width) if self._is_number(k) else cell.ljust(width)
                for k, (cell, width) in enumerate(zip(row, widths, strict=True))
            )
            return "  ".join(cells)

        return "\n".join([self.title, line(self.header), *map(line, self.rows)])

    def html(self) -> str:
        """For a page."""

        def line(row: list[str], tag: str) -> str:
            marks = ("" if self._is_number(k) else ' class="word"' for k in range(len(row)))
            cells = (f"<{tag}{mark}>{escape(cell)}</{tag}>" for mark, cell in zip(marks, row, strict=True))
            return f"<tr>{''.join(cells)}</tr>"

        body = "".join(line(row, "td") for row in self.rows)
        head = f"<thead>{line(self.header, 'th')}</thead>"
        title = f"<h2>{escape(self.title)}</h2>"
        return f'{title}<div class="scroll"><table>{head}<tbody>{body}</tbody></table></div>'


def _svg(figure: Any) -> str:
    """A Matplotlib figure as an SVG element that takes the width it is given; it is closed afterwards."""
    import matplotlib as mpl
    from matplotlib import pyplot as plt

    text = StringIO()
    # As text, not as curves: the browser has letters for scripts that Matplotlib's own font lacks.
    with mpl.rc_context({"svg.fonttype": "none"}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")
        figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    plt.close(figure)
    svg = text.getvalue()
    # The XML prologue names a DTD elsewhere; the fixed size would not fit a phone.
    svg = svg[svg.index("<svg") :]
    return re.sub(r' (width|height)="[\d.]+pt"', "", svg, count=2)


def figure(caption: str, panels: list[Any]) -> str:
    """Matplotlib's figures side by side where there is room, with a caption."""
    return f"<figure>{''.join(map(_svg, panels))}<figcaption>{escape(caption)}</figcaption></figure>"


def page(title: str, blocks: Iterable[str]) -> str:
    """The whole document, from blocks of HTML one below the other."""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{STYLE}</style></head>\n"
        f"<body><h1>{escape(title)}</h1>\n{''.join(blocks)}</body></html>\n"
    )
