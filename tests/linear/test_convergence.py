import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from dropglm import LinearRegression, LogisticRegression
from dropglm.core.solvers import Status
from tests.linear.test_fits import words


def separable(rng, n=20, d=50):
    """Rows that are separable by many features together, but not by a single one."""
    X = rng.normal(size=(n, d))
    return X, (X.sum(axis=1) > 0).astype(int)


def test_a_fit_that_stops_early_warns_with_numbers(rng):
    X, y = words(rng)
    words_ = r"n_iter = 2\), with gradient norm [\d.e-]+, above tol = 0.0001 .*; raise max_iter or l2"
    with pytest.warns(ConvergenceWarning, match=words_) as caught:
        model = LogisticRegression(max_iter=2).fit(X, y)
    assert caught[0].filename == __file__
    assert model.result_.status is Status.MAX_ITER
    with pytest.warns(ConvergenceWarning, match="3 of 3 problems"):
        LogisticRegression(max_iter=1).fit(X, X[:, :3].argmax(axis=1))
    with pytest.warns(ConvergenceWarning, match="LinearRegression did not converge: it stopped") as caught:
        LinearRegression(max_iter=1).fit(X, y)
    assert caught[0].filename == __file__


@pytest.mark.parametrize("penalty", ["gaussian", "exact"])
def test_noise_alone_keeps_the_model_finite_on_separable_rows(penalty, rng):
    X, y = separable(rng)
    model = LogisticRegression(l2=0.0, expectation=penalty).fit(X, y)
    assert model.score(X, y) == 1.0
    assert model.result_.status is Status.CONVERGED
    assert np.abs(model.coef_).max() < 100


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"expectation": "quadratic"}, "the rows are separable and the quadratic penalty vanishes"),
        ({"dropout": 0.0}, "the rows are separable and there is neither noise nor l2"),
    ],
)
def test_a_warning_explains_why_there_is_no_minimum(settings, why, rng):
    X, y = separable(rng)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        LogisticRegression(l2=0.0, **settings).fit(X, y)
    messages = [str(warning.message) for warning in caught if warning.category is ConvergenceWarning]
    assert any(why in message and "Set l2 above 0" in message for message in messages)
    assert {warning.filename for warning in caught} == {__file__}


def test_exact_dropout_has_no_minimum_if_a_word_occurs_in_one_class_only(rng):
    """Whether the word is dropped or not, a larger coefficient never increases the loss of a row."""
    X, y = words(rng)
    X[:, 5] = y * X[:, 5]
    with pytest.warns(ConvergenceWarning, match="no minimum: some features occur in one class only"):
        LogisticRegression(l2=0.0, expectation="exact", tol=1e-2).fit(X, y)
    model = LogisticRegression(l2=0.0, expectation="exact", dropout=0.3, noise_std=0.1).fit(X, y)
    assert np.abs(model.coef_).max() < 100


def test_the_result_describes_the_fit(rng):
    X, y = words(rng)
    result = LogisticRegression().fit(X, y).result_
    assert result.status is Status.CONVERGED
    assert result.n_iter == len(result.history.objective) - 1
    assert result.objective == result.history.objective[-1]
    assert result.passes >= 2 * result.n_iter
    assert "status='converged'" in repr(result)


@pytest.mark.parametrize("model", [LogisticRegression, LinearRegression])
def test_verbose_shows_iterations_and_the_objective_on_standard_error(model, rng, capsys):
    X, y = words(rng)
    fitted = model(verbose=1).fit(X, y)
    shown = capsys.readouterr()
    assert f"{fitted.result_.n_iter} iterations" in shown.err
    assert f"objective {fitted.result_.objective:.8g}" in shown.err
    assert not shown.out
    model().fit(X, y)
    assert not capsys.readouterr().err


def test_verbose_counts_the_classes_that_are_fitted_one_against_the_rest(rng, capsys):
    X = words(rng)[0]
    y = np.arange(len(X)) % 4
    LogisticRegression(0.5, multi_class="ovr", verbose=1).fit(X, y)
    assert capsys.readouterr().err.startswith("4/4 classes: ")
    LogisticRegression(0.0, multi_class="multinomial", verbose=1).fit(X, y)
    assert " iterations: " in capsys.readouterr().err


class Recorder:
    """A callback with scikit-learn's interface."""

    def __init__(self, stop_after=None):
        self.stop_after = stop_after
        self.scores, self.calls = [], []

    def setup(self, estimator, context):
        self.calls.append("setup")

    def teardown(self, estimator, context):
        self.calls.append("teardown")

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context, *, X, y, fitted_estimator):
        if context.task_name == "iteration":
            self.scores.append(fitted_estimator.score(X, y))
            return len(self.scores) == self.stop_after
        return False


@pytest.mark.parametrize("K", [2, 3])
def test_callbacks_see_a_fitted_model_after_every_iteration(K, rng):
    pytest.importorskip("sklearn.callback")  # scikit-learn 1.9 and later
    X, y = words(rng)
    y = y if K == 2 else X[:, :3].argmax(axis=1)
    recorder = Recorder()
    model = LogisticRegression().set_callbacks(recorder).fit(X, y)
    assert recorder.calls == ["setup", "teardown"]
    assert len(recorder.scores) == model.n_iter_.sum()
    assert recorder.scores[-1] == pytest.approx(model.score(X, y))


def test_a_callback_may_stop_a_fit(rng):
    pytest.importorskip("sklearn.callback")  # scikit-learn 1.9 and later
    X, y = words(rng)
    model = LogisticRegression().set_callbacks(Recorder(stop_after=3)).fit(X, y)
    assert (model.result_.status, model.result_.n_iter) == (Status.CALLBACK, 3)
    linear = LinearRegression().set_callbacks(Recorder(stop_after=2)).fit(X, y)
    assert linear.result_.status is Status.CALLBACK


def test_scikit_learns_own_callbacks_work(rng):
    X, y = words(rng)
    callbacks = pytest.importorskip("sklearn.callback")  # scikit-learn 1.9 and later
    monitor = callbacks.ScoringMonitor(scoring="accuracy")
    model = LogisticRegression().set_callbacks(monitor, callbacks.ProgressBar()).fit(X, y)
    assert model.result_.status is Status.CONVERGED
    assert monitor.get_logs()
