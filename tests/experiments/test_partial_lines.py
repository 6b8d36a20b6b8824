"""Tables and figures of incomplete runs: no error is raised, and no NaN is shown."""

import json

import numpy as np
import pytest
from matplotlib import pyplot as plt

from dropglm.experiments import EXPERIMENTS
from dropglm.experiments.results import Lines

RESULTS = {
    "simulation": {"active": 0.8, "all": 0.6, "log_loss": 0.6, "useful_size": 0.1, "nuisance_size": 0.05},
    "text": {
        "accuracy": 0.9,
        "cv_score": 0.8,
        "log_loss": 0.3,
        "labeled": 10,
        "features": 20,
        "test_rows": 100,
        "chosen": {"l2": 1.0},
        "unlabeled": 5,
        "calibration_error": 0.1,
        "top_probability": 0.7,
        "fit_seconds": 1.5,
    },
}
KINDS = {
    "simulation": "simulation",
    "thirds": "text",
    "imdb": "text",
    "imdb-curves": "text",
    "docstrings": "text",
    "few-labels": "text",
    "encoders": "text",
}


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def lines_of(name, fits):
    """Return lines as if these fits had been run."""
    rng = np.random.default_rng(0)
    return Lines(
        [
            {
                "experiment": name,
                "data": fit.data,
                "method": fit.method,
                "seed": fit.seed,
                "parameters": json.loads(json.dumps(fit.parameters)),
                "result": RESULTS[KINDS[name]] | {"accuracy": 0.5 + 0.4 * rng.random()},
                "seconds": 1.0,
                "versions": {},
            }
            for fit in fits
        ]
    )


@pytest.mark.parametrize("number", [1, 2, 3, 7, 20, 45])
@pytest.mark.parametrize("name", KINDS)
def test_the_first_lines_of_a_run_can_be_shown(name, number):
    experiment = EXPERIMENTS[name]
    lines = lines_of(name, experiment.fits(False)[:number])
    cells = [cell for table in experiment.tabulate(lines) for row in table.rows for cell in row]
    assert cells
    assert not any("nan" in cell for cell in cells)
    for found in experiment.compare(lines):
        assert np.isfinite(found.ours)
        assert found.error is None or np.isfinite(found.error)
    experiment.draw(lines)


@pytest.mark.parametrize("name", KINDS)
def test_results_of_some_of_the_methods_can_be_shown(name):
    experiment = EXPERIMENTS[name]
    methods = list(dict.fromkeys(fit.method for fit in experiment.fits(False)))
    for kept in (methods[::2], methods[1::2], methods[:1], methods[-1:]):
        lines = lines_of(name, [fit for fit in experiment.fits(False) if fit.method in kept])
        assert not any("nan" in cell for t in experiment.tabulate(lines) for row in t.rows for cell in row)
        assert all(np.isfinite(found.ours) for found in experiment.compare(lines))
        experiment.draw(lines)
        plt.close("all")
