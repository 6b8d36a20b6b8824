"""The experiment on thirds."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from dropglm.experiments.methods import GAUSSIAN, best_in_cross_validation
from dropglm.experiments.results import Lines
from dropglm.experiments.thirds import Thirds
from tests.experiments.stored import ALL, MORE, NB, PLAIN, line, run_lines

THIRDS = Thirds()


def test_methods_are_chosen_by_cross_validation_and_not_on_test_rows(small, few_methods, tmp_path):
    lines = run_lines("thirds", small.thirds, tmp_path, quick=False)
    assert len(lines) == len(small.thirds.fits(False)) == (2 + 1) * 2 * len(few_methods)
    ours = ["gaussian + unlabelled", "gaussian, NB ridge of all rows + unlabelled"]
    rt = lines.where(data="rt")
    for found in best_in_cross_validation(rt, GAUSSIAN, unlabeled=True):
        mine = [x["result"] for x in rt if x["seed"] == found["seed"] and x["method"] in ours]
        assert len(mine) == 4
        assert found["result"]["cv_score"] == max(result["cv_score"] for result in mine)
    _, more, defaults, *others = small.thirds.tabulate(lines)
    mean, default = (x.ours for x in small.thirds.compare(lines) if "rt" in x.what)
    assert defaults.rows[0][2] == f"{default:.2f}"
    assert default == pytest.approx(100 * np.mean(rt.where(features="texts").values("accuracy")))
    assert more.rows[0][8] == f"{mean:.2f}"
    assert more.rows[0][-1] == f"{mean - 76.56:+.2f}"
    assert [row[0] for row in others[0].rows] == list(few_methods)
    assert others[0].rows[0][4] == "-"  # not run with more features
    assert len(small.thirds.draw(lines)) == 1
    assert small.thirds.fits(True) == []


def results_and_means():
    """Two data sets, two splits; methods that are better in cross-validation are worse on test rows."""
    lines, expected = Lines(), {}
    for d, data in enumerate(("rt", "subj")):
        for f, features in enumerate(("unigrams", "more features")):
            best = []
            for seed in (100, 101):
                low = 0.7 + 0.08 * d + 0.03 * f + 0.01 * (seed - 100)
                for method, accuracy, cv_score in (
                    ("L2", low, 0.99),
                    (PLAIN, low + 0.001, 0.8 + 0.02 * (seed - 100)),
                    (NB, low + 0.005, 0.81),
                    (MORE, low + 0.002, 0.83),
                    (ALL, low + 0.009, 0.82 + 0.02 * (seed - 100)),
                ):
                    lines.append(line(data, method, accuracy, cv_score, seed, features=features))
                # the best in cross-validation on the first split, then on the second
                best.append((low, low + (0.005, 0.001)[seed - 100], low + (0.002, 0.009)[seed - 100]))
            expected[data, features] = 100 * np.array(best)
    return lines, expected


def test_the_tables_have_the_best_in_cross_validation_and_not_on_test_rows():
    lines, expected = results_and_means()
    tables = dict(zip(("unigrams", "more features"), THIRDS.tabulate(lines), strict=False))
    compared = {item.what.split()[0]: item for item in THIRDS.compare(lines) if "more features" in item.what}
    for (data, features), accuracy in expected.items():
        mine = lines.where(data=data, features=features)
        for unlabeled, column in ((False, 1), (True, 2)):
            found = best_in_cross_validation(mine, GAUSSIAN, unlabeled=unlabeled)
            assert [100 * x["result"]["accuracy"] for x in found] == pytest.approx(accuracy[:, column])
        (row,) = [row for row in tables[features].rows if row[0] == data]
        assert row[4:10:2] == [f"{mean:.2f}" for mean in accuracy.mean(axis=0)]
        assert row[5:10:2] == [f"{error:.2f}" for error in accuracy.std(axis=0, ddof=1) / np.sqrt(2)]
        if features == "more features":
            assert compared[data].ours == pytest.approx(accuracy[:, 2].mean())
            assert compared[data].error == pytest.approx(accuracy[:, 2].std(ddof=1) / np.sqrt(2))
            assert compared[data].paper == {"rt": 76.56, "subj": 91.48}[data]


def test_the_widths_of_the_bars_are_the_gains_over_l2():
    lines, expected = results_and_means()
    (figures,) = THIRDS.draw(lines).values()
    gains = [[75.18 - 73.49, 90.85 - 88.96, 76.56 - 73.49, 91.48 - 88.96]]
    for features in ("unigrams", "more features"):
        means = np.array([expected[data, features].mean(axis=0) for data in ("rt", "subj")])
        gains.append((means[:, 1:] - means[:, :1]).T.ravel())
    for figure, widths in zip(figures, gains, strict=True):
        (ax,) = figure.axes
        assert_allclose([bar.get_width() for bar in ax.patches], widths)
        assert [label.get_text() for label in ax.get_yticklabels()] == ["rt", "subj"]
