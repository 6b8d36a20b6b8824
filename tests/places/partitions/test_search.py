"""A search with rows in partitions is that of the same rows in memory."""

from functools import cache

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.model_selection import ShuffleSplit

from dropglm import LogisticRegressionCV, PerBlock
from dropglm.linear.validation import check_classification
from dropglm.places.partitions import SerialEngine, fit, fit_partitions
from dropglm.places.partitions.rows import RowsInPartitions
from dropglm.places.rows import rows_of
from tests.places.partitions.cases import coefficients, cuts_of, features, partitions, two_blocks

CLOSE = {"rtol": 0.0, "atol": 1e-6}
EXACT = {"tol": 1e-9, "max_iter": 1000}
N, M = 420, 60


class CountingEngine(SerialEngine):
    """An engine that counts its rounds."""

    count = 0

    def total(self, *arguments):
        self.count += 1
        return super().total(*arguments)


@cache
def data(K):
    """Rows and labels of K classes, positive weights, and rows without labels."""
    rng = np.random.default_rng(K)
    X, Z = features(rng, N), features(rng, M)
    eta = 0.7 * X[:, :K] + rng.gumbel(size=(N, K))
    return X, np.array(["no", "yes", "other"])[eta.argmax(axis=1)], rng.uniform(0.5, 2.0, N), Z


def assert_same_search(found, expected):
    """Settings, scores and coefficients agree."""
    assert found.best_params_ == expected.best_params_
    ours, theirs = found.cv_results_, expected.cv_results_
    assert ours.keys() == theirs.keys()
    assert ours["params"] == theirs["params"]
    for name in theirs.keys() - {"params", "mean_fit_time"}:
        if not name.startswith("param_"):
            assert_allclose(ours[name], theirs[name], **CLOSE, err_msg=name)
    for name in ("best_scores_", "best_score_", "scale_", "naive_bayes_"):
        assert_allclose(getattr(found, name), getattr(expected, name), **CLOSE)
    assert found.l2_at_edge_ == expected.l2_at_edge_
    assert_allclose(np.reshape(found.rounds_, (-1, 2)), np.reshape(expected.rounds_, (-1, 2)), **CLOSE)
    assert_allclose(found.cv_probabilities_, expected.cv_probabilities_, **CLOSE)
    assert_allclose(coefficients(found), coefficients(expected), **CLOSE)
    assert_array_equal(found.classes_, expected.classes_)


def fit_parts(model, X, y, w=None, Z=None, *, count=3, form=sparse.csr_array, engine=None):
    labeled = partitions(X, y, w, cuts=cuts_of(len(X), count), form=form)
    unlabeled = [] if Z is None else partitions(Z, cuts=cuts_of(len(Z), 2), form=form, labeled=False)
    return fit_partitions(model, engine or SerialEngine(), labeled, unlabeled)


@pytest.mark.parametrize(
    ("K", "weighted", "unlabeled", "settings"),
    [
        (2, False, False, {}),
        (3, True, True, {"dropout": 0.5, "discount": 0.1}),
        (2, True, True, {"naive_bayes": True}),
        (3, False, False, {"calibrate": False, "class_weight": "balanced", "cv": 3}),
        (3, False, False, {"expectation": "quadratic", "dropout": (0.5, 0.2)}),
        (3, True, True, {"naive_bayes": True, "calibrate": False, "discount": 0.0}),
        (2, True, False, {"scoring": "accuracy", "race": False, "fit_intercept": False}),
        (2, False, False, {"one_standard_error": True, "l2": (30.0, 10.0), "dropout": (0.0, 0.1)}),
        (2, False, True, {"l2_weights": "naive_bayes_unlabeled", "l2": (1.0, 0.5), "discount": 0.1}),
        (2, True, True, {"naive_bayes": True, "rounds": 3, "discount": 0.0, "l2": (1.0, 0.1)}),
        (3, False, True, {"naive_bayes": True, "rounds": 2, "discount": (0.5, 0.0), "dropout": 0.5}),
        (2, True, False, {"scoring": "roc_auc", "l2": (1.0, 0.1), "dropout": 0.3}),
        (3, False, False, {"cv": ShuffleSplit(3, random_state=1), "l2": (1.0, 0.1), "dropout": 0.3}),
    ],
    ids=str,
)
def test_settings_scores_and_coefficients_are_as_in_memory(K, weighted, unlabeled, settings):
    X, y, w, Z = data(K)
    w, Z = w if weighted else None, Z if unlabeled else None
    model = LogisticRegressionCV(**EXACT, **settings)
    expected = model.fit(sparse.csr_array(X), y, w, None if Z is None else sparse.csr_array(Z))
    for count in (1, 3, 17) if settings.keys() <= {"dropout", "discount"} else (3,):
        found = fit_parts(LogisticRegressionCV(**EXACT, **settings), X, y, w, Z, count=count)
        assert_same_search(found, expected)


def test_candidates_drop_out_of_the_race_as_in_memory():
    X, y, _, _ = data(2)
    settings = {"dropout": (0.1, 0.0), "l2": (1e6, 1.0), "scoring": "accuracy", "calibrate": False, **EXACT}
    expected = LogisticRegressionCV(**settings).fit(X, y)
    folds = expected.cv_results_["folds_fitted"]
    assert folds.min() < 5 == folds.max()
    assert_same_search(fit_parts(LogisticRegressionCV(**settings), X, y, form=np.asarray), expected)


def test_blocks_with_noise_of_their_own():
    X, y, _, _ = data(2)
    settings = {
        "dropout": [PerBlock(0.5, 0.0), PerBlock(0.2, 0.0)],
        "noise_std": PerBlock(0.0, 0.3),
        "naive_bayes": True,
        "l2": (1.0, 0.3),
        **EXACT,
    }
    expected = LogisticRegressionCV(**settings).fit(two_blocks(X), y)
    found = fit_parts(LogisticRegressionCV(**settings), X, y, form=two_blocks)
    assert_same_search(found, expected)
    assert [block.shape[-1] for block in found.coef_blocks_] == [5, 4]


def test_rows_of_weight_0_belong_to_no_fold():
    X, y, w, _ = data(2)
    w = np.where(np.arange(N) % 7 == 3, 0.0, w)
    settings = {"dropout": 0.5, "l2": (1.0, 0.1), **EXACT}
    expected = LogisticRegressionCV(**settings).fit(X[w > 0], y[w > 0], w[w > 0])
    assert_same_search(fit_parts(LogisticRegressionCV(**settings), X, y, w, form=np.asarray), expected)


def test_partitions_that_are_read_again_give_the_same_search():
    X, y, _, _ = data(2)
    settings = {
        "dropout": (0.5, 0.3),
        "l2": (1.0, 0.1),
        "l2_weights": "uniform",
        "naive_bayes": True,
        **EXACT,
    }
    kept = fit_parts(LogisticRegressionCV(**settings), X, y)
    again = fit_parts(LogisticRegressionCV(**settings), X, y, engine=SerialEngine(rereads=True))
    assert_same_search(again, kept)


@pytest.mark.parametrize("fits", [1, 3])
def test_few_fits_at_a_time_give_the_same_search(monkeypatch, fits):
    """Where coefficients are long, few fits run at a time, and predictors come in several parts."""
    X, y, _, _ = data(2)
    settings = {"dropout": (0.5, 0.3), "l2": (1.0, 0.3), "l2_weights": "uniform", "cv": 3, **EXACT}
    expected = fit_parts(LogisticRegressionCV(**settings), X, y)
    size = fits * 8 * np.count_nonzero(X.any(axis=0))
    monkeypatch.setattr("dropglm.places.partitions.rows.MESSAGE", size)
    assert_same_search(fit_parts(LogisticRegressionCV(**settings), X, y), expected)


def test_all_folds_paths_and_classes_share_their_rounds():
    """270 fits, each of at least two rounds, take little more than those of one path to two folds."""
    X, y, _, _ = data(3)
    settings = {"race": False, "extend_l2": False, "calibrate": False}
    all_of_them, one_path = CountingEngine(), CountingEngine()
    model = LogisticRegressionCV(**settings)
    fit_parts(model, X, y, engine=all_of_them)
    assert model.cv_results_["folds_fitted"].sum() * 3 == 270
    fit_parts(
        LogisticRegressionCV(**settings, cv=2, l2_weights="naive_bayes"), X, y != "other", engine=one_path
    )
    assert all_of_them.count < 1.5 * one_path.count
    assert all_of_them.count < 2 * 270 / 10


@pytest.mark.parametrize("rounds", [0, 2])
def test_blocks_may_be_left_out_by_some_candidates(rounds):
    X, y, _, Z = data(2)
    settings = {
        "dropout": PerBlock(0.5, 0.0),
        "l2_weights": [PerBlock("naive_bayes", np.inf), PerBlock("uniform", 0.1), PerBlock(np.inf, 1.0)],
        "l2": (1.0, 0.3),
        "discount": 0.0,
        "naive_bayes": True,
        "rounds": rounds,
        **EXACT,
    }
    expected = LogisticRegressionCV(**settings).fit(two_blocks(X), y, X_unlabeled=two_blocks(Z))
    assert_same_search(fit_parts(LogisticRegressionCV(**settings), X, y, Z=Z, form=two_blocks), expected)


def test_few_rows_are_held_out_several_times():
    X, y, w, Z = data(2)
    settings = {"dropout": 0.5, "l2": (1.0, 0.3), "naive_bayes": True, "rounds": 2, "discount": 0.0, **EXACT}
    expected = LogisticRegressionCV(**settings).fit(X[:50], y[:50], w[:50], X_unlabeled=Z)
    assert len(expected.best_scores_) == 20
    found = fit_parts(LogisticRegressionCV(**settings), X[:50], y[:50], w[:50], Z, form=np.asarray)
    assert_same_search(found, expected)


def test_partitions_of_mixed_storage_keep_the_order_of_their_rows():
    X, y, w, _ = data(2)
    settings = {"dropout": 0.5, "l2": (1.0, 0.3), "l2_weights": "uniform", **EXACT}
    expected = LogisticRegressionCV(**settings).fit(X, y, w)
    forms = iter([np.asarray, sparse.csr_array, np.asarray, sparse.csr_array])
    found = fit_parts(LogisticRegressionCV(**settings), X, y, w, count=4, form=lambda part: next(forms)(part))
    assert_same_search(found, expected)
    with_groups = CountingEngine()
    with_groups.slots = 2
    forms = iter([np.asarray, sparse.csr_array, np.asarray, sparse.csr_array])
    found = fit_parts(
        LogisticRegressionCV(**settings),
        X,
        y,
        w,
        count=4,
        form=lambda part: next(forms)(part),
        engine=with_groups,
    )
    assert_same_search(found, expected)


def test_groups_in_several_partitions_are_held_out_together():
    X, y, w, _ = data(2)
    groups = [f"author {k % 40}" if k % 3 else k for k in range(N)]
    settings = {"dropout": 0.3, "l2": (1.0, 0.1), "cv": 3, **EXACT}
    expected = LogisticRegressionCV(**settings).fit(X, y, w, groups=groups)
    cuts = [slice(0, 150), slice(150, 150), slice(150, 301), slice(301, N)]

    def load(part):
        return X[part], y[part], w[part], groups[part]

    assert_same_search(fit(LogisticRegressionCV(**settings), cuts, load=load), expected)

    def some(part):
        return load(part)[:3] if part.start else load(part)

    with pytest.raises(ValueError, match=r"^Partition 2 has no groups, but partition 0 has some"):
        fit(LogisticRegressionCV(**settings), cuts, load=some)


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("settings", [{}, {"naive_bayes": True, "rounds": 2, "discount": 0.0}], ids=str)
def test_rows_are_scaled_where_they_are_held_out_as_in_memory(K, settings):
    X, y, _, Z = data(K)
    scale = np.random.default_rng(0).uniform(0.0, 3.0, N)
    X, Z = sparse.csr_array(X), sparse.csr_array(Z)
    own = {"dropout": 0.3, "l2": (1.0, 0.1), "cv": 3} | settings
    plain, expected, found = (LogisticRegressionCV(**EXACT, **own) for _ in range(3))
    in_memory = rows_of(expected, check_classification(expected, X, y, None, Z, None))
    labeled = partitions(X, y, cuts=cuts_of(N, 4))
    unlabeled = partitions(Z, cuts=cuts_of(M, 2), labeled=False)
    in_partitions = RowsInPartitions(found, SerialEngine(), labeled, unlabeled)
    in_memory.held_out_scale = in_partitions.held_out_scale = scale
    assert_same_search(found._fit_to(in_partitions), expected._fit_to(in_memory))
    # Only scores and factors depend on it.
    plain.fit(X, y, X_unlabeled=Z)
    assert abs(plain.best_score_ - expected.best_score_) > 0.001
