"""What users do with a fitted model: store it, shrink it, use it from several threads."""

from threading import Event, Thread

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler

from dropglm import (
    LinearRegression,
    LogisticRegression,
    LogisticRegressionCV,
    OnlineLogisticRegression,
    PoissonRegressor,
)
from tests.linear.test_fits import words

MODELS = [LogisticRegression(), LinearRegression(), PoissonRegressor()]
every_model = pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)


@every_model
def test_skops_stores_a_fitted_model(model, rng):
    io = pytest.importorskip("skops.io")
    X, y = words(rng)
    data = io.dumps(model.fit(X, y))
    loaded = io.loads(data, trusted=io.get_untrusted_types(data=data))
    assert_array_equal(loaded.predict(X), model.predict(X))
    assert loaded.result_.status == model.result_.status == "converged"
    assert loaded.result_.n_iter == model.result_.n_iter


@every_model
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_sparse_coefficients_predict_as_dense_ones(model, make, rng):
    X, y = words(rng)
    model.fit(make(X), y)
    expected, shape = model.predict(make(X)), model.coef_.shape
    assert sparse.issparse(model.sparsify().coef_)
    assert_allclose(model.predict(make(X)), expected)
    model.set_params(warm_start=True).fit(make(X), y)
    model.sparsify().set_params(warm_start=False)
    assert model.densify().coef_.shape == shape
    assert_allclose(model.predict(make(X)), expected, rtol=1e-3)


@every_model
def test_float32_stays_float32(model, rng):
    X, y = words(rng)
    model.fit(X.astype(np.float32), y)
    assert model.coef_.dtype == np.asarray(model.intercept_).dtype == np.float32
    predicted = getattr(model, "predict_proba", model.predict)(X.astype(np.float32))
    assert predicted.dtype == np.float32


@pytest.mark.parametrize("multi_class", ["ovr", "multinomial"])
def test_a_class_of_weight_zero_is_never_predicted(multi_class, rng):
    X, _ = words(rng)
    y = X[:, :3].argmax(axis=1)
    settings = {"multi_class": multi_class, "expectation": "quadratic", "l2": 0.1}
    model = LogisticRegression(**settings, class_weight={0: 0.0}).fit(X, y)
    assert_array_equal(model.classes_, [0, 1, 2])
    assert model.predict_proba(X)[:, 0].max() < 1e-4
    others = y != 0
    without = LogisticRegression(**settings).fit(X[others], y[others])
    assert (without.predict(X) == model.predict(X)).mean() > 0.9


def test_two_classes_of_which_one_has_weight_zero(rng):
    X, y = words(rng)
    model = LogisticRegression(class_weight={0: 0}).fit(X, y)
    assert_array_equal(model.predict(X), np.ones(len(y)))
    assert LogisticRegressionCV(class_weight={0: 0}, l2=1.0, dropout=0.5, cv=2).fit(X, y).predict(X).all()
    with pytest.raises(ValueError, match="class_weight is zero for every class"):
        LogisticRegression(class_weight={0: 0, 1: 0}).fit(X, y)


def test_a_prediction_during_a_refit_uses_the_old_or_the_new_model(rng):
    """Two and three classes in turn: a mixture of both would have the wrong shape."""
    X, y = words(rng)
    targets = [y, X[:, :3].argmax(axis=1)]
    model = LogisticRegression(tol=1e-2).fit(X, y)
    expected = [clone.predict_proba(X) for clone in (LogisticRegression(tol=1e-2).fit(X, t) for t in targets)]
    stop, failures = Event(), []

    def predict():
        while not stop.is_set():
            try:
                found = model.predict_proba(X)
                if not any(found.shape == e.shape and np.allclose(found, e) for e in expected):
                    failures.append("a mixture of both models")
            except Exception as error:
                failures.append(repr(error))

    threads = [Thread(target=predict) for _ in range(2)]
    for thread in threads:
        thread.start()
    for k in range(60):
        model.fit(X, targets[k % 2])
    stop.set()
    for thread in threads:
        thread.join()
    assert not failures


@pytest.mark.parametrize("routing", [False, True])
def test_unlabelled_rows_that_scikit_learn_would_split_are_an_error(routing, rng):
    X, y = words(rng)
    U = words(rng, n=len(X))[0]
    message = "X_unlabeled has as many rows as X"
    with sklearn.config_context(enable_metadata_routing=routing):
        for model in (LogisticRegression(), LogisticRegressionCV(dropout=0.5, l2=1.0, cv=2)):
            with pytest.raises(ValueError, match=message):
                cross_validate(model, X, y, cv=3, params={"X_unlabeled": U}, error_score="raise")
        search = GridSearchCV(LogisticRegression(), {"l2": [1.0]}, cv=3, error_score="raise")
        with pytest.raises(ValueError, match=message):
            search.fit(X, y, X_unlabeled=U)
        search.fit(X, y, X_unlabeled=U[1:])
    LogisticRegression().fit(X, y, X_unlabeled=U)  # not inside scikit-learn's searches


def test_they_are_also_an_error_in_a_pipeline(rng):
    X, y = words(rng)
    with sklearn.config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(MaxAbsScaler(), LogisticRegression(), transform_input=["X_unlabeled"])
        with pytest.raises(ValueError, match="one fewer"):
            cross_validate(pipeline, X, y, cv=3, params={"X_unlabeled": X}, error_score="raise")


def test_regressors_do_not_shrink_by_default(rng):
    """By default the fit is least squares; dropout shrinks however many rows there are."""
    X = rng.normal(size=(2000, 3))
    y = X @ [1.0, 2.0, 0.0] + 0.1 * rng.normal(size=2000)
    A = np.column_stack([X, np.ones(len(X))])
    least_squares = np.linalg.lstsq(A, y)[0][:3]
    assert_allclose(LinearRegression(tol=1e-8).fit(X, y).coef_, least_squares, atol=1e-6)
    assert_allclose(LinearRegression(dropout=0.5).fit(X, y).coef_, [0.5, 1.0, 0.0], atol=0.05)


@pytest.mark.parametrize(
    "model",
    [*MODELS, LogisticRegressionCV(dropout=0.5, l2=1.0, cv=2)],
    ids=lambda model: type(model).__name__,
)
def test_a_failed_refit_with_other_columns_leaves_the_model_usable(model, rng):
    X, y = words(rng)
    model.fit(X, y)
    expected = model.predict(X)
    with pytest.raises(ValueError, match="y "):
        model.fit(X[:, :5], np.full(len(y), np.nan))
    assert_array_equal(model.predict(X), expected)
    assert model.n_features_in_ == X.shape[1]


def test_predictions_during_refits_with_other_columns_are_old_or_new(rng):
    X, y = words(rng)
    model = LogisticRegression(tol=1e-2).fit(X, y)
    stop, failures = Event(), []

    def predict():
        while not stop.is_set():
            try:
                model.predict(X)
            except ValueError as error:
                if "X has 12 features, but LogisticRegression is expecting 6" not in str(error):
                    failures.append(repr(error))

    thread = Thread(target=predict)
    thread.start()
    for k in range(60):
        model.fit(X[:, :6] if k % 2 else X, y)
    stop.set()
    thread.join()
    assert not failures


def test_names_of_an_earlier_fit_are_forgotten(rng):
    pd = pytest.importorskip("pandas")
    X, y = words(rng)
    frame = pd.DataFrame(X, columns=[f"word {k}" for k in range(X.shape[1])])
    model = LogisticRegression().fit(frame, y)
    assert model.feature_names_in_[3] == "word 3"
    assert not hasattr(model.fit(X, y), "feature_names_in_")


@pytest.mark.parametrize("routing", [False, True])
def test_meta_estimators_that_split_are_found_out_too(routing, rng):
    X, y = words(rng)
    with sklearn.config_context(enable_metadata_routing=routing):
        model = CalibratedClassifierCV(LogisticRegression(), cv=3)
        with pytest.raises(ValueError, match="part of X_unlabeled may have been left out"):
            model.fit(X, y, X_unlabeled=X)
        model.fit(X, y, X_unlabeled=X[1:])


def test_rows_in_messages_are_those_that_were_passed(rng):
    X, y = words(rng)
    y = y.astype(float)
    weights = np.ones(len(y))
    y[3], weights[:3] = -1.0, 0.0
    with pytest.raises(ValueError, match="row 3 is negative"):
        PoissonRegressor().fit(X, y, weights)
    weights[3] = 0.0
    PoissonRegressor(l2=1.0).fit(X, y, weights)


def test_a_single_feature_without_l2_does_not_mean_that_there_is_no_minimum(rng):
    X, y = words(rng)
    weights = np.ones(X.shape[1])
    weights[4] = 0.0
    LogisticRegression(dropout=0.0, l2=0.01, l2_weights=weights).fit(X, y)  # warnings are errors


def test_a_warning_does_not_need_a_module_name(rng):
    X, y = words(rng)
    code = "LogisticRegression(max_iter=1).fit(X, y)"
    with pytest.warns(ConvergenceWarning):
        exec(code, {"LogisticRegression": LogisticRegression, "X": X, "y": y, "__builtins__": {}})


def test_callbacks_can_score_probabilities_of_several_classes(rng):
    callback = pytest.importorskip("sklearn.callback")  # scikit-learn 1.9 and later
    X, _ = words(rng)
    y = X[:, :3].argmax(axis=1)
    monitor = callback.ScoringMonitor(scoring="neg_log_loss")
    LogisticRegression(l2=0.1).set_callbacks(monitor).fit(X, y)
    assert monitor.get_logs()


def test_online_learning_takes_sparse_coefficients_and_hands_over_names(rng):
    pd = pytest.importorskip("pandas")
    X, y = words(rng)
    frame = pd.DataFrame(X, columns=[f"word {k}" for k in range(X.shape[1])])
    batch = LogisticRegression().fit(frame, y)
    dense = OnlineLogisticRegression().start_from(batch).coef_
    assert_array_equal(OnlineLogisticRegression().start_from(batch.sparsify()).coef_, dense)
    online = OnlineLogisticRegression(shuffle=False).fit(frame, y)
    warm = online.hand_over(LogisticRegression(warm_start=True))
    assert_array_equal(warm.predict(frame), online.predict(frame))
    assert warm.coef_ is not online.coef_
    with pytest.raises(ValueError, match="warm_start=False"):
        online.hand_over(LogisticRegression())
