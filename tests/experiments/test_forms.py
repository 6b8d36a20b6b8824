"""The paper's table of penalty forms."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from dropglm.experiments import EXPERIMENTS, forms, formulas
from tests.experiments.made import lines_of, page_of
from tests.oracles import enumerated

FORMS = EXPERIMENTS["forms"]
SCALED = {"additive noise": {"noise_std": 60**-0.5}, "dropout": {"dropout": 0.5}}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("forms")
    return folder, lines_of("forms", FORMS, folder)


def test_the_design_is_normalised():
    X, beta = forms.rows(4.0, 0)
    assert_allclose((X**2).sum(axis=0), 1)
    assert_allclose(beta, 4 * forms.rows(1.0, 0)[1])


def test_every_entry_is_there_in_every_way_and_they_agree(made):
    lines = made[1]
    assert len(lines) == 2 * 3 * 3
    for line in lines:
        result = line["result"]
        assert result["library"] == pytest.approx(result["formula"], rel=1e-12)
        if line["method"] != "ridge":
            assert result["exact"] == pytest.approx(result["counted"], rel=1e-10)


@pytest.mark.parametrize("noise", SCALED)
@pytest.mark.parametrize("family", formulas.A)
def test_what_was_counted_is_the_expectation(made, noise, family):
    for line in made[1]:
        if (line["method"], line["parameters"]["family"]) == (noise, family):
            X, beta = forms.rows(line["parameters"]["size"], 0)
            truth = enumerated(formulas.A[family], X, beta, **SCALED[noise]).sum()
            assert line["result"]["counted"] == pytest.approx(truth, rel=1e-9)


def test_in_the_linear_family_all_noises_are_the_ridge(made):
    """Also the expectation itself; in the others the form is only near."""
    for size in forms.SIZES:
        mine = [line for line in made[1] if line["parameters"]["size"] == size]
        values = [
            line["result"].get(way, line["result"]["formula"])
            for line in mine
            if line["parameters"]["family"] == "linear"
            for way in ("library", "formula", "exact", "counted")
        ]
        assert_allclose(values, 0.5 * np.sum(forms.rows(size, 0)[1] ** 2))
        other = [line["result"] for line in mine if line["parameters"]["family"] != "linear"]
        assert all(abs(r["exact"] / r["library"] - 1) > 1e-3 for r in other if "exact" in r)


def test_the_tables_show_what_is_stored(made):
    small, small_truths, large, large_truths = FORMS.collect(made[1])
    assert small.title != large.title
    for row, line in zip(small.rows + large.rows, made[1], strict=True):
        assert row[0].startswith(f"{line['method']}, {line['parameters']['family']}: ½")
        assert row[1:3] == [f"{line['result'][name]:.6f}" for name in ("library", "formula")]
        assert float(row[3]) < 1e-12
    noised = [line for line in made[1] if line["method"] != "ridge"]
    for row, line in zip(small_truths.rows + large_truths.rows, noised, strict=True):
        assert row[1] == f"{line['result']['exact']:.6f}"
        assert float(row[3]) == pytest.approx(line["result"]["formula"] / line["result"]["exact"], abs=6e-4)


def test_it_is_drawn_without_a_fit(made):
    assert "½δ/(1-δ) βᵀ diag(XᵀVX) β" in page_of("forms", FORMS, made[0])
