"""An experiment's lines, and its page made of them alone; lines as if a method had been run."""

import dataclasses

from dropglm.experiments import report, run, wanted

PLAIN, NB = "gaussian", "gaussian, NB ridge"
MORE, ALL = "gaussian + unlabelled", "gaussian, NB ridge of all rows + unlabelled"


def lines_of(name, experiment, folder, *, quick=True):
    """Run it, and give back what stands in the file."""
    run(name, experiment, folder, quick=quick)
    return wanted(name, experiment, folder, quick=quick)


def page_of(name, experiment, folder, *, quick=True):
    """The page as text; a fit would raise."""

    def unable(fit):
        def refuse(*arguments):
            raise AssertionError("a fit")

        return dataclasses.replace(fit, rows=refuse, work=refuse)

    idle = dataclasses.replace(experiment, fits=lambda quick: [unable(fit) for fit in experiment.fits(quick)])
    run(name, idle, folder, quick=quick)
    return report({name: idle}, folder, quick=quick).read_text()


def line(data, method, accuracy, cv_score=0.5, seed=0, **parameters):
    """A line as it stands in the file."""
    result = {
        "accuracy": accuracy,
        "cv_score": cv_score,
        "log_loss": 1 - accuracy,
        "chosen": {},
        "labeled": 100,
        "features": 10,
        "test_rows": 400,
    }
    begun = {"experiment": "made", "data": data, "method": method, "seed": seed, "parameters": parameters}
    return begun | {"result": result, "seconds": 1.0, "versions": {}}
