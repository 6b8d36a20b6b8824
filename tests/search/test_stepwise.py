"""Settings that are chosen one after the other, instead of among all points of the grid."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dropglm import Blocks, LogisticRegressionCV, PerBlock
from tests.search.test_race import rows_and_labels

GRID = {"dropout": (0.5, 0.0), "l2": (10.0, 1.0, 0.1, 0.01), "l2_weights": ("naive_bayes", "uniform")}
MIDDLE = 1.0  # the larger of the two in the middle


def stepwise_search(X, y, **changes):
    how = GRID | {"extend_l2": False, "race": False, "cv": 3} | changes
    return LogisticRegressionCV(**how)._search(X, y, stepwise=True)


def tried(found):
    return [one.params for one in found.grid]


def mean_scores(found):
    return [outcome.scores.mean() for outcome in found.outcomes]


@settings(max_examples=25)
@given(st.integers(0, 2**32 - 1), st.sampled_from([2, 3]), st.booleans())
def test_each_step_changes_the_best_of_the_steps_before(seed, K, calibrate):
    X, y = rows_and_labels(np.random.default_rng(seed), n=80, K=K)
    found = stepwise_search(X, y, calibrate=calibrate)
    params, scores = tried(found), mean_scores(found)
    # First the strongest noise with the first l2 weights, and the next with the next.
    kinds = [(one["dropout"], one["l2_weights"]) for one in params]
    assert sorted(kinds[:2]) == [(0.0, "uniform"), (0.5, "naive_bayes")]
    assert [one["l2"] for one in params[:2]] == [MIDDLE, MIDDLE]
    # Then all pairs with this l2 or a smaller one and, if none of these is better, a larger l2.
    pairs = {(kind, l2) for kind in kinds for l2 in (1.0, 0.1, 0.01)}
    assert len(pairs) == 12
    assert {(kind, one["l2"]) for kind, one in zip(kinds[:12], params[:12], strict=True)} == pairs
    best = params[int(np.argmax(scores[:12]))]
    assert params[12:] == ([best | {"l2": 10.0}] if best["l2"] == MIDDLE else [])
    assert found.best == int(np.argmax(scores))


def test_the_best_of_the_whole_grid_is_close(rng):
    X, y = rows_and_labels(rng, n=400)
    found = stepwise_search(X, y, cv=5)
    whole = LogisticRegressionCV(**GRID, extend_l2=False, race=False, cv=5)._search(X, y)
    assert len(whole.grid) == 16
    assert len(found.grid) <= 13
    error = np.std(whole.outcomes[whole.best].scores, ddof=1) / np.sqrt(5)
    assert whole.score - error <= found.score <= whole.score + 1e-3


def test_further_blocks_are_chosen_first_and_kept(rng):
    X, y = rows_and_labels(rng, n=120)
    D = rng.normal(size=(120, 3))
    rules = [PerBlock(rule, other) for rule in ("uniform", "naive_bayes") for other in (np.inf, 1.0, 0.1)]
    grid = {"dropout": [PerBlock(0.5, 0.0), 0.0], "l2": (1.0, 0.1), "l2_weights": rules}
    found = stepwise_search(Blocks(X, D), y, **grid)
    params, scores = tried(found), mean_scores(found)
    first = params[:6]  # two pairs of noise and weights, each with all kinds of the second block
    assert sorted(one["l2_weights"].values[1] for one in first) == [0.1, 0.1, 1.0, 1.0, np.inf, np.inf]
    assert len({(str(one["dropout"]), one["l2_weights"].values[0]) for one in first}) == 2
    used = first[int(np.argmax(scores[:6]))]["l2_weights"].values[1] < np.inf
    assert all((one["l2_weights"].values[1] < np.inf) == used for one in params[6:])


def test_no_candidate_is_fitted_twice_and_one_value_needs_no_steps(rng):
    X, y = rows_and_labels(rng, n=90)
    found = stepwise_search(X, y)
    assert len({str(one) for one in tried(found)}) == len(found.grid)
    single = stepwise_search(X, y, dropout=0.5, l2=1.0, l2_weights="uniform")
    assert [one["l2"] for one in tried(single)] == [1.0]


def test_values_of_l2_beyond_the_grid_follow_the_steps(rng):
    X, y = rows_and_labels(rng, n=400)
    found = stepwise_search(X, y, dropout=0.3, l2=(3000.0, 1000.0), extend_l2=True)
    assert min(one["l2"] for one in tried(found)) < 1000.0
    assert found.grid[found.best].params["l2"] < 1000.0


@pytest.mark.parametrize("stepwise", [False, True])
def test_half_of_the_candidates_of_a_step_drop_out(stepwise, rng):
    """After the first step."""
    X, y = rows_and_labels(rng, n=250)
    found = LogisticRegressionCV(**GRID, extend_l2=False)._search(X, y, stepwise=stepwise)
    folds = [len(outcome.fits) for outcome in found.outcomes]
    # With 50 rows per fold a race would start after the second fold, and hardly anyone would drop out.
    assert (sum(count == 1 for count in folds[2:12]) >= 4) == stepwise
    assert len(found.outcomes[found.best].fits) == 5
