"""Tables of differences and curves, from lines whose numbers are known."""

import pytest

from dropglm.experiments import few_labels
from dropglm.experiments.few_labels import OURS, OURS_UNLABELED, SHARES, FewLabels
from dropglm.experiments.results import ACCURACY, LOG_LOSS, MACRO_F1, Lines
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


def scored(method, data, labels, *seeds):
    """Return one line per seed, with these scores."""
    return [
        line(data, method, scores["accuracy"], seed=seed, labels=labels, scores=scores)
        for seed, scores in enumerate(seeds)
    ]


def titled(tables, title):
    (found,) = [table for table in tables if table.title == title]
    return found


def test_older_and_new_data_sets_have_means_of_their_own():
    lines = Lines(
        [
            *results("tf-idf", [0.5, 0.7]),
            *results("tf-idf", [0.7, 0.9], "subj"),
            *results("tf-idf", [0.1, 0.2], "emotion6"),
            *results("tf-idf", [0.3, 0.4], "tweetsent_fr"),
        ]
    )
    tables = FewLabels().tabulate(lines)
    name = "Mean over 2 data sets: accuracy in per cent"
    assert titled(tables, name).rows == [["tf-idf", "70.00", "10.00"]]
    assert titled(tables, f"New data sets. {name}").rows == [["tf-idf", "25.00", "5.00"]]


def test_a_mean_says_how_many_data_sets_it_is_over_if_some_have_too_many_classes():
    lines = Lines(
        [
            *results("one", [0.5], labels=20),
            *results("one", [0.6], labels=50),
            *results("one", [0.2], "news20", 50),
            *results("other", [0.9], labels=50),
        ]
    )
    table = few_labels.mean_over_sets(ACCURACY, lines)
    assert table.title == "Mean over 2 data sets: accuracy in per cent"
    assert table.header == ["method", "20 labels, 1 set", "±", "50 labels", "±"]
    # The other method has no result on news20, and so no mean.
    assert table.rows == [["one", "50.00", "-", "40.00", "-"], ["other", "-", "-", "-", "-"]]


def test_a_mean_is_only_over_lines_that_all_have_the_score():
    """Results that were stored before a score existed do not have it."""
    lines = Lines(
        [
            *scored("one", "rt", 50, {"accuracy": 0.5, "macro_f1": 0.25}),
            *scored("one", "subj", 50, {"accuracy": 0.5}),
            *scored("other", "rt", 50, {"accuracy": 0.5, "macro_f1": 0.25}),
            *scored("other", "subj", 50, {"accuracy": 0.5, "macro_f1": 0.75}),
        ]
    )
    table = few_labels.mean_over_sets(MACRO_F1, lines)
    assert table.rows == [["one", "-", "-"], ["other", "50.00", "-"]]


def test_the_log_loss_that_a_fit_reports_is_compared_with_that_of_the_test_texts():
    lines = Lines(
        [
            *scored(
                OURS,
                "rt",
                20,
                {"accuracy": 0.5, "log_loss": 0.75, "reported_log_loss": 0.5},
                {"accuracy": 0.5, "log_loss": 0.75, "reported_log_loss": 1.0},
            ),
            *scored(
                OURS,
                "subj",
                20,
                {"accuracy": 0.5, "log_loss": 0.5, "reported_log_loss": 1.0},
                {"accuracy": 0.5, "log_loss": 0.5, "reported_log_loss": 1.0},
            ),
            *scored(OURS_UNLABELED, "rt", 20, {"accuracy": 0.5, "log_loss": 0.5, "reported_log_loss": 0.25}),
            *scored("tf-idf", "rt", 20, {"accuracy": 0.5, "log_loss": 0.5}),
        ]
    )
    tables = FewLabels().tabulate(lines)
    name = "log loss that a fit reports minus test log loss"
    assert titled(tables, f"{OURS}: {name}").rows == [
        ["rt", "+0.000", "0.250"],
        ["subj", "+0.500", "0.000"],
        ["mean", "+0.250", "0.125"],
    ]
    assert titled(tables, f"{OURS_UNLABELED}: {name}").rows == [
        ["rt", "-0.250", "-"],
        ["subj", "-", "-"],
        ["mean", "-", "-"],
    ]


def test_the_mean_probability_is_compared_with_the_accuracy():
    lines = Lines(
        [
            *scored(OURS, "rt", 20, {"accuracy": 0.5, "top_probability": 0.75}),
            *scored(OURS, "subj", 20, {"accuracy": 0.75, "top_probability": 0.7}),
            *scored("tf-idf", "rt", 20, {"accuracy": 0.5, "top_probability": 0.6}),
            *scored("tf-idf", "subj", 20, {"accuracy": 0.5, "top_probability": 0.6}),
            *scored("NB-SVM", "rt", 20, {"accuracy": 0.5}),
        ]
    )
    tables = FewLabels().tabulate(lines)
    name = "mean probability of the predicted class minus accuracy, in points"
    means = titled(tables, f"Mean over 2 data sets: {name}")
    assert means.rows == [[OURS, "+10.00", "-"], ["tf-idf", "+10.00", "-"]]
    own = titled(tables, f"{OURS}: {name}")
    assert own.rows == [["rt", "+25.00", "-"], ["subj", "-5.00", "-"], ["mean", "+10.00", "-"]]


def test_cells_whose_mean_log_loss_is_above_that_of_the_class_shares_are_named():
    def losses(method, data, labels, *numbers):
        return scored(method, data, labels, *({"accuracy": 0.5, "log_loss": number} for number in numbers))

    lines = Lines(
        [
            *losses(SHARES, "rt", 10, 0.7, 0.7),
            *losses(SHARES, "subj", 10, 0.6, 0.8),
            *losses(SHARES, "rt", 20, 0.7, 0.7),
            *losses("one", "rt", 10, 0.70, 0.73),  # 0.015 above on average
            *losses("one", "subj", 10, 0.60, 0.81),  # 0.005
            *losses("one", "rt", 20, 0.60, 0.65),
            *losses("other", "rt", 10, 5.0, 5.0),
            *losses("other", "subj", 10, 5.0, 5.0),
        ]
    )
    table = few_labels.worse_than_shares(lines)
    assert table.title.endswith("more than 0.01 above that of the class shares")
    assert table.header == ["method", "10 labels", "20 labels"]
    assert table.rows == [["one", "1 of 2: rt", "0 of 1"], ["other", "2 of 2: rt, subj", "-"]]


def test_methods_without_probabilities_are_not_compared_with_the_class_shares():
    lines = Lines(results(SHARES, [0.5]) + results("NB-SVM", [0.5]))
    del lines[1]["result"]["log_loss"]
    assert few_labels.worse_than_shares(lines).rows == []
