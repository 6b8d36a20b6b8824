"""The page with all experiments, and the texts and tables that it shares with the documents."""

from collections.abc import Mapping
from html import escape
from pathlib import Path

from dropglm.base.files import replacing
from dropglm.base.imports import import_extra
from dropglm.base.progress import in_words
from dropglm.experiments.experiment import Comparison, Experiment, ExperimentRun
from dropglm.experiments.results import Lines
from dropglm.plots.pages import ResultTable, figure, page

TITLE = "Dropout training as adaptive regularization: the experiments, reproduced"
ABOUT = (
    "The experiments of Wager, Wang and Liang (2013) and some that extend them, run with dropglm. All "
    "numbers and figures come from the raw results stored next to this page, one line per fit."
)
QUICK = (
    "This is a quick run, with less data and fewer seeds. Its numbers differ from those of a full run of all "
    "experiments."
)
ERRORS = "± is the standard error of our number; the gap is ours minus the paper's."
COMPARED, TIMES = "The paper's numbers and ours", "Running times"

Runs = Mapping[str, ExperimentRun]


def require_matplotlib() -> None:
    """Raise an error if Matplotlib is not installed, and select a backend that opens no windows."""
    import_extra("matplotlib", "plots", "The page needs").use("svg")


def report(runs: Runs, folder: Path) -> Path:
    """Write the page of all experiments that have results.

    Parameters
    ----------
    runs : mapping of str to ExperimentRun
        Either all full or all quick.
    folder : Path

    Returns
    -------
    Path
        ``index.html`` in the folder, or ``quick.html`` for quick runs.
    """
    require_matplotlib()
    quick = any(run.quick for run in runs.values())
    lines = {name: run.lines for name, run in runs.items()}
    compared = comparisons(runs)
    blocks = [_paragraph(ABOUT), *([_paragraph(QUICK)] if quick else [])]
    blocks.append(_contents(runs, lines, summary=bool(compared.rows)))
    if compared.rows:
        blocks.append(_section("summary", compared.html(), _paragraph(ERRORS)))
    blocks += [_experiment_section(run, lines[name]) for name, run in runs.items() if lines[name]]
    blocks.append(_section("times", running_times(runs, lines).html()))
    path = folder / ("quick.html" if quick else "index.html")
    with replacing(path) as stream:
        stream.write(page(TITLE, blocks).encode())
    return path


def comparisons(runs: Runs) -> ResultTable:
    """Return one table with the paper's numbers and ours from all experiments that have results."""
    rows = [
        [f"{name}: {item.what}", *comparison_cells(item)]
        for name, run in runs.items()
        if (lines := run.lines)
        for item in run.experiment.compare(lines)
    ]
    return ResultTable(COMPARED, ["", "paper", "ours", "±", "gap"], rows)


def comparison_cells(item: Comparison) -> list[str]:
    """Return the cells of a comparison; the gap is that of the rounded numbers.

    Examples
    --------
    >>> comparison_cells(Comparison("accuracy", 87.5, 87.494))
    ['87.50', '87.49', '-', '-0.01']
    """
    error = "-" if item.error is None else f"{item.error:.2f}" if item.error >= 0.005 else f"{item.error:.1g}"
    if item.paper is None:
        return ["-", f"{item.ours:.2f}", error, "-"]
    gap = round(round(item.ours, 2) - item.paper, 2)
    return [f"{item.paper:.2f}", f"{item.ours:.2f}", error, f"{gap + 0.0:+.2f}"]  # + 0.0: never -0.00


def running_times(runs: Runs, lines: Mapping[str, Lines]) -> ResultTable:
    """Return the running time of each experiment, summed over its fits."""
    rows = [
        [name, f"{len(lines[name])}", in_words(_seconds(lines[name])) if lines[name] else _why_absent(run)]
        for name, run in runs.items()
    ]
    total = sum(map(_seconds, lines.values()))
    rows.append(["all", f"{sum(map(len, lines.values()))}", in_words(total)])
    return ResultTable(TIMES, ["experiment", "fits", "time"], rows)


def list_experiments(experiments: Mapping[str, Experiment]) -> ResultTable:
    """Return a table of the experiments, what they need and how long they take."""
    rows = [
        [
            name,
            experiment.summary,
            ", ".join(experiment.data) or "none",
            experiment.takes,
            experiment.takes_quick if experiment.fits(True) else "not available",
        ]
        for name, experiment in experiments.items()
    ]
    return ResultTable("Experiments", ["name", "what it shows", "data sets", "full run", "quick run"], rows)


def describe(run: ExperimentRun, lines: Lines) -> list[str]:
    """Return paragraphs that say what was done, which results are missing, and which versions were used."""
    paragraphs = [run.experiment.protocol]
    if len(lines) < len(run.fits):
        data, methods = (_absent(run, lines, field) for field in ("data", "method"))
        names = f" There are no results for {', '.join(data)}." if data else ""
        names += f" There are no results of these methods: {'; '.join(methods)}." if methods else ""
        paragraphs.append(f"{len(lines):,} of {len(run.fits):,} fits are available.{names}")
    return [*paragraphs, _versions(lines)]


def _absent(run: ExperimentRun, lines: Lines, field: str) -> list[str]:
    """Return the data or the methods of a run that have no results at all."""
    available = lines.by(field)
    return [name for name in dict.fromkeys(getattr(fit, field) for fit in run.fits) if name not in available]


def _versions(lines: Lines) -> str:
    """Number and time of the fits, and their versions: several if a run was resumed after an upgrade."""
    versions = dict.fromkeys(
        ", ".join(f"{name} {number}" for name, number in line["versions"].items()) for line in lines
    )
    fits = f"{len(lines):,} fits" if len(lines) > 1 else "1 fit"
    return f"{fits} in {in_words(_seconds(lines))}, with {'; and with '.join(versions)}."


def _seconds(lines: Lines) -> float:
    """Sum of the fits' running times, which exclude loading data."""
    return sum(line["seconds"] for line in lines)


def _contents(runs: Runs, lines: Mapping[str, Lines], *, summary: bool) -> str:
    items = [f'<a href="#summary">{escape(COMPARED)}</a>'] if summary else []
    for name, run in runs.items():
        title = escape(run.experiment.title)
        items.append(f'<a href="#{name}">{title}</a>' if lines[name] else f"{title} ({_why_absent(run)})")
    items.append(f'<a href="#times">{TIMES}</a>')
    return f"<nav><ul>{''.join(f'<li>{item}</li>' for item in items)}</ul></nav>"


def _why_absent(run: ExperimentRun) -> str:
    return "not run" if run.fits else "no quick version"


def _experiment_section(run: ExperimentRun, lines: Lines) -> str:
    """Heading, description, tables and figures of one experiment."""
    blocks = [f"<h2>{escape(run.experiment.title)}</h2>", *map(_paragraph, describe(run, lines))]
    blocks += [table.html(level=3) for table in run.experiment.tabulate(lines)]
    blocks += [figure(caption, panels) for caption, panels in run.experiment.draw(lines).items()]
    return _section(run.name, *blocks)


def _paragraph(text: str) -> str:
    return f"<p>{escape(text)}</p>"


def _section(anchor: str, *blocks: str) -> str:
    return f'<section id="{anchor}">{"".join(blocks)}</section>'
