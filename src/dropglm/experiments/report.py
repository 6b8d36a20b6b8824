"""One page of all experiments, and the tables that pages and documents share; from lines alone."""

from collections.abc import Mapping
from html import escape
from pathlib import Path

from dropglm.experiments.experiment import Comparison, Experiment, Line
from dropglm.experiments.running import wanted
from dropglm.files import replacing
from dropglm.pages import ResultTable, figure, page
from dropglm.progress import in_words

TITLE = "Dropout training as adaptive regularization, run again"
ABOUT = (
    "The experiments of Wager, Wang and Liang (2013) and what belongs to them, run with dropglm. All numbers "
    "and pictures come from the raw results beside this page, one line a fit."
)
QUICK = (
    "This is a quick run: less data, fewer seeds. Numbers differ from those of the full run, which "
    "“dropglm reproduce --all” makes."
)
ERRORS = "± is the standard error of our number; the gap is ours less the paper's."


def ready_to_draw() -> None:
    """See to it that Matplotlib is there, and that it opens no window."""
    try:
        import matplotlib as mpl
    except ImportError as error:
        raise ImportError("The page needs Matplotlib: pip install 'dropglm[plots]'.") from error
    mpl.use("svg")


def report(experiments: Mapping[str, Experiment], out: Path, *, quick: bool = False) -> Path:
    """Write ``out/index.html`` or ``quick.html``: every experiment that has lines of this form there."""
    ready_to_draw()
    lines = {name: wanted(name, each, out, quick=quick) for name, each in experiments.items()}
    compared = comparisons(experiments, lines)
    blocks = [_paragraph(ABOUT), *([_paragraph(QUICK)] if quick else [])]
    blocks.append(_contents(experiments, lines, summary=bool(compared.rows), quick=quick))
    if compared.rows:
        blocks.append(_section("summary", compared.html(), _paragraph(ERRORS)))
    for name, experiment in experiments.items():
        if not lines[name]:
            continue
        heading = f"<h2>{escape(experiment.title)}</h2>"
        blocks.append(_section(name, heading, *_told(experiment, lines[name], quick=quick)))
    blocks.append(_section("times", times(experiments, lines, quick=quick).html()))
    path = out / ("quick.html" if quick else "index.html")
    with replacing(path) as stream:
        stream.write(page(TITLE, blocks).encode())
    return path


def comparisons(experiments: Mapping[str, Experiment], lines: Mapping[str, list[Line]]) -> ResultTable:
    """The paper's numbers and ours, over all experiments."""
    rows = [
        [f"{name}: {found.what}", *_numbers(found)]
        for name, experiment in experiments.items()
        if lines[name]
        for found in experiment.compare(lines[name])
    ]
    return ResultTable("The paper and ours", ["", "paper", "ours", "±", "gap"], rows)


def _numbers(found: Comparison) -> list[str]:
    """The digits shown, and the gap between them."""
    error = "-" if found.error is None else _error(found.error)
    if found.paper is None:
        return ["-", f"{found.ours:.2f}", error, "-"]
    gap = round(round(found.ours, 2) - found.paper, 2)
    return [f"{found.paper:.2f}", f"{found.ours:.2f}", error, f"{gap + 0.0:+.2f}"]  # no -0.00


def _error(error: float) -> str:
    """With two decimals, or as many as it takes."""
    return f"{error:.2f}" if error >= 0.005 else f"{error:.1g}"


def times(
    experiments: Mapping[str, Experiment], lines: Mapping[str, list[Line]], *, quick: bool = False
) -> ResultTable:
    """How long each experiment took, all of its fits together."""
    rows = []
    for name, experiment in experiments.items():
        found = lines[name]
        took = in_words(_seconds(found)) if found else _absent(experiment, quick=quick)
        rows.append([name, f"{len(found)}", took])
    total = sum(_seconds(found) for found in lines.values())
    rows.append(["all", f"{sum(map(len, lines.values()))}", in_words(total)])
    return ResultTable("How long each took", ["experiment", "fits", "took"], rows)


def _seconds(lines: list[Line]) -> float:
    """Of all fits together, without the time it takes to read data."""
    return sum(line["seconds"] for line in lines)


def _made_with(lines: list[Line]) -> str:
    """How many fits, how long, and the versions behind them; several where a run went on after an upgrade."""
    seen = dict.fromkeys(
        ", ".join(f"{name} {number}" for name, number in line["versions"].items()) for line in lines
    )
    fits = f"{len(lines):,} fits" if len(lines) > 1 else "1 fit"
    return f"{fits} in {in_words(_seconds(lines))}, made with {'; and with '.join(seen)}."


def listing(experiments: Mapping[str, Experiment]) -> ResultTable:
    """What there is to reproduce."""
    rows = [
        [
            name,
            each.summary,
            ", ".join(each.data) or "none",
            each.takes,
            each.takes_quick if each.fits(True) else "left out",
        ]
        for name, each in experiments.items()
    ]
    return ResultTable("Experiments", ["name", "what it shows", "data sets", "takes", "with --quick"], rows)


def _contents(
    experiments: Mapping[str, Experiment], lines: Mapping[str, list[Line]], *, summary: bool, quick: bool
) -> str:
    items = ['<a href="#summary">The paper and ours</a>'] if summary else []
    for name, experiment in experiments.items():
        if lines[name]:
            items.append(f'<a href="#{name}">{escape(experiment.title)}</a>')
        else:
            items.append(f"{escape(experiment.title)} ({_absent(experiment, quick=quick)})")
    items.append('<a href="#times">How long each took</a>')
    return f"<nav><ul>{''.join(f'<li>{item}</li>' for item in items)}</ul></nav>"


def _absent(experiment: Experiment, *, quick: bool) -> str:
    return "not run" if experiment.fits(quick) else "no quick form"


def said(experiment: Experiment, lines: list[Line], *, quick: bool = False) -> list[str]:
    """Paragraphs: what was done, what is missing, what it was made with."""
    paragraphs = [experiment.protocol]
    fits = experiment.fits(quick)
    if len(lines) < len(fits):
        here = {line["data"] for line in lines}
        absent = dict.fromkeys(fit.data for fit in fits if fit.data not in here)
        nothing = f" Nothing is here of {', '.join(absent)}." if absent else ""
        paragraphs.append(f"{len(lines):,} of {len(fits):,} fits are here.{nothing}")
    return [*paragraphs, _made_with(lines)]


def _told(experiment: Experiment, lines: list[Line], *, quick: bool) -> list[str]:
    """A section: what was done and with what, tables, figures."""
    blocks = [_paragraph(text) for text in said(experiment, lines, quick=quick)]
    blocks += [table.html(level=3) for table in experiment.collect(lines)]
    return blocks + [figure(caption, panels) for caption, panels in experiment.draw(lines).items()]


def _paragraph(text: str) -> str:
    return f"<p>{escape(text)}</p>"


def _section(anchor: str, *blocks: str) -> str:
    return f'<section id="{anchor}">{"".join(blocks)}</section>'
