"""Run the fits of an experiment that have no stored result yet."""

import time
from collections.abc import Callable
from pathlib import Path

from threadpoolctl import threadpool_limits

from dropglm.datasets import DatasetError
from dropglm.experiments.experiment import Experiment, Fit, Line
from dropglm.experiments.raw_results import RawResults
from dropglm.progress import Progress


class ExperimentRun:
    """A full or quick run of an experiment, with the results that a folder already has.

    Parameters
    ----------
    name : str
        Name of the experiment; its raw results are in ``<folder>/<name>.jsonl``.
    experiment : Experiment
    folder : Path
    quick : bool, default=False

    Attributes
    ----------
    fits : list of Fit
        All fits of the run, whether or not they have a result.
    results : RawResults
        The stored results, read when the object is created.
    """

    def __init__(self, name: str, experiment: Experiment, folder: Path, *, quick: bool = False) -> None:
        self.name = name
        self.experiment = experiment
        self.quick = quick
        self.fits = experiment.fits(quick)
        self.results = RawResults(folder, name)

    @property
    def lines(self) -> list[Line]:
        """The available results, in the order of the fits."""
        return self.results.lines(self.fits)

    @property
    def missing(self) -> list[Fit]:
        """The fits that have no result yet."""
        return self.results.missing(self.fits)

    def run(self, *, progress: Progress | None = None, tell: Callable[[str], None] = print) -> None:
        """Run the missing fits and store a result for each.

        Parameters
        ----------
        progress : Progress, optional
            Updated after each fit; may cover several experiments.
        tell : callable, default=print
            Called with one sentence for each data set that is not available. Its fits are skipped.
        """
        fits = self.missing
        progress = progress or Progress("fits", costs=[fit.cost for fit in fits], shown=False)
        unavailable: set[str] = set()
        reported: set[str] = set()  # several feature matrices may come from one data set
        for fit in fits:
            if fit.data in unavailable:
                progress.skip_step(fit.cost)
                continue
            progress.start_step(f"{self.name}: {fit.data}, {fit.method}, seed {fit.seed}", fit.cost)
            try:
                data = fit.load()
            except (DatasetError, ImportError) as error:
                progress.skip_step(fit.cost)
                unavailable.add(fit.data)
                if str(error) not in reported:
                    tell(f"{fit.data} is skipped: {error}")
                reported.add(str(error))
                continue
            start = time.perf_counter()
            # On a busy machine, BLAS with several threads slowed a baseline's fits of small vectors 40 times.
            with threadpool_limits(1, "blas"):
                result = fit.measure(data)
            self.results.append(fit, result, seconds=round(time.perf_counter() - start, 3))
            progress.finish_step()
