"""Tables of differences and curves, from lines whose numbers are known."""

import pytest

from dropglm.experiments import few_labels
from dropglm.experiments.results import ACCURACY, LOG_LOSS, Lines
from tests.experiments.stored import line


def results(method, accuracies, data="rt", labels=100, **parameters):
    """Return one line per seed."""
    return [
        line(data, method, accuracy, seed=seed, labels=labels, **parameters)
        for seed, accuracy in enumerate(accuracies)
    ]


def test_the_best_rival_of_each_cell_is_the_one_with_the_best_mean():
    lines = Lines(
        [
            *results("ours", [0.7, 0.8]),
            *results("one", [0.6, 0.7]),
            *results("other", [0.75, 0.5]),
            *results("ours", [0.5, 0.5], "subj"),
            *results("one", [0.2, 0.6], "subj"),
            *results("other", [0.6, 0.6], "subj"),
        ]
    )
    table = few_labels.differences(ACCURACY, lines, "ours", ["one", "other", "absent"])
    assert table.rows == [["rt", "+10.00", "0.00", "one"], ["subj", "-10.00", "0.00", "other"]]
    assert table.title.endswith("(better in 1 of 2 cells, worse by more than one standard error in 1)")
    # Here the log loss is 1 - accuracy.
    loss = few_labels.differences(LOG_LOSS, lines, "ours", ["one", "other"])
    assert loss.rows[0] == ["rt", "-0.100", "0.000", "one"]
    assert "better in 1 of 2 cells" in loss.title


def test_without_standard_errors_only_the_cells_ahead_are_counted():
    lines = Lines([*results("ours", [0.7]), *results("one", [0.6])])
    table = few_labels.differences(ACCURACY, lines, "ours", ["one"])
    assert table.title.endswith("minus the best rival (better in 1 of 1 cells)")
    assert table.rows == [["rt", "+10.00", "-", "one"]]


def test_gains_are_paired_by_seed_and_averaged_over_data_sets():
    lines = Lines(
        [
            *results("with", [0.7, 0.8, 0.9]),
            *results("without", [0.6, 0.8]),
            *results("with", [0.5, 0.4], "subj"),
            *results("without", [0.5, 0.6], "subj"),
        ]
    )
    table = few_labels.gains(ACCURACY, lines, "with", "without")
    assert table.rows == [
        ["rt", "+5.00", "5.00"],
        ["subj", "-10.00", "10.00"],
        ["mean", "-2.50", "7.50"],
    ]


def test_the_safety_table_counts_losses_and_names_the_worst():
    lines = Lines(
        [
            *results("with", [0.7, 0.595, 0.58]),
            *results("without", [0.6, 0.6, 0.6]),
            *results("with", [0.5], "subj", 300),
            *results("without", [0.55], "subj", 300),
        ]
    )
    table = few_labels.safety(lines, "with", "without")
    assert table.rows == [
        ["100 labels", "3", "1", "33.3", "0", "-2.00", "rt, 100 labels, seed 2"],
        ["300 labels", "1", "1", "100.0", "1", "-5.00", "subj, 300 labels, seed 0"],
        ["all", "4", "2", "50.0", "1", "-5.00", "subj, 300 labels, seed 0"],
    ]


@pytest.fixture
def curve_lines():
    lines = Lines([*results("with", [0.7, 0.8]), *results("without", [0.5, 0.5])])
    lines += results("with", [0.6, 0.7], unlabeled=100) + results("with", [0.65, 0.7], unlabeled=300)
    lines += results("with", [0.5, 0.5], "subj") + results("with", [0.6, 0.5], "subj", unlabeled=100)
    return lines


def test_a_curve_has_the_main_results_at_its_ends(curve_lines):
    curves = few_labels.unlabeled_curves(curve_lines, "with", "without", 100)
    table = few_labels.curve_table(curves)
    assert table.header == ["data", "0", "100", "300", "all", "all minus 100", "±"]
    assert table.rows == [
        ["rt", "50.00", "65.00", "67.50", "75.00", "+10.00", "0.00"],
        ["subj", "-", "55.00", "-", "50.00", "-5.00", "5.00"],
    ]
    assert table.title.endswith("(from 100 to all it rises on 1 of 2 data sets)")


def test_a_figure_has_a_curve_per_data_set(curve_lines):
    curves = few_labels.unlabeled_curves(curve_lines, "with", "without", 100)
    figure = few_labels.draw_curves(curves)
    (ax,) = figure.axes
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["rt", "subj"]
    assert [list(container[0].get_xdata()) for container in ax.containers] == [[0, 1, 2, 5], [1, 5]]
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["0", "100", "300", "1,000", "3,000", "all"]


@pytest.mark.parametrize("labels", [50, 100, 300])
def test_curves_end_before_a_data_set_does(labels):
    counts = few_labels.unlabeled_counts("imdb2k", labels)
    assert counts == [100, 300, 1000]
    assert counts[-1] + labels < few_labels.POOLS["imdb2k"]
