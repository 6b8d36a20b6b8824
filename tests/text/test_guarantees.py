"""Bounds, sets of labels and texts of another kind: identities, and what they promise on simulated rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import betabinom, binomtest

from dropglm import OnlineTextClassifier, TextClassifier, load_model, save_model
from dropglm.base import model_files
from dropglm.base.errors import InputError
from dropglm.text.file_contents import MODELS
from dropglm.text.fitted_model import load_fitted_model
from dropglm.text.guarantees import (
    Curve,
    Evidence,
    Typical,
    interval,
    last_accepted,
    rows_needed,
    sequence_of_counts,
    tail_of_ranks,
    upper_bound,
)
from tests.text.synthetic import random_text

shares = st.floats(0.01, 0.5)
confidences = st.sampled_from([0.5, 0.8, 0.9, 0.95, 0.99])


def simulated(rng, n, slope=4.0):
    """Return evidence in which a prediction with probability p is right with probability p."""
    top = rng.beta(slope, 1.0, n) * 0.5 + 0.5
    right = rng.random(n) < top
    return Evidence(
        top.astype(np.float32), np.where(right, top, 1.0 - top).astype(np.float32), right, "guarantee"
    )


@given(st.integers(0, 40), st.integers(1, 60), confidences)
def test_bounds_are_those_of_clopper_and_pearson(k, more, confidence):
    m = k + more
    theirs = binomtest(k, m).proportion_ci(2.0 * confidence - 1.0 or 1e-9, "exact").high
    assert_allclose(upper_bound(k, m, confidence), theirs, rtol=1e-7)
    low, high = binomtest(k, m).proportion_ci(0.95, "exact")
    assert_allclose(interval(k, m), (low, high), atol=6e-5)


@given(shares, confidences, st.integers(0, 20))
def test_the_rows_needed_are_the_fewest_whose_bound_is_met(max_error, confidence, wrong):
    m = rows_needed(max_error, confidence, wrong)
    assert upper_bound(wrong, m, confidence) <= max_error * (1 + 1e-12)
    assert m == wrong + 1 or upper_bound(wrong, m - 1, confidence) >= max_error * (1 - 1e-12)


@given(shares, confidences)
def test_with_the_named_number_of_right_rows_something_is_promised_and_with_one_fewer_nothing(
    max_error, confidence
):
    few = Evidence(*[np.linspace(0.5, 1.0, 3, dtype=np.float32)] * 2, np.ones(3, bool), "guarantee")
    needed = few.selective(max_error, confidence).needed
    for n, is_promised in ((needed or 3, True), ((needed or 3) - 1, False)):
        top = np.linspace(0.5, 1.0, n, dtype=np.float32)
        rule = Evidence(top, top, np.ones(n, bool), "guarantee").selective(max_error, confidence)
        if needed is not None:
            assert (rule.threshold is not None) == is_promised
    assert needed is None or f"at least {needed:,} are needed" in str(few.selective(max_error, confidence))


@given(st.integers(1, 2000), shares, confidences)
def test_the_sequence_begins_where_something_can_be_accepted_and_ends_with_all_rows(n, max_error, confidence):
    counts = sequence_of_counts(n, max_error, confidence)
    assert len(counts) == 0 or (np.diff(counts) > 0).all()
    assert (len(counts) > 0) == (n >= rows_needed(max_error, confidence))
    assert len(counts) == 0 or (counts[0] >= rows_needed(max_error, confidence) and counts[-1] == n)


@given(st.integers(0, 2**32 - 1), st.integers(20, 600))
def test_answers_are_within_the_bound(seed, n):
    evidence = simulated(np.random.default_rng(seed), n)
    rule = evidence.selective(0.1, 0.9)
    if rule.threshold is None:
        assert rule.share == 0.0
        assert not rule.answers(np.eye(2)).any()
        return
    answered = evidence.top > rule.threshold
    assert rule.answered == answered.sum()
    assert rule.wrong == (answered & ~evidence.right).sum()
    assert rule.bound == upper_bound(rule.wrong, rule.answered, 0.9) <= 0.1
    assert rule.share == answered.mean()


@given(st.integers(0, 2**32 - 1))
def test_a_single_threshold_answers_more_if_more_errors_are_allowed_or_less_confidence_is_wanted(seed):
    wrong = ~simulated(np.random.default_rng(seed), 300).right
    counts = sequence_of_counts(300, 0.05, 0.9)
    bounds = upper_bound(np.cumsum(wrong)[counts - 1], counts, 0.9)
    passed = [(bounds <= error).argmin() if (bounds > error).any() else len(bounds) for error in (0.05, 0.1)]
    assert passed[0] <= passed[1]
    expected = counts[passed[0] - 1] if passed[0] else 0
    assert last_accepted(wrong, 0.05, 0.9) == expected


def test_the_error_among_answers_exceeds_the_bound_no_more_often_than_promised():
    rng, exceeded, answered = np.random.default_rng(0), 0, []
    pool = simulated(rng, 100_000)
    for _ in range(300):
        some = rng.choice(len(pool), 300, replace=False)
        evidence = Evidence(pool.top[some], pool.own[some], pool.right[some], "guarantee")
        rule = evidence.selective(0.1, 0.9)
        answers = pool.top > (1.0 if rule.threshold is None else rule.threshold)
        answered.append(answers.mean())
        exceeded += bool(answers.any()) and (~pool.right[answers]).mean() > 0.1
    assert exceeded <= 0.1 * 300 + 2.0 * np.sqrt(0.09 * 300)
    assert np.mean(answered) > 0.2


def test_rows_with_the_same_probability_are_answered_together_or_not_at_all():
    top = np.full(200, 0.9, np.float32)
    assert Evidence(top, top, np.arange(200) > 4, "guarantee").selective(0.05).share == 1.0
    rule = Evidence(top, top, np.arange(200) % 10 > 0, "guarantee").selective(0.05)
    assert rule.threshold is None
    assert "the surest ones are wrong too often" in str(rule)


def test_more_rows_of_the_same_kind_are_enough_where_a_number_is_named():
    top = np.linspace(1.0, 0.5, 60, dtype=np.float32)
    right = np.arange(60) % 30 != 10  # 3 % errors
    rule = Evidence(top, top, right, "guarantee").selective(0.1, 0.99)
    assert rule.threshold is None
    assert f"about {rule.needed:,} are needed" in str(rule)
    rows = np.arange(rule.needed) * 60 // rule.needed
    assert last_accepted(~right[rows], 0.1, 0.99)


@pytest.mark.parametrize("coverage", [0.5, 0.9])
def test_sets_of_labels_contain_the_right_one_as_often_as_promised(coverage):
    rng, hits = np.random.default_rng(1), []
    for _ in range(100):
        P = rng.dirichlet(np.full(5, 0.5), 300)
        truth = (rng.random((300, 1)) > P.cumsum(axis=1)).sum(axis=1).clip(0, 4)
        evidence = Evidence.of(P[:200], truth[:200], "guarantee")
        sets = evidence.label_sets(P[200:], coverage)
        hits.append(np.mean([own in row for own, row in zip(truth[200:], sets, strict=True)]))
        assert all(row[0] == p.argmax() for row, p in zip(sets, P[200:], strict=True))
    # At least one label per set: where the best class is right more often than that, it covers more.
    best = np.mean([P.max(axis=1).mean()])
    error = 3.0 * np.std(hits) / np.sqrt(len(hits))
    assert np.mean(hits) >= coverage - error
    assert coverage < best or np.mean(hits) <= coverage + 1.0 / 201 + error


def test_sets_have_all_labels_if_the_rows_are_too_few():
    P = np.array([[0.9, 0.1], [0.2, 0.8]])
    evidence = Evidence.of(P, np.array([0, 1]), "guarantee")
    assert evidence.label_threshold(0.9) == 0.0
    assert evidence.label_sets(P, 0.9) == [[0, 1], [1, 0]]


def test_evidence_leaves_out_rows_that_were_never_held_out_and_counts_unknown_labels_as_wrong():
    P = np.array([[0.9, 0.1], [np.nan, np.nan], [0.2, 0.8]])
    found = Evidence.of(P, np.array([0, 1, -1]), "estimate")
    assert_allclose(found.own, [0.9, 0.0])
    assert_array_equal(found.right, [True, False])
    many = Evidence.of(np.tile(P[:1], (10_001, 1)), np.zeros(10_001, int), "estimate")
    assert len(many) == 10_000


@given(st.integers(0, 30), st.integers(1, 10), st.integers(20, 200))
def test_the_number_of_texts_below_a_rank_is_beta_binomial(count, rank, n):
    assert_allclose(
        tail_of_ranks(count, 30, rank, n), betabinom(30, rank, n + 1 - rank).sf(count - 1), atol=1e-10
    )


def test_the_curve_ends_with_the_error_of_all_rows():
    evidence = simulated(np.random.default_rng(2), 500)
    P = np.column_stack([evidence.top, 1.0 - evidence.top])
    curve = Curve.of(P, np.where(evidence.right, 0, 1))
    assert curve.share[-1] == 1.0
    assert curve.error[-1] == pytest.approx((~evidence.right).mean())
    assert curve.share_at(1.0) == 1.0
    assert Curve.of(np.empty((0, 2)), []).share_at(0.5) == 0.0


@pytest.fixture(scope="module")
def texts():
    """Return texts and labels, of which one in ten is wrong."""
    rng = np.random.default_rng(0)
    y = rng.choice(["good", "bad"], 400)
    X = [random_text(label, rng) for label in y]
    return X, np.where(rng.random(400) < 0.1, rng.permutation(y), y)


@pytest.fixture(scope="module")
def model(texts):
    X, y = texts
    return TextClassifier(characters=None).fit(X[:200], y[:200])


def test_folds_give_estimates_and_other_texts_a_guarantee_which_files_keep(model, texts, tmp_path):
    X, y = texts
    assert not model.selective(0.2).is_guarantee
    own = load_model(save_and_path(model, tmp_path))
    held_out = ~np.isnan(model.cv_probabilities_[:, 0])
    assert len(model.evidence_) == held_out.sum()
    assert own.selective(0.2) == model.selective(0.2)
    own.calibrate_on(X[200:], y[200:])
    rule = own.selective(0.2, 0.8)
    assert rule.is_guarantee
    assert rule.rows == 200
    again = load_fitted_model(save_and_path(own, tmp_path))
    assert again.selective(0.2, 0.8) == rule
    p = own.predict_proba(X[:50])
    found = again.selective(0.2, 0.8).predict(X[:50])
    assert_array_equal(found == None, ~rule.answers(p))  # noqa: E711
    assert_array_equal(found[rule.answers(p)], own.predict(X[:50])[rule.answers(p)])
    for labels, best in zip(again.predict_sets(X[:50], 0.9), own.predict(X[:50]), strict=True):
        assert labels[0] == best
    assert again.compare_with_training(X[200:]) == own.compare_with_training(X[200:])


def save_and_path(model, folder):
    save_model(model, folder / "m.skops")
    return folder / "m.skops"


def test_files_without_evidence_predict_and_say_what_is_missing(model, texts, tmp_path):
    state = model._current_model().to_state()
    del state["evidence"], state["typical"]
    model_files.write(tmp_path / "old.skops", "TextClassifier", state, MODELS["TextClassifier"])
    old = load_model(tmp_path / "old.skops")
    assert_array_equal(old.predict(texts[0][:5]), model.predict(texts[0][:5]))
    assert old.compare_with_training(texts[0][:5]) is None
    with pytest.raises(InputError, match="no predictions for held-out texts"):
        old.selective()


def test_texts_that_were_trained_on_look_as_if_they_were_new(texts):
    X, y = texts
    whole = TextClassifier(tune=False).fit(X[:60], y[:60])._fitted.vectorizer
    row = 7
    rest = TextClassifier(tune=False).fit(X[:row] + X[row + 1 : 60], np.delete(y[:60], row))
    assert_allclose(
        whole._typicality(X[:60], in_fit=True)[row],
        rest._fitted.vectorizer._typicality([X[row]])[0],
        rtol=1e-5,
    )


def test_texts_of_another_kind_are_noticed_and_texts_of_the_same_kind_are_not(model, texts):
    same = model.compare_with_training(texts[0][200:250])
    other = model.compare_with_training(["Zwölf Boxkämpfer jagen Viktor quer über den Sylter Deich"] * 10)
    assert not same.is_unusual
    assert other.is_unusual
    assert other.few_known == 10
    assert "10 of 10 texts have fewer known words" in other.warning()
    assert model.compare_with_training([""] * 3).few_known == 3


def test_too_few_training_texts_and_characters_tell_nothing_about_new_texts(texts):
    X, y = texts
    assert TextClassifier(tune=False).fit(X[:15], y[:15]).compare_with_training(X) is None
    assert TextClassifier(tune=False, analyzer="char").fit(X[:50], y[:50]).compare_with_training(X) is None
    assert Typical.of(np.zeros((5, 2))) is None


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda model: model.selective(0.0), "max_error must be between 0 and 1"),
        (lambda model: model.selective(0.1, 1.0), "confidence must be between 0 and 1"),
        (lambda model: model.predict_sets(["a"], 1.5), "coverage must be between 0 and 1"),
        (lambda model: model.calibrate_on(["a", "b"], ["good"]), "one label for each of the 2 texts"),
        (lambda model: model.calibrate_on(["a"], ["neither"]), "neither"),
        (lambda model: model.calibrate_on(["a"], ["good"], kind="sure"), "kind must be one of"),
    ],
)
def test_what_cannot_be_used_is_one_sentence(model, call, message):
    with pytest.raises(InputError, match=message):
        call(model)


def test_several_labels_and_streams_say_why_there_is_no_guarantee():
    several = TextClassifier(tune=False).fit(["a b", "b c", "c d"], [["x"], ["x", "y"], []])
    with pytest.raises(InputError, match="one label per text"):
        several.selective()
    online = OnlineTextClassifier().partial_fit(["one", "two"], ["a", "b"], classes=["a", "b"])
    with pytest.raises(InputError, match="learns on"):
        online.calibrate_on(["one"], ["a"])
