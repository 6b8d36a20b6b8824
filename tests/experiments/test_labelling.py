"""The simulated annotator, on synthetic texts."""

import numpy as np
import pytest

from dropglm.experiments.labelling import (
    CHOSEN,
    EXPORTED,
    RANDOM,
    Labelling,
    Strategy,
    annotated,
    labels_needed,
    simulate,
)
from dropglm.experiments.texts import hold_out
from tests.experiments.stored import page_without_fits, run_lines
from tests.experiments.test_few_labels import synthetic

SMALL = Labelling(sets=("docs",), labels=60, seeds=2, load=synthetic)


@pytest.fixture(scope="module")
def lines(tmp_path_factory):
    return run_lines("labelling", SMALL, tmp_path_factory.mktemp("labelling"), quick=False)


def test_a_session_labels_as_many_texts_as_asked_and_never_a_test_text():
    data = annotated("rt", synthetic)
    asked = []
    original = data.pool.fit

    def fit(labels, start=None, drawn=None):
        asked.append(dict(labels))
        return original(labels, start, drawn)

    data.pool.fit = fit
    try:
        found = simulate(data, strategy=Strategy(0.2), labels=45, measured=(20,), seed=0)
    finally:
        del data.pool.fit
    test, _ = hold_out(len(data.truth), 0)
    assert found["labels"] == [10, 20, 30, 40, 45]
    assert len(asked[-1]) == 45
    assert not set(asked[-1]) & set(test.tolist())
    assert all(data.truth[i] == label for i, label in asked[-1].items())
    copies = data.pool.copy_of[list(asked[-1])]
    assert len(set(copies.tolist())) == 45
    # Two of ten texts are drawn at random; there is no model for the first ones.
    assert found["estimates"]["20"]["n"] == 2


def test_both_ways_learn(lines):
    for line in lines:
        assert line["result"]["labels"][-1] == 60
        assert line["result"]["accuracy"][-1] > 0.5
        found = line["result"]["probabilities"] | line["result"]["exported"]
        if "60" in found:
            assert abs(found["60"]["mean"] - found["60"]["accuracy"]) < 0.2
        assert set(found) == {RANDOM: set(), CHOSEN: {"30", "60"}, EXPORTED: {"60"}}[line["method"]]
    assert {line["method"] for line in lines} == {RANDOM, CHOSEN, EXPORTED}


def test_tables_and_figures_are_made_of_the_lines(lines, tmp_path):
    tables = SMALL.tabulate(lines)
    assert len(tables) == 7
    assert tables[0].rows[0][0] == "docs"
    assert all(len(row) == len(table.header) for table in tables for row in table.rows)
    figures = SMALL.draw(lines)
    assert len(next(iter(figures.values()))) == 1


@pytest.mark.parametrize("methods", [(RANDOM,), (CHOSEN,), ()], ids=["random", "chosen", "none"])
def test_results_of_some_of_the_sessions_can_be_shown(lines, methods):
    some = lines.among(method=methods)
    tables = SMALL.tabulate(some)
    assert not any("nan" in cell for table in tables for row in table.rows for cell in row)
    SMALL.draw(some)


def test_the_page_needs_no_fit(tmp_path):
    quick = Labelling(load=synthetic)
    run_lines("labelling", quick, tmp_path)
    assert "Labels needed" in page_without_fits("labelling", quick, tmp_path)


@pytest.mark.parametrize(
    ("curve", "accuracy", "expected"),
    [({10: 0.5, 20: 0.7}, 0.6, 15.0), ({10: 0.5}, 0.4, 10.0), ({10: 0.5}, 0.6, None), ({}, 0.5, None)],
)
def test_labels_needed_are_found_between_points(curve, accuracy, expected):
    assert labels_needed(curve, accuracy) == (expected if expected is None else pytest.approx(expected))


def test_a_curve_that_dips_has_reached_its_accuracy_the_first_time():
    assert labels_needed({10: 0.5, 20: 0.8, 30: 0.7, 40: 0.9}, 0.75) == pytest.approx(10 + 10 * 0.25 / 0.3)
    assert np.isclose(labels_needed({10: 0.5, 20: 0.8, 30: 0.7, 40: 0.9}, 0.85), 37.5)
