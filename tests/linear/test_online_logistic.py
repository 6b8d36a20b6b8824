"""OnlineLogisticRegression: the estimator around the update rules."""

import pickle
from typing import NamedTuple

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import SGDClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from dropglm import LogisticRegression, OnlineLogisticRegression
from dropglm.core.maths.kernel_files import writable_folder
from dropglm.core.online import RULES, AdaGrad, DivergenceError, DropoutDescent, Rule
from dropglm.core.online.learner import take_steps

SETTINGS = [
    *(OnlineLogisticRegression(rule) for rule in RULES),
    OnlineLogisticRegression("dropout", power=0.5, average=True),
    OnlineLogisticRegression("adagrad", l2=1e-3, shuffle=False, fit_intercept=True),
]


def weight_is_not_repetition(estimator):
    """A repeated row is two steps, a row of weight 2 is one; SGDClassifier fails these checks as well."""
    reason = "repeating a row takes two steps"
    return {f"check_sample_weight_equivalence_on_{kind}_data": reason for kind in ("dense", "sparse")}


@parametrize_with_checks(SETTINGS, expected_failed_checks=weight_is_not_repetition)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


@pytest.fixture
def words(rng):
    X = (rng.random((600, 40)) < 0.2).astype(np.float32)
    y = np.where(X[:, :10].sum(axis=1) >= X[:, 10:20].sum(axis=1), "more", "less")
    return sparse.csr_array(X), y


@pytest.mark.parametrize("rule", RULES)
def test_accuracy_is_close_to_that_of_sgd_classifier(rule, words):
    X, y = words
    rival = SGDClassifier(loss="log_loss", random_state=0).fit(X[:400], y[:400]).score(X[400:], y[400:])
    model = OnlineLogisticRegression(rule, random_state=0).fit(X[:400], y[:400])
    assert model.score(X[400:], y[400:]) > rival - (0.15 if rule == "sgd" else 0.06)
    assert model.t_ == 5 * 400


@pytest.mark.parametrize("rule", RULES)
def test_partial_fit_in_chunks_equals_one_pass_in_order(rule, words):
    X, y = words
    whole = OnlineLogisticRegression(rule, epochs=1, shuffle=False).fit(X, y)
    parts = OnlineLogisticRegression(rule)
    for chunk in np.array_split(np.arange(600), 7):
        parts.partial_fit(X[chunk], y[chunk], classes=["less", "more"])
    assert_array_equal(parts.coef_, whole.coef_)
    assert_array_equal(parts._progressive_scores, whole._progressive_scores)


def test_progressive_scores_use_predictions_made_before_learning(words):
    X, y = words
    model, right, loss = OnlineLogisticRegression("adagrad"), [], []
    for i in range(100):
        row = X[i : i + 1]
        if i:
            p = model.predict_proba(row)[0, int(y[i] == "more")]
            loss.append(-np.log(p))
            right.append(model.predict(row)[0] == y[i])
        else:
            loss.append(np.log(2.0))
            right.append(y[0] == "less")
        model.partial_fit(row, y[i : i + 1], classes=["less", "more"])
    assert model.progressive_accuracy_ == pytest.approx(np.mean(right))
    assert model.progressive_log_loss_ == pytest.approx(np.mean(loss), rel=1e-6)


def test_coefficients_can_be_copied_from_and_to_batch_models(words):
    X, y = words
    batch = LogisticRegression(l2=1.0).fit(X, y)
    online = OnlineLogisticRegression().start_from(batch)
    assert_allclose(online.decision_function(X), batch.decision_function(X), rtol=1e-5)
    online.partial_fit(X[:50], y[:50])
    assert online.t_ == 50
    near = OnlineLogisticRegression(epochs=20, random_state=0).fit(X, y)
    warm = near.hand_over(LogisticRegression(l2=1.0, warm_start=True))
    assert_allclose(warm.decision_function(X), near.decision_function(X), rtol=1e-4, atol=1e-5)
    warm.fit(X, y)
    assert_allclose(warm.coef_, batch.coef_, atol=2e-3)


def test_three_classes_and_weights(rng):
    X = rng.normal(size=(300, 5))
    y = np.array(["a", "b", "c"])[X[:, :3].argmax(axis=1)]
    model = OnlineLogisticRegression("adagrad", random_state=0).fit(
        X, y, sample_weight=rng.uniform(0.5, 1.5, size=300)
    )
    assert model.score(X, y) > 0.85
    assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    assert model.coef_.shape == (3, 5)
    assert clone(model).get_params() == model.get_params()


def test_the_random_state_determines_the_order(words):
    X, y = words
    one, same, other = (OnlineLogisticRegression(random_state=k).fit(X, y).coef_ for k in (0, 0, 1))
    assert_array_equal(one, same)
    assert not np.array_equal(one, other)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"rule": "adagrd"}, "did you mean 'adagrad'"),
        (
            {"rule": AdaGrad},
            "rule must be a name or an instance of a class that derives from dropglm.core.online.Rule",
        ),
        ({"rule": AdaGrad(rate=-1.0)}, "rate must be finite and not negative"),
        ({"rate": -1.0}, "rate must be finite and not negative"),
        ({"l2": "much"}, "l2 must be a number"),
        ({"power": 2}, "power must be 1 or 0.5"),
        ({"average": True, "l2": 0.1}, "average=True cannot be combined with l2"),
        ({"average": 1}, "average must be True or False"),
        ({"epochs": 0}, "epochs must be at least 1"),
    ],
    ids=repr,
)
def test_invalid_settings_raise(settings, message, words):
    with pytest.raises((TypeError, ValueError), match=message):
        OnlineLogisticRegression(**settings).fit(*words)


def test_invalid_rows_and_classes_raise(words):
    X, y = words
    with pytest.raises(ValueError, match="The first call to partial_fit requires classes"):
        OnlineLogisticRegression().partial_fit(X, y)
    model = OnlineLogisticRegression().partial_fit(X, y, classes=["less", "more"])
    before = model.coef_
    with pytest.raises(ValueError, match="Row 1 has the label most, which is not among the classes"):
        model.partial_fit(X[:2], ["more", "most"])
    with pytest.raises(ValueError, match="classes cannot change after the first partial_fit; they are"):
        model.partial_fit(X[:2], y[:2], classes=["a", "b"])
    with pytest.raises(ValueError, match="NaN"):
        model.partial_fit(np.full((1, 40), np.nan), ["more"])
    with pytest.raises(ValueError, match="features"):
        model.partial_fit(np.zeros((1, 3)), ["more"])
    assert_array_equal(model.coef_, before)


def test_sums_of_dropout_are_the_curvatures_at_the_time_of_each_row(words):
    """Plus a tenth of the mean squared row size at the first occurrence of the feature."""
    X, y = words
    model, expected, sizes = OnlineLogisticRegression("dropout"), np.zeros(40), []
    for i in range(30):
        row = X[i : i + 1]
        x = row.toarray()[0]
        sizes.append(1 + x @ x)
        expected[(x != 0) & (expected == 0)] = 0.1 * np.mean(sizes)
        p = model.predict_proba(row)[0, 1] if i else 0.5
        expected += p * (1 - p) * x**2
        model.partial_fit(row, y[i : i + 1], classes=["less", "more"])
    assert_allclose(model.sums_[0], expected, rtol=1e-6)


@pytest.mark.parametrize("rule", RULES)
def test_coefficients_have_the_dtype_of_the_rows(rule, words):
    X, y = words
    short, long = (OnlineLogisticRegression(rule, random_state=0).fit(X.astype(t), y) for t in "fd")
    assert (short.coef_.dtype, long.coef_.dtype) == (np.float32, np.float64)
    assert_allclose(short.coef_, long.coef_, rtol=2e-4, atol=1e-5)


def test_l2_and_average_cannot_be_switched_on_after_the_first_row(words):
    X, y = words
    for change in ({"l2": 0.1}, {"average": True}):
        model = OnlineLogisticRegression().partial_fit(X, y, classes=["less", "more"]).set_params(**change)
        with pytest.raises(ValueError, match="cannot change after the first partial_fit"):
            model.partial_fit(X, y)
        model.fit(X, y).partial_fit(X, y)


def test_a_failed_fit_or_first_call_leaves_the_model_unchanged(words):
    """Were n_features_in_ set before the labels are checked, the kernel would write out of bounds."""
    X, y = words
    model = OnlineLogisticRegression().partial_fit(X, y, classes=["less", "more"])
    before = model.coef_.copy()
    wide = np.ones((2, 90))
    with pytest.raises(ValueError, match="NaN, None or infinity"):
        model.fit(wide, [np.nan, 1.0])
    with pytest.raises(ValueError, match="features"):
        model.partial_fit(wide, ["less", "more"])
    with pytest.raises(TypeError, match="must be a LogisticModel"):
        model.start_from(5)
    assert_array_equal(model.predict(X), np.where(X @ before[0] + model.intercept_ > 0, "more", "less"))
    new = OnlineLogisticRegression()
    with pytest.raises(ValueError, match="label most"):
        new.partial_fit(X[:2], ["more", "most"], classes=["less", "more"])
    new.partial_fit(X[:2], ["more", "most"], classes=["less", "more", "most"])


def test_settings_that_the_state_depends_on_cannot_change(words):
    X, y = words
    for change in ({"rule": "arow"}, {"l2": 0.2}, {"rate": 0.5}, {"fit_intercept": False}):
        model = OnlineLogisticRegression(l2=0.1).partial_fit(X, y, classes=["less", "more"])
        with pytest.raises(ValueError, match="cannot change after the first partial_fit"):
            model.set_params(**change).partial_fit(X, y)
    OnlineLogisticRegression().partial_fit(X, y, classes=["less", "more"]).set_params(rate=0.5).partial_fit(
        X, y
    )


def test_progressive_scores_of_fit_are_those_of_the_first_pass(rng):
    X, y = rng.normal(size=(200, 300)), rng.integers(2, size=200)
    one, five = (OnlineLogisticRegression(epochs=n, random_state=0).fit(X, y) for n in (1, 5))
    assert five.progressive_accuracy_ == one.progressive_accuracy_ < 0.65
    assert five.score(X, y) > 0.95


def test_too_many_coefficients_are_refused_before_memory_is_allocated():
    with pytest.raises(ValueError, match="1,000 classes times 1,048,576 features are too many coefficients"):
        OnlineLogisticRegression()._reset(np.arange(1000), 1 << 20, np.float32)


def test_coefficients_are_recomputed_after_each_partial_fit(words):
    X, y = words
    model = OnlineLogisticRegression(average=True).partial_fit(X[:9], y[:9], classes=["less", "more"])
    before = model.coef_
    assert before.dtype == np.float32
    assert model.partial_fit(X, y).coef_ is not before
    assert not np.array_equal(model.coef_, before)
    with pytest.raises(NotFittedError):
        print(OnlineLogisticRegression().progressive_accuracy_)


def test_progressive_scores_do_not_depend_on_the_chunk_size(rng):
    X, y, weights = rng.normal(size=(500, 8)), rng.integers(2, size=500), rng.uniform(size=500)
    sums = []
    for chunks in (1, 7, 500):
        model = OnlineLogisticRegression()
        for part in np.array_split(np.arange(500), chunks):
            model.partial_fit(X[part], y[part], classes=[0, 1], sample_weight=weights[part])
        sums.append(model._progressive_scores)
    assert_array_equal(sums[0], sums[1])
    assert_array_equal(sums[0], sums[2])


class ClippedSettings(NamedTuple):
    rate: float = 1.0
    largest: float = 0.5


class ClippedDescent(Rule, ClippedSettings):
    """A rule that is defined outside the package: perceptron steps that are clipped, in a fixed metric."""

    def slope(self, eta, y, weight, variance):
        return min(max(weight * ((1.0 if eta > 0.0 else 0.0) - y), -self.largest), self.largest)

    def increment(self, slope, weight, curvature):
        return 1.0

    def initial_sum(self, c2):
        return 2.0

    def metric(self, s, t):
        return 4.0


def test_a_user_defined_rule_can_be_passed_as_an_object(words):
    """Its steps are those of its equation, its class stays out of the cache on disk, and clone keeps it."""
    X, y = words
    model = OnlineLogisticRegression(rule=ClippedDescent(largest=0.25), fit_intercept=False)
    model.partial_fit(X, y, classes=["less", "more"])
    beta = np.zeros(40)
    for x, label in zip(X.toarray(), y == "more", strict=True):
        beta -= np.clip(float(x @ beta > 0) - label, -0.25, 0.25) / 4.0 * x
    assert_allclose(model.coef_[0], beta, rtol=1e-5, atol=1e-6)
    assert_array_equal(model.sums_[0], 2.0 + X.toarray().sum(axis=0))
    own = [kinds for kinds in take_steps.signatures if "ClippedDescent" in str(kinds)]
    assert own
    assert not any((writable_folder() / take_steps._cache._file_name(kinds)).exists() for kinds in own)
    assert clone(model).rule == model.rule
    assert type(clone(model).rule) is ClippedDescent
    assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))
    with pytest.raises(ValueError, match="cannot change after the first partial_fit"):
        model.set_params(rule=AdaGrad(1.0, 0.25)).partial_fit(X, y)


def test_a_rule_object_equals_its_name_and_rate_overrides_its_own(words):
    X, y = words
    expected = OnlineLogisticRegression("dropout", rate=0.3, power=0.5, random_state=0).fit(X, y)
    found = OnlineLogisticRegression(DropoutDescent(power=0.5), rate=0.3, random_state=0).fit(X, y)
    assert_array_equal(found.coef_, expected.coef_)
    found = OnlineLogisticRegression(DropoutDescent(0.3, power=0.5), random_state=0).fit(X, y)
    assert_array_equal(found.coef_, expected.coef_)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("rule", ["adagrad", "dropout", "sgd"])
def test_a_diverging_fit_stops_and_names_the_step(rule, dtype, words):
    """Later uses of the model repeat the message, until it is fitted again."""
    X, y = words
    X = X.astype(dtype)
    model = OnlineLogisticRegression(rule, rate=1.7e308)
    with pytest.raises(
        DivergenceError, match=r"diverged by step \d+.*Lower rate \(now 1.7e\+308\)"
    ) as caught:
        model.partial_fit(X, y, classes=["less", "more"])
    assert isinstance(caught.value, ValueError)
    assert 1 <= caught.value.step <= len(y)
    for use in (model.predict, lambda X: model.coef_, lambda X: model.partial_fit(X, y)):
        with pytest.raises(ValueError, match=f"diverged by step {caught.value.step}"):
            use(X)
    assert model.set_params(rate=None).fit(X, y).score(X, y) > 0.7


def test_divergence_is_noticed_at_the_last_row():
    X = np.full((1, 1), 1e10)
    with pytest.raises(DivergenceError, match="by step 1:"):
        OnlineLogisticRegression("sgd", rate=1e308).partial_fit(X.astype(np.float32), [1], classes=[0, 1])


def test_rows_of_weight_0_do_not_count_as_steps_of_a_divergence():
    X = np.ones((6, 1), np.float32)
    model = OnlineLogisticRegression("sgd", rate=1e308, fit_intercept=False)
    with pytest.raises(DivergenceError, match="by step 1:"):
        model.partial_fit(X, [1] * 6, classes=[0, 1], sample_weight=[0, 0, 0, 0, 1, 1])


def test_an_overflow_in_a_feature_that_does_not_occur_again_is_noticed_on_access():
    X = sparse.csr_array([[1e10, 0.0], [0.0, 1.0]])
    model = OnlineLogisticRegression("sgd", rate=1e308, fit_intercept=False)
    model.partial_fit(X, [1, 1], classes=[0, 1], sample_weight=[100.0, 1.0])
    with pytest.raises(DivergenceError, match="by step 2:"):
        print(model.coef_)
    with pytest.raises(DivergenceError, match="by step 2:"):
        model.predict(X)


def test_a_huge_rate_is_divergence_also_on_rows_that_are_easy():
    """Every prediction after the first row is right, so the loss stays finite."""
    X, y = np.tile([[1.0, 0.0], [0.0, 1.0]], (50, 1)), np.tile([0, 1], 50)
    with pytest.raises(ValueError, match=r"diverged .*1e\+308"):
        OnlineLogisticRegression(rate=1e308).fit(X, y)
