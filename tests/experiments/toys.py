"""Experiments that take no time, and texts for those that are about texts."""

import numpy as np
from matplotlib.figure import Figure

from dropglm.datasets import DatasetError
from dropglm.experiments import Comparison, Experiment
from dropglm.experiments.experiment import Fit
from dropglm.pages import ResultTable


def toy(worked=None, absent=(), title="Squares", has_quick=True, cost=1.0):
    """Squares of seeds; ``worked`` is called with each fit that is run."""

    def rows(data):
        if data in absent:
            raise DatasetError(f"{data} is not on this machine.")
        return data

    def fits(quick):
        def fit(data, seed):
            def work(given):
                if worked is not None:
                    worked((given, seed))
                return {"square": seed**2}

            return Fit(data, "square", seed, {"rows": 5 if quick else 50}, lambda: rows(data), work, cost)

        if quick and not has_quick:
            return []
        return [fit(data, seed) for seed in range(2 if quick else 3) for data in ("one", "two")]

    def squares(lines):
        return [line["result"]["square"] for line in lines]

    def collect(lines):
        shown = zip(lines, squares(lines), strict=True)
        return [
            ResultTable(
                "Squares by seed", ["data", "square"], [[x["data"], str(square)] for x, square in shown]
            )
        ]

    def draw(lines):
        figures = [Figure(), Figure()]
        for figure in figures:
            figure.subplots().plot(squares(lines), marker="o")
        return {f"{title}, twice.": figures}

    def compare(lines):
        return [Comparison("largest square", 4.0, max(squares(lines)), 0.25)]

    return Experiment(
        title, "squares", ("one", "two"), "an hour", "a minute", "It squares.", fits, collect, draw, compare
    )


def timeless(lines):
    """What is in the lines but how long each took."""
    return [{key: value for key, value in line.items() if key != "seconds"} for line in lines]


class Killed(BaseException):
    pass


def killed_after(number):
    """A ``worked`` that lets so many fits through."""
    seen = []

    def worked(fit):
        if len(seen) == number:
            raise Killed
        seen.append(fit)

    return worked


GOOD, BAD = ["lovely", "great", "warm", "funny", "clever"], ["dull", "boring", "cold", "flat", "stupid"]


def reviews(rng, n):
    """Texts of ten words, of which two speak for the label."""
    y = rng.integers(2, size=n)
    y[:2] = 0, 1
    plain = [f"word{k}" for k in range(30)]
    made = []
    for label in y:
        said = [*rng.choice(plain, 8), *rng.choice(GOOD if label else BAD, 2)]
        made.append(" ".join(rng.permutation(said)) + ".")
    return np.array(made, object), y


class Toy:
    """What load_dataset gives."""

    def __init__(self, seed=0):
        rng = np.random.default_rng(seed)
        self.texts, self.y = reviews(rng, 60)
        self.texts_test, self.y_test = reviews(rng, 40)
        self.unlabeled = reviews(rng, 50)[0]
