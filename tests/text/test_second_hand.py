"""Second-hand labels: their reliability, and what they may cost."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from dropglm import TextClassifier, load_model, save_model
from dropglm.text.second_hand import Source, answers_of, clearly_less, expectation

CLASSES = np.array(["bad", "good"])
GOOD, BAD = [f"good{k}" for k in range(25)], [f"bad{k}" for k in range(25)]
pytestmark = pytest.mark.filterwarnings("ignore:The .* texts without labels did not improve:UserWarning")


def some_texts(n, seed=0):
    """Return texts in which one word in three says something about the class."""
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=n)
    words = [f"w{k}" for k in range(60)]
    own = [rng.choice(GOOD if one else BAD, 2) for one in y]
    texts = [" ".join([*mine, *rng.choice(words, 4)]) for mine in own]
    return texts, CLASSES[y]


def noisy(y, right, seed=1):
    rng = np.random.default_rng(seed)
    return np.where(rng.random(len(y)) < right, y, rng.choice(CLASSES, len(y)))


def hand(y, n):
    return [*y[:n].tolist(), *[None] * (len(y) - n)]


def test_probabilities_of_answers_are_smoothed_counts():
    y, column = np.array([0, 0, 0, 1, 1]), np.array(["bad", "bad", "good", "good", None, "odd"], object)
    found = Source.of(column, y, np.arange(5), CLASSES)
    table = found.table()
    assert list(found.number_of) == ["bad", "good", "odd"]
    assert_allclose(table.sum(axis=1), 1.0)
    assert found.agreement == 0.75
    assert table[0, 0] > table[1, 0]
    assert_array_equal(found.answers(column)[0], [0, 1, 2, 3, 5])
    # Two more texts that are certainly of class 0 and have the answer "good" count like those by hand.
    more = found.table([1, 1], [[1.0, 0.0], [1.0, 0.0]])
    assert_allclose(more[0] @ [0, 1, 0] * 9.0, table[0] @ [0, 1, 0] * 7.0 + 2.0)
    assert_allclose(more[1], table[1])


@pytest.mark.parametrize("right", [0.0, 0.6, 0.95])
def test_a_source_says_something_if_it_is_right_more_often_than_by_chance(right):
    rng = np.random.default_rng(3)
    evidence = []
    for seed in range(40):
        y = rng.integers(2, size=50)
        column = noisy(CLASSES[y], right, seed).astype(object)
        evidence.append(Source.of(column, y, np.arange(50), CLASSES).evidence)
    passed = np.mean(np.array(evidence) > 3.0)
    assert passed < 0.05 if right == 0.0 else passed > 0.7


def test_reliable_answers_help_and_random_ones_cost_nothing():
    texts, y = some_texts(500)
    new, truth = some_texts(400, seed=9)
    alone = TextClassifier(n_latent=0, rounds=0, characters=None)
    given = {"X": texts, "y": hand(y, 16)}
    without = alone.fit(**given).score(new, truth)
    helped = alone.fit(**given, second_labels=noisy(y, 0.8))
    found = helped.summary_.second_hand
    assert helped.score(new, truth) > without + 0.03
    assert found["texts"] == 484
    assert found["used"] == [True]
    assert "agreement with your own labels: source 1" in str(helped.summary_)
    useless = alone.fit(**given, second_labels=noisy(y, 0.0, seed=2))
    assert useless.score(new, truth) == without
    assert useless.summary_.second_hand["used"] == [False]
    assert "left out" in str(useless.summary_)


def test_scores_of_texts_by_hand_know_nothing_of_their_labels():
    """Labels that texts say nothing about cannot be predicted, however good the answers for others are."""
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice([f"w{k}" for k in range(200)], 8)) for _ in range(400)]
    y = CLASSES[rng.integers(2, size=400)]
    model = TextClassifier(rounds=0, characters=None)
    model.fit(texts, hand(y, 60), second_labels=noisy(y, 0.9))
    found = model.summary_.second_hand
    assert found["texts"] == 340
    assert model.summary_.search["accuracy"] < 0.65
    assert model.summary_.search["score"] < -0.66
    assert found["score"] == pytest.approx(model.summary_.search["score"]) or found["used"] == [False]


@pytest.mark.parametrize("frame", [dict, pl.DataFrame, pd.DataFrame])
def test_several_sources_may_have_gaps_and_names(frame, tmp_path):
    texts, y = some_texts(200)
    rule = np.where(np.arange(200) % 3 == 0, None, noisy(y, 0.9))
    given = frame({"rule": rule.tolist(), "model": noisy(y, 0.8, seed=5).tolist()})
    model = TextClassifier(n_latent=0, rounds=0).fit(texts, hand(y, 30), second_labels=given)
    found = model.summary_.second_hand
    assert found["sources"] == ["rule", "model"]
    save_model(model, tmp_path / "model.skops")
    assert load_model(tmp_path / "model.skops").summary_.second_hand == found
    assert model.cv_probabilities_.shape == (30, 2)
    assert not np.isnan(model.cv_probabilities_).any()


def test_expectation_and_maximisation_find_the_tables_of_sources_and_the_classes():
    """The posterior is that of the true tables, which few labels by hand do not tell."""
    rng = np.random.default_rng(0)
    y, truth = rng.integers(2, size=4000), np.array([[0.9, 0.1], [0.4, 0.6]])
    by_hand, others = np.arange(30), np.arange(30, 4000)
    columns = [CLASSES[(rng.random(4000) > truth[y, 0]).astype(int)].astype(object) for _ in range(2)]
    z = np.where(y, 1.0, -1.0) + 1.5 * rng.standard_normal(4000)  # what a model knows of a text
    p = 1.0 / (1.0 + np.exp(-2.0 * z / 1.5**2))
    P = np.stack([1.0 - p, p], axis=1)
    sources = [Source.of(column, y[by_hand], by_hand, CLASSES) for column in columns]
    answers = [source.answers(column[others]) for source, column in zip(sources, columns, strict=True)]
    exact = expectation([truth, truth], answers, P[others])
    few = q = expectation([source.table() for source in sources], answers, P[others])
    for _ in range(50):
        tables = [source.table(own, q) for source, (_, own) in zip(sources, answers, strict=True)]
        q = expectation(tables, answers, P[others])
    assert np.abs(q - exact).max() < 0.06
    assert np.abs(q - exact).mean() < 0.5 * np.abs(few - exact).mean()


def test_labels_are_left_out_only_if_the_loss_without_them_is_clearly_less():
    one = np.array([0.5, 0.7, 0.3, np.nan])
    assert clearly_less(one, one + 1.0)
    assert not clearly_less(one, one)
    assert not clearly_less(one, one + np.array([0.5, -0.5, 0.1, 0.0]))


def test_answers_are_read_from_columns():
    assert list(answers_of(np.array([["a", None], ["b", "c"]], object), 2)) == ["source 1", "source 2"]
    assert answers_of(pl.DataFrame({"x": [1, None]}), 2)["x"].tolist() == [1, None]


@pytest.mark.parametrize(
    ("settings", "y", "second", "message"),
    [
        ({}, ["good", "bad"] * 10, ["good"] * 20, "needs texts without a label"),
        ({}, [*["good", "bad"] * 5, *[None] * 10], ["good"] * 3, "has 3 entries, but X has 20"),
        ({"tune": False}, [*["good", "bad"] * 5, *[None] * 10], ["good"] * 20, "needs tune=True"),
        ({}, [*[["good"]] * 10, *[None] * 10], ["good"] * 20, "needs y with one label per text"),
        ({}, [*["good", "bad"] * 5, *[None] * 10], np.zeros((20, 1, 1)), "has 3 dimensions"),
        ({}, [None] * 20, ["good"] * 20, "No text of X has a label"),
        (
            {"cv": [([0, 1], [2, 3])]},
            [*["good", "bad"] * 5, *[None] * 10],
            ["good"] * 20,
            "a number of folds",
        ),
    ],
)
def test_bad_input_gets_a_sentence(settings, y, second, message):
    texts, _ = some_texts(20)
    with pytest.raises(ValueError, match=message):
        TextClassifier(**settings).fit(texts, y, second_labels=second)
