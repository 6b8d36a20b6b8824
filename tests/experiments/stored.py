"""Stored results of an experiment, and its page made from them; lines as if a method had been run."""

import dataclasses

from dropglm.experiments import ExperimentRun, report

PLAIN, NB = "gaussian", "gaussian, NB ridge"
MORE, ALL = "gaussian + unlabelled", "gaussian, NB ridge of all rows + unlabelled"


def run_lines(name, experiment, folder, *, quick=True, **settings):
    """Run the experiment, and return its results as another process would read them."""
    ExperimentRun(name, experiment, folder, quick=quick).run(**settings)
    return ExperimentRun(name, experiment, folder, quick=quick).lines


def page_without_fits(name, experiment, folder, *, quick=True):
    """Return the text of the page; any fit would raise an error."""

    def refuse(*arguments):
        raise AssertionError("a fit was run")

    run = ExperimentRun(name, experiment, folder, quick=quick)
    run.fits = [dataclasses.replace(fit, load=refuse, measure=refuse) for fit in run.fits]
    run.run()
    return report({name: run}, folder).read_text()


def line(data, method, accuracy, cv_score=0.5, seed=0, scores=None, **parameters):
    """Return a line as stored in the file, with further scores or others than the usual ones."""
    result = {
        "accuracy": accuracy,
        "cv_score": cv_score,
        "log_loss": 1 - accuracy,
        "chosen": {},
        "labeled": 100,
        "features": 10,
        "test_rows": 400,
    }
    fit = {"experiment": "toy", "data": data, "method": method, "seed": seed, "parameters": parameters}
    return fit | {"result": result | (scores or {}), "seconds": 1.0, "versions": {}}
