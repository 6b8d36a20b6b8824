"""What holds for every experiment, whatever it is about."""

import json
import re

import pytest

from dropglm.datasets import DATASETS
from dropglm.experiments import EXPERIMENTS

ON_FILE = {name for name, entry in DATASETS.items() if entry.table is not None}


@pytest.mark.parametrize("quick", [True, False], ids=["quick", "full"])
@pytest.mark.parametrize("name", EXPERIMENTS)
def test_identities_of_all_fits_differ_and_can_be_stored(name, quick):
    fits = EXPERIMENTS[name].fits(quick)
    assert fits or (quick and EXPERIMENTS[name].data)
    keys = {json.dumps([fit.data, fit.method, fit.seed, fit.parameters], sort_keys=True) for fit in fits}
    assert len(keys) == len(fits)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_a_quick_run_needs_no_file_and_a_full_one_those_it_names(name):
    experiment = EXPERIMENTS[name]
    assert not {fit.data for fit in experiment.fits(True)} & ON_FILE
    assert {fit.data for fit in experiment.fits(False)} & ON_FILE <= set(experiment.data) <= ON_FILE


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_it_says_what_it_does_and_how_long_it_takes(name):
    experiment = EXPERIMENTS[name]
    assert experiment.protocol.endswith(".")
    assert re.search(r"\d+ (second|minute)", experiment.takes)
    assert re.search(r"\d+ (second|minute)", experiment.takes_quick) or not experiment.fits(True)
