"""An experiment's lines, and its page made of them alone."""

import dataclasses

from dropglm.experiments import report, run, wanted


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
