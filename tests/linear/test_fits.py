import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer

from dropglm import LinearRegression, LogisticRegression, PoissonRegressor, noising_penalty
from dropglm.core.maths import shared_loops
from dropglm.core.solvers import Status
from tests.storages import MATRICES

MODELS = {
    "logistic": LogisticRegression(tol=1e-8),
    "quadratic": LogisticRegression(expectation="quadratic", tol=1e-8),
    "exact": LogisticRegression(expectation="exact", tol=1e-8),
    "naive_bayes": LogisticRegression(l2_weights="naive_bayes", tol=1e-8),
    "additive": LogisticRegression(dropout=0.2, noise_std=0.3, tol=1e-8),
    "linear": LinearRegression(tol=1e-8),
    "poisson": PoissonRegressor(dropout=0.2, tol=1e-8),
}


def words(rng, n=60, d=12):
    """Rows like short texts, with labels that depend on some of the words; the last word never occurs."""
    X = (rng.random((n, d)) < 0.4).astype(float)
    X[:, -1] = 0.0
    y = (X[:, 0] + X[:, 1] - X[:, 2] + 0.5 * rng.normal(size=n) > 0.4).astype(int)
    return X, y


def gradient(model, X, y):
    """∇ of the objective at a fitted binary logistic model, from its definition."""
    coef, b = model.coef_[0].astype(float), float(model.intercept_[0])
    p = 1 / (1 + np.exp(-(X @ coef + b)))
    settings = {"dropout": model.dropout, "noise_std": model.noise_std, "expectation": model.expectation}
    _, slope = noising_penalty(coef, X, intercept=b, return_gradient=True, **settings)
    return X.T @ (p - y) + slope + model.l2 * coef


@pytest.mark.parametrize("penalty", ["gaussian", "exact", "quadratic"])
@pytest.mark.parametrize("noise_std", [0.0, 0.4])
def test_a_fit_is_optimal(penalty, noise_std, rng):
    X, y = words(rng)
    model = LogisticRegression(expectation=penalty, noise_std=noise_std, tol=1e-9).fit(X, y)
    assert np.abs(gradient(model, X, y)).max() <= 1e-6
    assert model.result_.status is Status.CONVERGED
    assert model.result_.gradient_norm <= 1e-9


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("form", MATRICES)
def test_the_storage_of_x_does_not_change_the_fit(name, form, rng):
    X, y = words(rng)
    dense = clone(MODELS[name]).fit(X, y)
    other = clone(MODELS[name]).fit(MATRICES[form](X), y)
    assert_allclose(other.coef_, dense.coef_, rtol=1e-6, atol=1e-8)
    assert_allclose(other.predict(MATRICES[form](X)), dense.predict(X), rtol=1e-6)
    assert np.all(np.atleast_2d(other.coef_)[:, -1] == 0.0)


@pytest.mark.parametrize("name", MODELS)
def test_a_weight_of_two_equals_a_repeated_row(name, rng):
    X, y = words(rng)
    U = words(rng, n=30)[0]
    twice, twice_u = np.append(np.arange(60), [3, 5]), np.append(np.arange(30), [7, 7])
    weights, weights_u = np.bincount(twice).astype(float), np.bincount(twice_u).astype(float)
    weighted = clone(MODELS[name]).fit(X, y, weights, X_unlabeled=U, unlabeled_weight=weights_u)
    repeated = clone(MODELS[name]).fit(X[twice], y[twice], X_unlabeled=U[twice_u])
    plain = clone(MODELS[name]).fit(X, y, X_unlabeled=U)
    assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-5, atol=1e-8)
    assert np.abs(weighted.coef_ - plain.coef_).max() > 1e-4


def small_pieces(monkeypatch):
    """Cut all loops of a fit into pieces, however few rows it has; return a set for the names of shared ones.

    A loop is shared if several threads work on it.
    """
    for loops in ("design.design", "maths.vectors", "objective"):
        monkeypatch.setattr(f"dropglm.core.{loops}.PIECE", 1)
    monkeypatch.setattr("dropglm.core.objective.COMPILED_PIECE", 1)
    shared, leader = set(), shared_loops._leader

    def noting(loop):
        def lead(board, *arguments):
            if board[shared_loops.HELPERS]:
                shared.add(loop.__name__)
            leader(loop)(board, *arguments)

        return lead

    monkeypatch.setattr(shared_loops, "_leader", noting)
    return shared


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("name", MODELS)
def test_the_number_of_threads_does_not_change_the_result(name, form, rng, monkeypatch):
    shared = small_pieces(monkeypatch)
    X, y = words(rng)
    one, two = (clone(MODELS[name]).set_params(n_jobs=k).fit(form(X), y) for k in (1, 2))
    # Passes over rows and columns, and the algebra of the solver.
    assert shared >= {"_gather" if sparse.issparse(form(X)) else "_scatter", "_move", "_multiply", "_combine"}
    assert_array_equal(one.coef_, two.coef_)
    for ours, theirs in zip(one.result_.history, two.result_.history, strict=True):
        assert_array_equal(ours, theirs)


@pytest.mark.parametrize("name", MODELS)
def test_float32_input_gives_float32_output(name, rng):
    X, y = words(rng)
    single = clone(MODELS[name]).set_params(tol=1e-4).fit(sparse.csr_array(X, dtype=np.float32), y)
    double = clone(MODELS[name]).set_params(tol=1e-4).fit(sparse.csr_array(X), y)
    assert single.coef_.dtype == np.float32
    assert double.coef_.dtype == np.float64
    assert_allclose(single.coef_, double.coef_, atol=2e-4)


def test_x_is_never_modified_and_may_be_a_memory_map(rng, tmp_path):
    X, y = words(rng)
    csr = sparse.csr_array(X)
    for name in ("data", "indices", "indptr"):
        np.save(tmp_path / f"{name}.npy", getattr(csr, name))
    mapped = sparse.csr_array(
        tuple(np.load(tmp_path / f"{name}.npy", mmap_mode="r") for name in ("data", "indices", "indptr")),
        shape=X.shape,
    )
    model = LogisticRegression().fit(mapped, y, X_unlabeled=mapped)
    assert_array_equal(model.coef_, LogisticRegression().fit(csr, y, X_unlabeled=csr).coef_)
    dense = np.load(_saved(tmp_path / "dense.npy", X), mmap_mode="r")
    assert_allclose(LogisticRegression().fit(dense, y).coef_, LogisticRegression().fit(X, y).coef_)


def _saved(path, X):
    np.save(path, X)
    return path


def test_the_same_seed_gives_the_same_model(rng):
    X, y = words(rng)
    first, again, other = (
        LogisticRegression(expectation="monte_carlo", random_state=seed).fit(X, y).coef_ for seed in (1, 1, 2)
    )
    assert_array_equal(first, again)
    assert np.abs(first - other).max() > 1e-6


def test_a_warm_start_continues_from_the_previous_fit(rng):
    X, y = words(rng)
    model = LogisticRegression(warm_start=True).fit(X, y)
    first = model.n_iter_[0]
    assert model.fit(X, y).n_iter_[0] == 0 < first
    assert model.set_params(l2=1.1).fit(X, y).n_iter_[0] < first
    cold = LogisticRegression(l2=1.1).fit(X, y)
    assert_allclose(model.coef_, cold.coef_, atol=1e-3)
    with pytest.raises(
        ValueError, match="warm_start needs the same classes and features as the previous fit"
    ):
        model.fit(X[:, :5], y)


def test_labels_may_have_any_type(rng):
    X, y = words(rng)
    numbers = LogisticRegression().fit(X, y)
    for labels in (
        np.array(["no", "yes"]),
        np.array([-1, 7]),
        np.array([False, True]),
        np.array(["a", "b"], object),
    ):
        model = LogisticRegression().fit(X, labels[y])
        assert_array_equal(model.coef_, numbers.coef_)
        assert_array_equal(model.predict(X), labels[numbers.predict(X)])
        assert model.score(X, labels[y]) == numbers.score(X, y)


@pytest.mark.parametrize(
    ("settings", "way"),
    [
        ({}, "ovr"),
        ({"expectation": "exact"}, "ovr"),
        ({"expectation": "quadratic"}, "multinomial"),
        ({"expectation": "monte_carlo", "random_state": 0}, "multinomial"),
        ({"dropout": 0.0}, "multinomial"),
        ({"expectation": "quadratic", "multi_class": "ovr"}, "ovr"),
    ],
)
def test_several_classes(settings, way, rng):
    X, _ = words(rng, n=90)
    y = np.array(["a", "b", "c"])[X[:, :3].argmax(axis=1)]
    model = LogisticRegression(l2=0.1, **settings).fit(X, y)
    assert model.multi_class_ == way
    assert model.coef_.shape == (3, 12)
    assert len(model.n_iter_) == (3 if way == "ovr" else 1)
    assert model.score(X, y) > 0.75
    p = model.predict_proba(X)
    assert_allclose(p.sum(axis=1), 1.0)
    assert_array_equal(model.classes_[p.argmax(axis=1)], model.predict(X))
    if way == "ovr":
        alone = LogisticRegression(l2=0.1, **settings).fit(X, y == "b")
        assert_allclose(model.coef_[1], alone.coef_[0], rtol=1e-6, atol=1e-9)


def test_both_multi_class_settings_agree_for_two_classes(rng):
    X, y = words(rng)
    models = [
        LogisticRegression(expectation="quadratic", multi_class=way).fit(X, y)
        for way in ("multinomial", "ovr")
    ]
    assert_array_equal(models[0].coef_, models[1].coef_)


def test_dropout_does_not_change_when_features_are_scaled(rng):
    X, y = words(rng)
    scales = np.exp(rng.normal(size=12))
    plain = LogisticRegression(l2=0.0, tol=1e-8).fit(X, y)
    scaled = LogisticRegression(l2=0.0, tol=1e-8).fit(X * scales, y)
    assert_allclose(plain.coef_, scaled.coef_ * scales, atol=1e-5)


def test_linear_dropout_is_a_ridge_scaled_by_the_sums_of_squares(rng):
    X, y = words(rng, d=5)[0][:, :4], rng.normal(size=60)
    U = words(rng, n=40, d=5)[0][:, :4]
    model = LinearRegression(dropout=0.3, noise_std=0.2, l2=0.5, discount=0.6, tol=1e-9)
    model.fit(X, y, X_unlabeled=U)
    share = 60 / (60 + 0.6 * 40)
    squares = 60 * 0.2**2 + 0.3 / 0.7 * share * ((X**2).sum(axis=0) + 0.6 * (U**2).sum(axis=0))
    centred = X - X.mean(axis=0)
    truth = np.linalg.solve(centred.T @ centred + np.diag(squares) + 0.5 * np.eye(4), centred.T @ y)
    assert_allclose(model.coef_, truth, atol=1e-7)


def test_data_frames_keep_their_names(rng):
    pl = pytest.importorskip("polars")
    X, y = words(rng, d=3)
    frame = pl.DataFrame(X, schema=["good", "bad", "ugly"])
    model = LogisticRegression().fit(frame, y, X_unlabeled=frame)
    assert list(model.feature_names_in_) == ["good", "bad", "ugly"]
    assert_array_equal(model.predict(frame), LogisticRegression().fit(X, y, X_unlabeled=X).predict(X))
    with pytest.raises(ValueError, match="The feature names of X_unlabeled differ"):
        model.fit(frame, y, X_unlabeled=frame.rename({"ugly": "fine"}))


@pytest.mark.parametrize("shift", [0.0, 10.0, 1e4])
@pytest.mark.parametrize("model", [LogisticRegression(dropout=0.0), LinearRegression(dropout=0.0)])
def test_features_with_a_large_mean_are_fitted(shift, model, rng):
    """Without noise, shifting the features changes only the intercept."""
    X, y = rng.normal(size=(80, 5)), rng.normal(size=80)
    y = (X[:, 0] + X[:, 1] + y > 0).astype(float)
    near, far = clone(model).fit(X, y), clone(model).fit(X + shift, y)
    assert_allclose(far.coef_, near.coef_, atol=2e-3)
    assert far.result_.objective == pytest.approx(near.result_.objective, rel=1e-6)


def test_the_tolerance_holds_on_unscaled_and_correlated_features():
    """The objective is within about tol² of its minimum, as documented; the test allows ten times that."""
    X, y = load_breast_cancer(return_X_y=True)
    best = LogisticRegression(dropout=0.0, tol=1e-8, max_iter=2000).fit(X, y).result_.objective
    for tol in (1e-2, 1e-3, 1e-4):
        found = LogisticRegression(dropout=0.0, tol=tol, max_iter=2000).fit(X, y).result_.objective
        assert found / best - 1 <= 10 * tol**2


def test_features_of_very_different_scales_are_all_fitted(rng):
    X, y = words(rng)
    scales = 10.0 ** np.array([8, -8, 0, 4, -4, 0, 0, 2, -2, 1, 0, 0])
    plain = LogisticRegression(l2=0.0, tol=1e-8).fit(X, y)
    scaled = LogisticRegression(l2=0.0, tol=1e-8).fit(X * scales, y)
    assert_allclose(scaled.coef_ * scales, plain.coef_, atol=1e-4)
    with pytest.raises(ValueError, match="squares of the features overflow float32; scale"):
        LogisticRegression().fit((X * 1e25).astype(np.float32), y)


def test_a_distant_warm_start_still_converges():
    """The preconditioner of a distant start makes any gradient look small."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 3))
    y = rng.poisson(np.exp(0.3 * X[:, 0]))
    cold = PoissonRegressor(dropout=0.1).fit(X, y)
    warm = PoissonRegressor(dropout=0.1, warm_start=True).fit(X, y)
    warm.coef_ = np.full(3, 5.0)
    assert warm.fit(X, y).result_.objective == pytest.approx(cold.result_.objective, rel=1e-4)


def test_rows_of_weight_zero_do_not_matter(rng):
    X, y = words(rng)
    U = words(rng, n=30)[0]
    wild = np.vstack([X, 1e3 * np.ones((1, 12))])
    weights = np.append(np.ones(60), 0.0)
    model = PoissonRegressor(dropout=0.2)
    plain = model.fit(X, y, X_unlabeled=U).coef_
    assert_array_equal(model.fit(wild, np.append(y, 5), weights, X_unlabeled=U).coef_, plain)
    wild_unlabeled = np.vstack([U, 1e3 * np.ones((1, 12))])
    found = model.fit(X, y, X_unlabeled=wild_unlabeled, unlabeled_weight=np.append(np.ones(30), 0.0)).coef_
    assert_array_equal(found, plain)


def test_intercepts_of_a_multinomial_model_sum_to_zero(rng):
    X, _ = words(rng, n=90)
    model = LogisticRegression(expectation="quadratic").fit(X, X[:, :3].argmax(axis=1))
    assert abs(model.intercept_.sum()) < 1e-12


def test_a_fit_without_sampling_leaves_the_random_state_unchanged(rng):
    X, y = words(rng)
    given = np.random.default_rng(0)
    before = given.bit_generator.state
    LogisticRegression(random_state=given).fit(X, y)
    assert given.bit_generator.state == before
    LogisticRegression(random_state=given, expectation="monte_carlo").fit(X, y)
    assert given.bit_generator.state != before


def test_a_failed_fit_leaves_the_previous_one_intact(rng):
    X, y = words(rng)
    model = LogisticRegression(warm_start=True).fit(X, y)
    with pytest.raises(ValueError, match="warm_start"):
        model.fit(X, X[:, :3].argmax(axis=1))
    assert_array_equal(model.classes_, [0, 1])
    assert model.score(X, y) > 0.7
