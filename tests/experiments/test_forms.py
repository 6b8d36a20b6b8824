"""The paper's table of penalty forms."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from dropglm.experiments import forms
from tests.experiments.stored import page_without_fits, run_lines
from tests.oracles import enumerated

FORMS = forms.TableOfForms()
SCALED = {"additive noise": {"noise_std": 60**-0.5}, "dropout": {"dropout": 0.5}}


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    folder = tmp_path_factory.mktemp("forms")
    return folder, run_lines("forms", FORMS, folder)


def test_the_design_is_normalised():
    X, beta = forms.normalised_design(4.0, 0)
    assert_allclose((X**2).sum(axis=0), 1)
    assert_allclose(beta, 4 * forms.normalised_design(1.0, 0)[1])


def test_all_ways_to_compute_an_entry_agree(stored):
    lines = stored[1]
    assert len(lines) == 2 * 3 * 3
    for line in lines:
        result = line["result"]
        assert result["library"] == pytest.approx(result["formula"], rel=1e-12)
        if line["method"] != "ridge":
            assert result["exact"] == pytest.approx(result["enumerated"], rel=1e-10)


@pytest.mark.parametrize("noise", SCALED)
@pytest.mark.parametrize("family", forms.A)
def test_the_enumeration_is_the_expectation(stored, noise, family):
    for line in stored[1]:
        if (line["method"], line["parameters"]["family"]) == (noise, family):
            X, beta = forms.normalised_design(line["parameters"]["size"], 0)
            truth = enumerated(forms.A[family], X, beta, **SCALED[noise]).sum()
            assert line["result"]["enumerated"] == pytest.approx(truth, rel=1e-9)


def test_for_the_linear_family_all_noises_equal_the_ridge(stored):
    """So does the expectation itself; for other families the form is only an approximation."""
    for size in FORMS.sizes:
        mine = [line for line in stored[1] if line["parameters"]["size"] == size]
        values = [
            line["result"].get(way, line["result"]["formula"])
            for line in mine
            if line["parameters"]["family"] == "linear"
            for way in ("library", "formula", "exact", "enumerated")
        ]
        assert_allclose(values, 0.5 * np.sum(forms.normalised_design(size, 0)[1] ** 2))
        other = [line["result"] for line in mine if line["parameters"]["family"] != "linear"]
        assert all(abs(r["exact"] / r["library"] - 1) > 1e-3 for r in other if "exact" in r)


def test_the_tables_show_the_stored_results(stored):
    small, small_truths, large, large_truths = FORMS.tabulate(stored[1])
    assert small.title != large.title
    for row, line in zip(small.rows + large.rows, stored[1], strict=True):
        assert row[0].startswith(f"{line['method']}, {line['parameters']['family']}: ½")
        assert row[1:3] == [f"{line['result'][name]:.6f}" for name in ("library", "formula")]
        assert float(row[3]) < 1e-12
    noised = [line for line in stored[1] if line["method"] != "ridge"]
    for row, line in zip(small_truths.rows + large_truths.rows, noised, strict=True):
        assert row[1] == f"{line['result']['exact']:.6f}"
        assert float(row[3]) == pytest.approx(line["result"]["formula"] / line["result"]["exact"], abs=6e-4)


def test_the_page_is_made_without_fits(stored):
    assert "½δ/(1-δ) βᵀ diag(XᵀVX) β" in page_without_fits("forms", FORMS, stored[0])
