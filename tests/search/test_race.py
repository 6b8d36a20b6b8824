"""Candidates that can hardly become the best are not fitted to the remaining folds."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sklearn.metrics import get_scorer

from dropglm import LogisticRegressionCV
from dropglm.places.rows import Fold
from dropglm.search.race import FEWEST_ROWS, FEWEST_TO_HALVE, Race, stops_of

GRID = {"dropout": (0.9, 0.3), "l2": (300.0, 1.0, 0.1), "l2_weights": ("uniform", "naive_bayes")}


def rows_and_labels(rng, n=1500, K=2):
    X = (rng.random((n, 30)) < 0.3).astype(float)
    eta = X[:, :6].sum(axis=1) - X[:, 6:12].sum(axis=1) + rng.logistic(size=n)
    return X, np.digitize(eta, [0.0] if K == 2 else [-1.0, 1.0])


def folds_of(n, count):
    return [Fold(np.ones(n), test) for test in np.array_split(np.arange(n), count)]


def splits(table, k):
    return np.array([table[f"split{fold}_test_score"][k] for fold in range(5)])


@pytest.mark.parametrize("scoring", ["neg_log_loss", "accuracy", None])
@pytest.mark.parametrize("K", [2, 3])
def test_the_race_chooses_as_the_whole_search_does_with_fewer_fits(scoring, K, rng):
    X, y = rows_and_labels(rng, K=K)
    whole, race = (
        LogisticRegressionCV(**GRID, scoring=scoring, race=race, extend_l2=False).fit(X, y)
        for race in (False, True)
    )
    error = whole.best_scores_.std(ddof=1) / np.sqrt(5)
    table, best = race.cv_results_, race.best_index_
    means = whole.cv_results_["mean_test_score"]
    assert means[best] > means.max() - 0.1 * error
    assert (whole.cv_results_["folds_fitted"] == 5).all()
    fitted = table["folds_fitted"]
    # With two classes, all candidates have about the same accuracy.
    assert fitted.sum() < 0.8 * 60 or (K == 2 and scoring != "neg_log_loss")
    assert fitted[best] == 5
    full = fitted == 5
    ranks = table["rank_test_score"]
    assert all(ranks[~full] > ranks[full].max())
    for k in np.flatnonzero(~full):
        of_folds = splits(table, k)
        assert_array_equal(np.isnan(of_folds), np.arange(5) >= fitted[k])
        differences = (of_folds - splits(table, best))[: fitted[k]]
        of_best = table["mean_test_score"][best]
        assert table["mean_test_score"][k] == pytest.approx(of_best + differences.mean())
        assert table["mean_test_score"][k] < of_best
    for column in table.values():
        assert len(column) == 12


def test_scores_that_are_not_means_over_rows_and_few_rows_have_no_race(rng):
    X, y = rows_and_labels(rng)
    for scoring in ("roc_auc", get_scorer("accuracy")):
        found = LogisticRegressionCV(**GRID, scoring=scoring, extend_l2=False).fit(X, y)
        assert (found.cv_results_["folds_fitted"] == 5).all()
    found = LogisticRegressionCV(**GRID, extend_l2=False).fit(X[:200], y[:200])
    assert (found.cv_results_["folds_fitted"] == 5).all()


@pytest.mark.parametrize("race", [False, True])
def test_candidates_within_one_standard_error_remain(race, rng):
    X, y = rows_and_labels(rng)
    rule = {"one_standard_error": True, "extend_l2": False, "race": race}
    careful = LogisticRegressionCV(**GRID, **rule).fit(X, y)
    plain = LogisticRegressionCV(**GRID, race=False, extend_l2=False).fit(X, y)
    error = splits(plain.cv_results_, plain.best_index_).std(ddof=1) / np.sqrt(5)
    means = plain.cv_results_["mean_test_score"]
    same_path = plain.cv_results_["param_l2_weights"] == plain.l2_weights_
    near = same_path & (means >= means.max() - error)
    assert careful.dropout_ == max(plain.cv_results_["param_dropout"][near])


def test_values_of_l2_beyond_the_grid_take_part(rng):
    X, y = rows_and_labels(rng)
    found = LogisticRegressionCV(dropout=0.3, l2=(1000.0, 300.0), l2_weights="uniform").fit(X, y)
    fitted = found.cv_results_["folds_fitted"]
    assert len(fitted) > 2
    assert found.l2_ < 300.0
    assert fitted[found.best_index_] == 5
    assert fitted[0] < 5


def test_sample_weights_apply_to_the_race(rng):
    """Rows of weight 0 in the score do not count: with them the other candidate would win."""
    folds = folds_of(1000, 5)
    good, bad = np.tile([1.0, -1.0], 500), np.tile([0.8, 9.0], 500) + rng.normal(scale=0.1, size=1000)
    race = Race(folds, np.tile([1.0, 0.0], 500))
    assert race.survivors([0, 1], [good[:200], bad[:200]]) == [0]
    assert Race(folds, np.ones(1000)).survivors([0, 1], [good[:200], bad[:200]]) == [1]


def test_near_the_best_are_those_within_one_standard_error_that_were_fitted_to_all_folds(rng):
    race = Race(folds_of(1000, 5), np.ones(1000))
    best = rng.normal(size=1000)
    error = best.std() / np.sqrt(1000)
    shown = [best - 0.9 * error, best, best - 1.1 * error, best[:200], None]
    assert race.near(1, shown) == [0, 1]


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 4), st.integers(2, 8))
def test_the_leader_and_its_equals_remain_and_a_rival_takes_part(seed, done, count):
    rng = np.random.default_rng(seed)
    race = Race(folds_of(1000, 5), np.ones(1000))
    common = rng.normal(size=1000)
    scores = [common + rng.normal(rng.normal(scale=0.1), 0.3, size=1000) for _ in range(count)]
    shown = [one[: 200 * done] for one in scores]
    leader = int(np.argmax([one.mean() for one in shown]))
    left = race.survivors(range(count), shown)
    assert leader in left
    assert race.survivors([0, 1], [shown[leader]] * 2) == [0, 1]
    # A rival takes part, though it is not among the candidates.
    assert race.survivors([k for k in range(count) if k != leader], shown) == [k for k in left if k != leader]
    alone = Race(folds_of(1000, 5), np.ones(1000), rival=scores[leader] + 1.0)
    assert alone.survivors(range(count), shown) == []


def test_chance_of_dropping_the_final_winner_is_small(rng):
    """Two candidates that differ by one standard error of the mean over all rows."""
    race, lost = Race(folds_of(1000, 5), np.ones(1000)), 0
    for _ in range(2000):
        differences = rng.normal(-1.0 / np.sqrt(1000), 1.0, size=1000)
        for done in race.stops[:-1]:
            n = 200 * done
            left = race.survivors([0, 1], [np.zeros(n), differences[:n]])
            if (1 not in left and differences.mean() > 0.0) or (0 not in left and differences.mean() < 0.0):
                lost += 1
                break
    assert lost <= 2


@pytest.mark.parametrize(
    ("n", "count", "expected"),
    [
        (1000, 5, [1, 2, 3, 5]),
        (1000, 10, [1, 3, 5, 7, 10]),
        (400, 2, [1, 2]),
        (5 * FEWEST_ROWS - 5, 5, [2, 5]),
        (150, 5, [5]),
        (1000, 1, [1]),
        (1000, 1000, [100, 300, 500, 700, 1000]),
    ],
)
def test_stages_wait_for_enough_rows(n, count, expected):
    assert stops_of(folds_of(n, count)) == expected


@settings(max_examples=50)
@given(st.integers(0, 2**32 - 1), st.integers(1, 4), st.integers(1, 9))
def test_halving_keeps_the_better_half_of_those_that_may_win(seed, done, count):
    rng = np.random.default_rng(seed)
    race = Race(folds_of(1000, 5), np.ones(1000))
    shown = [rng.normal(rng.normal(scale=0.03), 1.0, size=200 * done) for _ in range(count)]
    ranked = sorted(range(count), key=lambda k: -shown[k].mean())
    half = ranked[: (count + 1) // 2]
    left = race.survivors(range(count), shown, halve=True)
    assert left == sorted(set(half) & set(race.survivors(range(count), shown)))
    assert ranked[0] in left


def test_halving_starts_with_fewer_rows():
    race = Race(folds_of(200, 5), np.ones(200))
    assert race.stops == [5]
    assert race.halving_stops == stops_of(folds_of(200, 5), FEWEST_TO_HALVE) == [1, 2, 3, 5]


def test_rows_held_out_again_are_not_new_rows():
    """All rows once are enough for the first stage, however few they are."""
    assert stops_of(folds_of(90, 3) * 4) == [3, 6, 12]
    assert stops_of(folds_of(90, 3) * 4, 30) == [1, 3, 5, 7, 9, 12]
    assert stops_of(folds_of(90, 3), 30) == [1, 3]
    scores = np.random.default_rng(0).normal(size=(2, 1000))
    scores[1] = scores[0] - 0.16 + 0.5 * scores[1]
    once, twice = Race(folds_of(1000, 5), np.ones(1000)), Race(folds_of(1000, 5) * 2, np.ones(1000))
    assert once.survivors([0, 1], scores[:, :200]) == [0]
    assert twice.survivors([0, 1], scores[:, :200]) == [0, 1]


def test_all_candidates_may_lose_to_a_rival(rng):
    X, y = rows_and_labels(rng)
    settings = {"dropout": 0.3, "l2": (1.0, 0.1), "l2_weights": "uniform"}
    rival = LogisticRegressionCV(**settings)._search(X, y)
    other = LogisticRegressionCV(**settings)._search(X[:, 12:], y, rival=rival)
    assert other.best is None
    assert other.score == -np.inf
    assert all(len(outcome.fits) == 1 for outcome in other.outcomes)
    # Other folds have other rows.
    shuffled = LogisticRegressionCV(**settings, cv=4)._search(X[:, 12:], y, rival=rival)
    assert shuffled.best is not None
    better = LogisticRegressionCV(**settings)._search(X, y, rival=other)
    assert better.score == rival.score


def test_only_the_best_candidate_keeps_its_coefficients(rng):
    X, y = rows_and_labels(rng)
    settings = {"dropout": (0.5, 0.3), "l2": (1.0, 0.1), "l2_weights": "uniform", "discount": 0.0}
    search = LogisticRegressionCV(**settings, naive_bayes=True, rounds=1)
    found = search._search(X, y, X_unlabeled=X[:50])
    kept = [any(fit.by_problem for fit in outcome.fits) for outcome in found.outcomes]
    assert np.flatnonzero(kept).tolist() == [found.best]


def test_close_candidates_differ_in_their_scores(rng):
    X = rng.normal(size=(1200, 20))
    y = X[:, 0] + 0.5 * X[:, 1] + rng.normal(size=1200) > 0.0
    model = LogisticRegressionCV((0.5, 0.3), l2=(30.0, 3.0, 0.3), calibrate=False, extend_l2=False).fit(X, y)
    assert (model.cv_results_["mean_n_iter"] >= 1.0).all()
    assert len(set(model.cv_results_["mean_test_score"])) == 6


def test_a_single_fold_has_no_spread(rng):
    X = rng.normal(size=(1200, 5))
    y = X[:, 0] + 0.3 * rng.normal(size=1200) > 0.0
    model = LogisticRegressionCV(0.3, l2=(3000.0, 30.0, 0.3), calibrate=False, extend_l2=False).fit(X, y)
    folds, spread = model.cv_results_["folds_fitted"], model.cv_results_["std_test_score"]
    assert folds.min() == 1
    assert_array_equal(np.isnan(spread), folds == 1)
