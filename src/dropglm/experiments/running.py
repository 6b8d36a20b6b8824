"""Run the fits that have no line yet, and take the lines that are wanted."""

import platform
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

from threadpoolctl import threadpool_limits

from dropglm.datasets import DatasetError
from dropglm.experiments import raw
from dropglm.experiments.experiment import Experiment, Fit, Line
from dropglm.progress import Progress


def to_do(name: str, experiment: Experiment, out: Path, *, quick: bool = False) -> list[Fit]:
    """The fits that have no line in ``out/name.jsonl`` yet."""
    done = raw.read(out / f"{name}.jsonl")
    return [fit for fit in experiment.fits(quick) if raw.identity(_begun(name, fit)) not in done]


def run(
    name: str,
    experiment: Experiment,
    out: Path,
    *,
    quick: bool = False,
    progress: Progress | None = None,
    tell: Callable[[str], None] = print,
) -> None:
    """Run the fits that have no line in ``out/name.jsonl`` yet, and add one for each.

    A data set that cannot be had is told about once, and its fits are left out. ``progress`` may
    cover more than this experiment.
    """
    path = out / f"{name}.jsonl"
    raw.mend(path)
    fits = to_do(name, experiment, out, quick=quick)
    progress = progress or Progress("fits", costs=[fit.cost for fit in fits], shown=False)
    missing: set[str] = set()
    told: set[str] = set()  # several matrices may be made of one data set
    for fit in fits:
        if fit.data in missing:
            progress.skip_step(fit.cost)
            continue
        progress.start_step(f"{name}: {fit.data}, {fit.method}, seed {fit.seed}", fit.cost)
        try:
            rows = fit.rows()
        except (DatasetError, ImportError) as error:
            progress.skip_step(fit.cost)
            missing.add(fit.data)
            if str(error) not in told:
                tell(f"{fit.data} is left out: {error}")
            told.add(str(error))
            continue
        start = time.perf_counter()
        # On a busy machine BLAS on several threads made a rival's fit of small vectors forty times as long.
        with threadpool_limits(1, "blas"):
            result = dict(fit.work(rows))
        seconds = round(time.perf_counter() - start, 3)
        more = {"result": result, "seconds": seconds, "versions": _versions()}
        raw.append(path, _begun(name, fit) | more)
        progress.finish_step()


def wanted(name: str, experiment: Experiment, out: Path, *, quick: bool = False) -> list[Line]:
    """The lines of these fits, as far as they are there, in the order of the fits."""
    done = raw.read(out / f"{name}.jsonl")
    keys = [raw.identity(_begun(name, fit)) for fit in experiment.fits(quick)]
    return [done[key] for key in keys if key in done]


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
