"""The experiments on IMDB."""

from types import SimpleNamespace

import numpy as np
import pytest

from dropglm import LogisticRegression
from dropglm.experiments import imdb, methods
from dropglm.experiments.results import Lines
from tests.experiments.stored import ALL, MORE, NB, PLAIN, line, run_lines

IMDB = imdb.IMDB()


def test_rows_have_the_best_in_cross_validation_with_a_binomial_error():
    lines = Lines(
        [
            line("bigrams", "L2", 0.99, 0.99),
            line("bigrams", PLAIN, 0.905, 0.92),
            line("bigrams", NB, 0.913, 0.91),
            line("bigrams", MORE, 0.921, 0.91),
            line("bigrams", ALL, 0.917, 0.93),
            line("bigrams", "quadratic", 0.88, 0.87),
            line("bigrams", "quadratic, NB ridge", 0.89, 0.86),
            line(f"bigrams, {imdb.PUBLISHED}", "MNB", 0.866, 0.9),
            line(f"bigrams, {imdb.PUBLISHED}", "NB-SVM", 0.912, 0.9),
        ]
    )
    for candidates, unlabeled, method in (
        (methods.GAUSSIAN, False, PLAIN),
        (methods.GAUSSIAN, True, ALL),
        (methods.QUADRATIC, False, "quadratic"),
    ):
        (best,) = methods.best_in_cross_validation(lines, candidates, unlabeled=unlabeled)
        assert best["method"] == method
    assert methods.best_in_cross_validation(lines, methods.QUADRATIC, unlabeled=True) == []
    rows = {row[0]: row[1:] for row in IMDB.tabulate(lines)[0].rows}
    assert rows["Drop-Bi"] == ["91.31", "91.98", "90.50", "91.70", "-0.81", "-0.28"]
    assert rows["Drop-Bi, quadratic"][2:4] == ["88.00", "-"]
    compared = {item.what.replace(", per cent", ""): item for item in IMDB.compare(lines)}
    assert {what: item.ours for what, item in compared.items()} == pytest.approx(
        {
            "MNB-Bi: baseline": 86.6,
            "NBSVM-Bi: baseline": 91.2,
            "Drop-Bi: quadratic": 88.0,
            "Drop-Bi: ours": 90.5,
            "Drop-Bi + unlabelled: ours": 91.7,
        }
    )
    for item in compared.values():
        assert item.error == pytest.approx(np.sqrt(item.ours * (100 - item.ours) / 400))


def test_the_table_has_the_rows_of_the_paper(small, tmp_path):
    lines = run_lines("imdb", small.imdb, tmp_path, quick=False)
    table, *_ = small.imdb.tabulate(lines)
    rows = {row[0]: row[1:] for row in table.rows}
    assert rows["Drop-Bi"][:2] == ["91.31", "91.98"]
    assert rows["Vect.Sent"][:2] == ["88.33", "88.89"]
    for name in ("Vect.Sent", "Vect.Sent, vectors alone", "TextClassifier() as it comes"):
        assert "-" not in rows[name][2:4]
    bigrams = {x["method"]: x["result"] for x in lines if x["data"] == "bigrams"}
    best = max(
        (
            bigrams[label]
            for label in ("gaussian + unlabelled", "gaussian, NB ridge of all rows + unlabelled")
        ),
        key=lambda result: result["cv_score"],
    )
    assert rows["Drop-Bi"][3] == f"{100 * best['accuracy']:.2f}"
    (nb,) = [
        x["result"] for x in lines if x["data"] == "bigrams, split at white space" and x["method"] == "MNB"
    ]
    assert rows["MNB-Bi"][2] == f"{100 * nb['accuracy']:.2f}"
    assert rows["MNB-Bi"][4] == f"{100 * nb['accuracy'] - 86.63:+.2f}"
    (wide,) = [x["result"] for x in lines if x["data"] == "wide"]
    assert rows["Drop, wide"][3] == f"{100 * wide['accuracy']:.2f}"
    compared = " ".join(x.what for x in small.imdb.compare(lines))
    assert "Drop-Uni + unlabelled, per cent: ours" in compared
    assert "MNB-Uni, per cent: baseline" in compared
    assert len(small.imdb.draw(lines)) == 1


def test_the_training_time_of_the_wide_matrix_is_that_of_one_fit(small, tmp_path, monkeypatch):
    """Each fit takes ten seconds, and nothing else takes time."""
    fits, fit = [], LogisticRegression.fit

    def counted(self, *given, **more):
        fits.append(self)
        return fit(self, *given, **more)

    monkeypatch.setattr(LogisticRegression, "fit", counted)
    monkeypatch.setattr(imdb, "time", SimpleNamespace(perf_counter=lambda: 10.0 * len(fits)))
    lines = run_lines("imdb", small.imdb, tmp_path, quick=False)
    assert [x["result"]["training_seconds"] for x in lines if x["data"] == "wide"] == [10.0]


def test_larger_subsets_contain_smaller_ones(small, load, tmp_path):
    few, many = (imdb.draw_subset(n, m, 1, load) for n, m in ((20, 10), (30, 25)))
    assert (many.X[:20] != few.X).nnz == 0
    assert (many.X_unlabeled[:10] != few.X_unlabeled).nnz == 0
    assert (imdb.draw_subset(20, 10, 2, load).X != few.X).nnz > 0
    lines = run_lines("imdb-curves", small.curves, tmp_path, quick=False)
    left, right = small.curves.tabulate(lines)
    assert left.header == ["method", "0", "±", "20", "±", "40", "±"]
    assert right.header == ["method", "20", "±", "30", "±"]
    at = [
        x["result"]["accuracy"]
        for x in lines
        if x["method"] == "gaussian + unlabelled" and x["parameters"]["unlabeled"] == 40
    ]
    (row,) = [row for row in left.rows if row[0] == "gaussian + unlabelled"]
    assert row[5] == f"{100 * np.mean(at):.2f}"
    (panels,) = small.curves.draw(lines).values()
    assert len(panels) == 2


def test_the_right_table_has_points_with_and_without_unlabelled_rows(small):
    left = {(30, 0, PLAIN): 0.71, (30, 20, MORE): 0.73, (30, 40, MORE): 0.74}
    right = {(20, 0, PLAIN): 0.61, (30, 0, PLAIN): 0.71, (20, 25, MORE): 0.63, (30, 25, MORE): 0.76}
    lines = Lines(
        [
            line("imdb", method, accuracy + shift, seed=seed, labeled=n, unlabeled=m)
            for (n, m, method), accuracy in (left | right).items()
            for seed, shift in enumerate((0.0, 0.02))
        ]
    )
    tables = small.curves.tabulate(lines)
    assert tables[0].header == ["method", "0", "±", "20", "±", "40", "±"]
    assert tables[0].rows == [
        [PLAIN, "72.00", "1.00", "-", "-", "-", "-"],
        [MORE, "-", "-", "74.00", "1.00", "75.00", "1.00"],
    ]
    assert tables[1].header == ["method", "20", "±", "30", "±"]
    assert tables[1].rows == [
        [PLAIN, "62.00", "1.00", "72.00", "1.00"],
        [MORE, "64.00", "1.00", "77.00", "1.00"],
    ]
