"""Properties that every experiment must have."""

import json
import re

import pytest

from dropglm.datasets import DATASETS
from dropglm.experiments import EXPERIMENTS

ON_FILE = {name for name, entry in DATASETS.items() if entry.table is not None}


@pytest.mark.parametrize("quick", [True, False], ids=["quick", "full"])
@pytest.mark.parametrize("name", EXPERIMENTS)
def test_fits_have_different_identities_that_can_be_stored(name, quick):
    fits = EXPERIMENTS[name].fits(quick)
    assert fits or (quick and EXPERIMENTS[name].data)
    keys = {json.dumps([fit.data, fit.method, fit.seed, fit.parameters], sort_keys=True) for fit in fits}
    assert len(keys) == len(fits)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_a_subset_is_a_part_of_a_full_run_and_its_time_is_stated(name):
    full, subset = (
        {json.dumps([fit.data, fit.method, fit.seed, fit.parameters], sort_keys=True) for fit in fits}
        for fits in (EXPERIMENTS[name].fits(False), EXPERIMENTS[name].subset())
    )
    assert subset < full
    assert bool(subset) == ("--subset" in EXPERIMENTS[name].takes)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_a_quick_run_needs_no_files_and_a_full_run_only_those_it_names(name):
    experiment = EXPERIMENTS[name]
    assert not {fit.data for fit in experiment.fits(True)} & ON_FILE
    assert {fit.data for fit in experiment.fits(False)} & ON_FILE <= set(experiment.data) <= ON_FILE


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_protocol_and_running_times_are_stated(name):
    experiment = EXPERIMENTS[name]
    assert experiment.protocol.endswith(".")
    assert re.search(r"\d+ (second|minute)", experiment.takes)
    assert re.search(r"\d+ (second|minute)", experiment.takes_quick) or not experiment.fits(True)
