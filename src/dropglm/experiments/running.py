"""The three steps: run what is missing, take the lines that are wanted, make a page of them."""

import platform
import time
from collections.abc import Callable
from html import escape
from importlib.metadata import version
from pathlib import Path

from dropglm.datasets import DatasetError
from dropglm.experiments import raw
from dropglm.experiments.experiment import Experiment, Fit, Line
from dropglm.files import replacing
from dropglm.pages import Table, figure, page
from dropglm.progress import Progress


def run(
    name: str,
    experiment: Experiment,
    out: Path,
    *,
    quick: bool = False,
    shown: bool = False,
    tell: Callable[[str], None] = print,
) -> None:
    """Run the fits that have no line in ``out/name.jsonl`` yet, and add one for each.

    A data set that cannot be had is told about once, and its fits are left out.
    """
    path = out / f"{name}.jsonl"
    raw.mend(path)
    done = raw.read(path)
    todo = [fit for fit in experiment.fits(quick) if raw.identity(_begun(name, fit)) not in done]
    missing: dict[str, str] = {}
    with Progress("fits", len(todo), shown=shown) as progress:
        for fit in todo:
            if fit.data not in missing:
                try:
                    rows = fit.rows()
                except (DatasetError, ImportError) as error:
                    missing[fit.data] = str(error)
                else:
                    start = time.perf_counter()
                    result = dict(fit.work(rows))
                    seconds = round(time.perf_counter() - start, 3)
                    more = {"result": result, "seconds": seconds, "versions": _versions()}
                    raw.append(path, _begun(name, fit) | more)
            progress.advance()
    # After the bar, which a sentence would break.
    for data, reason in missing.items():
        tell(f"{data} is left out: {reason}")


def wanted(name: str, experiment: Experiment, out: Path, *, quick: bool = False) -> list[Line]:
    """The lines of these fits, as far as they are there, in the order of the fits."""
    done = raw.read(out / f"{name}.jsonl")
    keys = [raw.identity(_begun(name, fit)) for fit in experiment.fits(quick)]
    return [done[key] for key in keys if key in done]


def report(name: str, experiment: Experiment, out: Path, lines: list[Line], *, quick: bool = False) -> Path:
    """Write ``out/name.html``, a page with tables and figures, from lines alone."""
    import matplotlib as mpl

    mpl.use("svg")
    said = [experiment.protocol, _made_with(lines)]
    if quick:
        said.insert(1, "This is a quick run: less data, fewer seeds.")
    fits = experiment.fits(quick)
    if len(lines) < len(fits):
        here = {line["data"] for line in lines}
        absent = dict.fromkeys(fit.data for fit in fits if fit.data not in here)
        nothing = f" Nothing is here of {', '.join(absent)}." if absent else ""
        said.insert(1, f"{len(lines):,} of {len(fits):,} fits are here.{nothing}")
    blocks = [f"<p>{escape(text)}</p>" for text in said]
    blocks += [table.html() for table in experiment.collect(lines)]
    blocks += [figure(caption, panels) for caption, panels in experiment.draw(lines).items()]
    path = out / f"{name}.html"
    with replacing(path) as stream:
        stream.write(page(experiment.title, blocks).encode())
    return path


def listing(experiments: dict[str, Experiment]) -> Table:
    """What there is to reproduce."""
    rows = [
        [name, each.summary, ", ".join(each.data) or "none", each.takes, each.takes_quick]
        for name, each in experiments.items()
    ]
    return Table("Experiments", ["name", "what it shows", "data sets", "takes", "with --quick"], rows)


def _begun(name: str, fit: Fit) -> Line:
    """The line of a fit before it is run."""
    return {
        "experiment": name,
        "data": fit.data,
        "method": fit.method,
        "seed": fit.seed,
        "parameters": dict(fit.parameters),
    }


def _versions() -> dict[str, str]:
    packages = {name: version(name) for name in ("dropglm", "numpy", "scikit-learn")}
    return packages | {"python": platform.python_version()}


def _made_with(lines: list[Line]) -> str:
    """The versions behind the lines; several where a run was resumed after an upgrade."""
    seen = dict.fromkeys(
        ", ".join(f"{name} {number}" for name, number in line["versions"].items()) for line in lines
    )
    return f"{len(lines):,} fits, made with {'; and with '.join(seen)}."
