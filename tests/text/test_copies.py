"""Copies of texts, and texts of a group, are held out together."""

import numpy as np
import pytest
import sklearn
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sklearn.model_selection import GroupKFold, StratifiedKFold, cross_validate

from dropglm import TextClassifier, load_model, save_model
from dropglm.base.model_files import from_archive, to_archive
from dropglm.text.comparison import compare_with_baseline
from dropglm.text.copies import TextGroups, copy_keys, first_copies, joined
from dropglm.text.fitted_model import Summary
from dropglm.text.training import text_groups
from tests.cli.command import texts


@pytest.fixture(scope="module")
def noisy():
    """Return 60 texts, of which one in five has the wrong label."""
    X, labels = texts(60)
    y = np.array(labels)
    wrong = np.random.default_rng(1).random(60) < 0.2
    return X, np.where(wrong, np.where(y == "good", "bad", "good"), y)


def disguised(text, k):
    """Return the same text, as a table may contain it several times."""
    return [text, text.upper(), f"<b>{text}</b>", text.replace(" ", " \n\t"), f"  {text.title()} "][k]


def test_five_copies_of_each_text_have_the_score_of_the_texts(noisy):
    X, y = noisy
    once = TextClassifier(cv=5).fit(X, y).summary_
    rows = np.random.default_rng(0).permutation(300)
    copies = [disguised(X[row % 60], row // 60) for row in rows]
    several = TextClassifier(cv=5).fit(copies, y[rows % 60])
    found = several.summary_
    error = np.hypot(once.search["standard_error"], found.search["standard_error"])
    assert found.search["accuracy"] == pytest.approx(once.search["accuracy"], abs=0.1)
    assert found.search["score"] == pytest.approx(once.search["score"], abs=2 * error)
    assert found.search["groups"] == 60
    assert (found.copies, found.contradictory) == (240, 0)
    assert once.search["groups"] is None
    # Of the same rows, given splits hold out one copy each.
    leaking = TextClassifier(cv=StratifiedKFold(5)).fit(copies, y[rows % 60]).summary_
    assert leaking.search["accuracy"] > 0.95
    assert leaking.search["groups"] is None


def test_copies_are_equal_but_for_case_tags_white_space_and_composition():
    X = ["Ein Käfer", "ein  ka\u0308fer\u00a0", "<i>EIN</i> Käfer", "ein käfer!", "ein kafer"]
    y = ["a", "b", "a", "a", "b"]

    def first(**settings):
        return text_groups(TextClassifier(**settings), X, np.array(y)).labels

    assert_array_equal(first(), [0, 0, 0, 3, 4])
    assert first(lowercase=False, strip_html=False) is None
    assert_array_equal(first(strip_accents="unicode"), [0, 0, 0, 3, 0])
    assert first(cv=StratifiedKFold(2)) is None


some_groups = st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), min_size=1, max_size=40)


@given(some_groups)
def test_groups_are_joined_with_copies(pairs):
    """Against the closure of the relation "same group or same text"."""
    groups, numbers = (np.array(column) for column in zip(*pairs, strict=True))
    found = joined(groups, first_copies(numbers))
    together = (groups[:, None] == groups) | (numbers[:, None] == numbers)
    closure = np.linalg.matrix_power(together.astype(float), len(pairs)) > 0
    assert_array_equal(found[:, None] == found, closure)
    assert_array_equal(found, groups[closure.argmax(axis=1)])  # the label of the first


@given(st.lists(st.tuples(st.sampled_from("abcdef"), st.integers(0, 2)), min_size=1, max_size=30))
def test_copies_and_contradictions_are_counted(rows):
    X, y = [text for text, _ in rows], np.array([label for _, label in rows])
    found = TextGroups.of(copy_keys(X, str.lower), y, None, join_copies=True)
    assert found.copies == len(X) - len(set(X))
    assert found.contradictory == sum(len({b for a, b in rows if a == text}) > 1 for text in set(X))
    assert (found.labels is None) == (found.copies == 0)


def test_given_groups_are_joined_with_copies_in_a_fit(noisy):
    X, y = noisy
    groups = np.array([f"author {k % 20}" for k in range(60)])
    copies, labels = [*X, X[0].upper()], np.append(y, y[0])  # the copy is of author 1
    own = np.append(groups, groups[1])
    model = TextClassifier(cv=3).fit(copies, labels, groups=own)
    assert model.summary_.search["groups"] == 19
    expected = np.where(own == groups[1], groups[0], own)
    same = TextClassifier(cv=list(GroupKFold(3).split(copies, labels, expected))).fit(copies, labels)
    splitter = TextClassifier(cv=GroupKFold(3)).fit(copies, labels, groups=own)
    assert_array_equal(splitter.cv_probabilities_, same.cv_probabilities_)


def test_texts_without_copies_have_the_folds_of_before(noisy):
    X, y = noisy
    expected = TextClassifier(cv=StratifiedKFold(5)).fit(X, y)
    for groups in (None, np.arange(60), [f"text {k}" for k in range(60)]):
        found = TextClassifier(cv=5).fit(X, y, groups=groups)
        assert_array_equal(found.cv_probabilities_, expected.cv_probabilities_)
        assert str(found.summary_).replace(" of 60 groups", "") == str(expected.summary_)


def test_nothing_is_tuned_if_copies_leave_nothing_to_hold_out():
    model = TextClassifier().fit(["a lovely film"] * 3 + ["a dull one"] * 3, ["good"] * 3 + ["bad"] * 3)
    assert model.summary_.search is None
    assert ("copies", "4 of 6 texts repeat another one") in model.summary_.lines()
    X, y = texts(20)
    with pytest.raises(ValueError, match="too few groups of rows"):
        TextClassifier().fit(X, y, groups=y)


@pytest.mark.parametrize(
    ("copies", "contradictory", "groups", "line"),
    [
        (120, 4, 180, "120 of 300 texts repeat another one and are held out with it; 4 texts have"),
        (1, 1, 299, "1 of 300 texts repeats another one and is held out with it; 1 text has"),
        (1, 0, None, "1 of 300 texts repeats another one"),
    ],
)
def test_one_line_of_the_summary_is_about_copies(copies, contradictory, groups, line):
    search = dict.fromkeys(("folds", "points", "within"), 1) | {"scoring": "accuracy", "score": 0.5}
    search |= {"standard_error": None, "accuracy": 0.5, "groups": groups}
    of_file = {"texts": {"a": 300}, "unlabeled": 0, "features": 1, "settings": {}, "search": search}
    summary = Summary(**of_file, iterations=1, converged=True, copies=copies, contradictory=contradictory)
    found = dict(summary.lines())["copies"]
    assert found == line + (" copies with different labels" if contradictory else "")
    assert "copies" not in dict(Summary(**of_file, iterations=1, converged=True).lines())


def test_files_have_both_numbers_and_older_files_have_none(noisy, tmp_path):
    X, y = noisy
    contradictory = np.where(y[:1] == "good", "bad", "good")
    model = TextClassifier(cv=2).fit([*X, X[0], X[1]], np.concatenate([y, contradictory, y[1:2]]))
    assert (model.summary_.copies, model.summary_.contradictory) == (2, 1)
    path = tmp_path / "model.skops"
    save_model(model, path)
    assert load_model(path).summary_ == model.summary_
    content = from_archive(path.read_bytes())
    summary = content["state"]["summary"]
    del summary["copies"], summary["contradictory"], summary["search"]["groups"]
    path.write_bytes(to_archive(content))
    older = load_model(path)
    assert (older.summary_.copies, older.summary_.contradictory) == (0, 0)
    assert "copies" not in str(older.summary_)
    save_model(older, path)
    assert_array_equal(load_model(path).predict_proba(X), model.predict_proba(X))


def test_groups_are_routed_to_fit(noisy):
    X, y = noisy
    X, groups = np.array(X, object), np.arange(60) % 12
    model = TextClassifier(cv=2, l2=0.1)
    with sklearn.config_context(enable_metadata_routing=True):
        assert model.get_metadata_routing().fit.requests["groups"] is True
        options = {"cv": GroupKFold(3), "return_estimator": True, "error_score": "raise"}
        found = cross_validate(model, X, y, params={"groups": groups}, **options)
    for fitted, (train, _) in zip(found["estimator"], GroupKFold(3).split(X, y, groups), strict=True):
        expected = TextClassifier(cv=2, l2=0.1).fit(X[train], y[train], groups=groups[train])
        assert_array_equal(fitted.cv_probabilities_, expected.cv_probabilities_)


def test_a_comparison_holds_copies_out_together(noisy):
    X, y = noisy
    model = TextClassifier(tune=False, cv=3)
    copies = compare_with_baseline(model, X * 2, np.tile(y, 2))
    assert copies.model.accuracy.mean < 0.95
    assert copies.baseline.accuracy.mean < 0.95
    grouped = compare_with_baseline(model, X, y, groups=np.arange(60) // 2)
    assert (grouped.folds, grouped.texts) == (3, 60)


def test_the_interval_of_the_accuracy_counts_copies_once():
    some, y = texts(60)
    once = TextClassifier(cv=5).fit(some, y).summary_.search
    often = TextClassifier(cv=5).fit(some * 5, y * 5).summary_.search
    low, high = often["accuracy_interval"]
    expected = once["accuracy_interval"]
    assert high - low == pytest.approx(expected[1] - expected[0], rel=0.3)


@pytest.mark.parametrize("groups", [5, [[1]] * 8, np.array(["2020-01-01", "NaT"] * 4, "M8[D]")])
def test_groups_that_are_no_labels_of_rows_are_refused(groups):
    with pytest.raises((ValueError, TypeError), match=r"groups (must have|has no) "):
        TextClassifier().fit(["a b", "c d"] * 4, ["x", "y"] * 4, groups=groups)
