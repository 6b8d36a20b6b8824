"""An experiment that takes no time, and a data set of toy texts."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure

from dropglm.datasets import DatasetError
from dropglm.experiments import Comparison, Experiment
from dropglm.experiments.experiment import PlannedFit
from dropglm.plots.pages import ResultTable


@dataclass(frozen=True)
class Toy(Experiment):
    """Squares of seeds; ``worked`` is called with each fit that is run, ``absent`` data cannot be loaded."""

    worked: Callable = lambda fit: None
    absent: tuple = ()
    title: str = "Squares"
    has_quick: bool = True
    has_subset: bool = True
    cost: float = 1.0
    comparison: Comparison | None = None

    summary = "squares"
    data = ("one", "two")
    takes, takes_quick = "an hour", "a minute"
    protocol = "It squares."

    def fits(self, quick):
        if quick and not self.has_quick:
            return []
        return [self._fit(data, seed, quick) for seed in range(2 if quick else 3) for data in self.data]

    def subset(self):
        return [fit for fit in self.fits(False) if fit.seed == 0] if self.has_subset else []

    def tabulate(self, lines):
        rows = [[line["data"], str(line["result"]["square"])] for line in lines]
        return [ResultTable("Squares by seed", ["data", "square"], rows)]

    def draw(self, lines):
        figures = [Figure(), Figure()]
        for figure in figures:
            figure.subplots().plot(squares(lines), marker="o")
        return {f"{self.title}, twice.": figures}

    def compare(self, lines):
        return [self.comparison or Comparison("largest square", 4.0, max(squares(lines)), 0.25)]

    def _fit(self, data, seed, quick):
        def load():
            if data in self.absent:
                raise DatasetError(f"{data} is not on this machine.")
            return data

        def measure(loaded):
            self.worked((loaded, seed))
            return {"square": seed**2}

        return PlannedFit(data, "square", seed, {"rows": 5 if quick else 50}, load, measure, self.cost)


def squares(lines):
    return [line["result"]["square"] for line in lines]


def timeless(lines):
    """Return the lines without their running times."""
    return [{key: value for key, value in line.items() if key != "seconds"} for line in lines]


class Killed(BaseException):
    pass


def killed_after(number):
    """Return a ``worked`` that raises ``Killed`` after that many fits."""
    seen = []

    def worked(fit):
        if len(seen) == number:
            raise Killed
        seen.append(fit)

    return worked


GOOD, BAD = ["lovely", "great", "warm", "funny", "clever"], ["dull", "boring", "cold", "flat", "stupid"]


def reviews(rng, n):
    """Return texts of ten words, two of which depend on the label."""
    y = rng.integers(2, size=n)
    y[:2] = 0, 1
    plain = [f"word{k}" for k in range(30)]
    texts = []
    for label in y:
        words = [*rng.choice(plain, 8), *rng.choice(GOOD if label else BAD, 2)]
        texts.append(" ".join(rng.permutation(words)) + ".")
    return np.array(texts, object), y


class ToyDataset:
    """What ``load_dataset`` returns."""

    def __init__(self, seed=0):
        rng = np.random.default_rng(seed)
        self.texts, self.y = reviews(rng, 60)
        self.texts_test, self.y_test = reviews(rng, 40)
        self.unlabeled = reviews(rng, 50)[0]
