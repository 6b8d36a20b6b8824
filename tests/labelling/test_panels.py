"""The estimate of accuracy, how many more labels help, and the search for texts."""

from statistics import NormalDist
from unicodedata import normalize

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dropglm.labelling import estimate_accuracy, labels_for_one_point
from dropglm.labelling.answers import TextNumbers
from dropglm.labelling.panels import EXPONENT, SPREAD, _odds_law, search

OUTCOMES = st.lists(st.booleans(), min_size=1, max_size=200)


@given(correct=OUTCOMES, confidence=st.floats(0.5, 0.999))
def test_bounds_solve_wilsons_equation(correct, confidence):
    """(share - bound)² = z² bound (1 - bound) / n, with the number n of outcomes of the same variance."""
    found = estimate_accuracy(correct, confidence=confidence)
    weights = np.arange(1, len(correct) + 1) ** 2 / np.sum(np.arange(1, len(correct) + 1) ** 2)
    assert found.accuracy == pytest.approx(weights @ np.array(correct, float), abs=1e-12)
    z, n = NormalDist().inv_cdf((1 + confidence) / 2), 1 / np.sum(weights**2)
    for bound in (found.low, found.high):
        difference = (found.accuracy - bound) ** 2
        assert difference == pytest.approx(z**2 * bound * (1 - bound) / n, abs=1e-9)
    assert 0.0 <= found.low <= found.accuracy + 1e-12
    assert found.accuracy - 1e-12 <= found.high <= 1.0
    assert found.n == len(correct)


@given(correct=OUTCOMES)
def test_exchanging_right_and_wrong_reflects_the_estimate(correct):
    found, other = estimate_accuracy(correct), estimate_accuracy([not one for one in correct])
    np.testing.assert_allclose(
        [found.accuracy, found.low, found.high],
        [1 - other.accuracy, 1 - other.high, 1 - other.low],
        atol=1e-12,
    )


def test_without_outcomes_nothing_is_known():
    found = estimate_accuracy([])
    assert np.isnan(found.accuracy)
    assert found[1:] == (0.0, 1.0, 0)


@pytest.mark.parametrize("confidence", [0.0, 1.0, 1.5])
def test_impossible_confidence_is_refused(confidence):
    with pytest.raises(ValueError, match="between 0 and 1"):
        estimate_accuracy([True], confidence=confidence)


@pytest.mark.parametrize("m", [10, 20, 40, 100])
@pytest.mark.parametrize(("now", "growth"), [(0.8, 0.0), (0.8, 0.04), (0.9, 0.03), (0.65, 0.08)])
def test_intervals_contain_the_present_accuracy_of_a_model_that_improves(m, now, growth):
    """Accuracy grows with the logarithm of the labels; 90 to 99 % of intervals contain the present one."""
    rng = np.random.default_rng(0)
    accuracy = now + growth * np.log(np.arange(1, m + 1) / m)
    found = [estimate_accuracy(rng.random(m) < accuracy) for _ in range(1500)]
    assert 0.9 <= np.mean([one.low <= now <= one.high for one in found]) <= 0.99


@given(wrong=st.lists(st.booleans(), min_size=1, max_size=60))
def test_the_curve_is_the_mode_of_its_posterior(wrong):
    """The derivatives of the log posterior are 0: residuals balance, and their trend balances the prior."""
    wrong = np.array([*wrong, True, False], float)
    x = np.log(np.arange(1, len(wrong) + 1) / len(wrong))
    log_odds, exponent = _odds_law(x, wrong)
    residuals = wrong - 1 / (1 + np.exp(exponent * x - log_odds))
    assert residuals.sum() == pytest.approx(0.0, abs=1e-7)
    assert -residuals @ x == pytest.approx((exponent - EXPONENT) / SPREAD**2, abs=1e-6)


@given(c=st.floats(0.15, 0.45), now=st.floats(0.05, 0.45))
def test_with_many_outcomes_the_curve_is_continued_exactly(c, now):
    """Each outcome is a share of wrong predictions, and stands for 400 of them."""
    n = np.arange(5, 405, 5)
    odds = now / (1 - now) * (n / 400) ** -c
    found = labels_for_one_point(np.repeat(n, 400), np.repeat(1 / (1 + odds), 400))
    later = now / (1 - now) / (now - 0.01) * (1 - now + 0.01)
    assert found == pytest.approx(400 * (later ** (1 / c) - 1), rel=0.05, abs=1)


@pytest.mark.parametrize(
    ("n_labels", "correct"),
    [
        ([], []),
        (range(5, 100, 5), [False] * 9 + [True] * 10),
        (range(5, 205, 5), [True] * 20 + [False] * 20),
        (range(5, 205, 5), [True, False] * 20),
        (range(5, 205, 5), [True] * 40),
        (range(5, 205, 5), [False] * 40),
        (range(5, 505, 5), [False] + [True] * 99),
    ],
    ids=["nothing", "19 outcomes", "falling", "flat", "all right", "all wrong", "almost perfect"],
)
def test_nothing_is_said_where_nothing_is_known(n_labels, correct):
    assert labels_for_one_point(n_labels, correct) is None


def test_a_model_that_does_not_improve_seldom_seems_to():
    """The trend test has a level of 5 per cent."""
    rng = np.random.default_rng(0)
    found = [labels_for_one_point(range(5, 505, 5), rng.random(100) < 0.6) for _ in range(400)]
    assert np.mean([one is not None for one in found]) < 0.09


def test_numbers_that_are_said_are_about_right():
    """Accuracy 58 to 80 % as on average of six data sets; nine in ten are within a factor of 3."""
    n = np.arange(15, 205, 5)
    odds = 0.25 * (n / 200) ** -0.4
    rng = np.random.default_rng(0)
    found = [labels_for_one_point(n, rng.random(len(n)) < 1 / (1 + odds)) for _ in range(400)]
    said = np.array([one for one in found if one is not None])
    true = 200 * ((0.25 / (0.19 / 0.81)) ** (1 / 0.4) - 1)
    assert len(said) > 40
    assert np.mean((said > true / 3) & (said < 3 * true)) > 0.9


def test_numbers_and_outcomes_must_match():
    with pytest.raises(ValueError, match="must have the same length, got 2 and 1"):
        labels_for_one_point([1, 2], [True])


TEXTS = TextNumbers(
    ["A Great film", "a film,\nnot great", "great\t film fun", "straße (c++)", "", "a GREAT  film"]
)


@pytest.mark.parametrize(
    ("query", "numbers"),
    [
        ("film great", [0, 1, 2]),
        ("GREAT   fun", [2]),
        ('"great film"', [0, 2]),
        ("“great film”", [0, 2]),
        ('"great film" fun', [2]),
        ('"great fi', [0, 2]),
        ("STRASSE c++)", [3]),
        ("great none", []),
        ('""', []),
        (' " ', []),
        ("", []),
    ],
)
def test_all_words_and_phrases_must_occur(query, numbers):
    assert search(TEXTS, query)[:2] == (numbers, len(numbers))


@given(st.lists(st.text("ab ", max_size=8), max_size=6), st.lists(st.text("ab", min_size=1, max_size=2)))
def test_the_order_of_the_words_does_not_matter(texts, words):
    texts = TextNumbers(texts)
    found = search(texts, " ".join(words), k=2)
    different = sorted(set(texts.copy_of))
    holding = [n for n in different if words and all(word in texts.texts[n] for word in words)]
    assert found[:2] == (holding[:2], len(holding))
    assert found[:2] == search(texts, " ".join(reversed(words)).upper(), k=2)[:2]


def test_accents_are_found_however_they_were_typed():
    texts = TextNumbers([normalize("NFD", "schöne Größe"), normalize("NFC", "Größe"), "Grosse"])
    for query in ("größe", normalize("NFD", "größe")):
        assert search(texts, query).numbers == [0, 1]


def test_an_excerpt_shows_a_word_that_was_found():
    long = "so " * 300 + "Great  film"
    found = search(TextNumbers([long]), '"great film" so')
    assert found.wanted == [["great", "film"], ["so"]]
    assert found.near(long) == 0  # "so" is at the beginning
    found = search(TextNumbers([long]), '"great film"')
    assert long[found.near(long) :].endswith("so so Great  film")
    assert len(long[found.near(long) :]) < 100
