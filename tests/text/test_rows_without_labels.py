"""Texts whose label is missing are the first of the unlabelled texts; the model is the same, bit for bit."""

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dropglm import OnlineTextClassifier, TextClassifier
from tests.cli.command import texts

pytestmark = pytest.mark.filterwarnings("ignore:The .* texts without labels did not improve")
MORE = texts(6, seed=2)[0]


def rows(n, missing):
    """Return n texts and labels, those at some places missing."""
    X, y = texts(n)
    return X, [None if k in missing else label for k, label in enumerate(y)]


def split(X, y, *others):
    """Return what has a label, and the texts that have none."""
    kept = [k for k, label in enumerate(y) if label is not None]
    taken = [[values[k] for k in kept] for values in (X, y, *others)]
    return *taken, [text for text, label in zip(X, y, strict=True) if label is None]


def saved(model, folder, name="m.skops"):
    model.save(folder / name)
    return (folder / name).read_bytes()


@settings(max_examples=20)
@given(missing=st.sets(st.integers(4, 29)), more=st.booleans(), data=st.data())
def test_the_model_is_that_of_rows_split_by_hand(tmp_path_factory, missing, more, data):
    X, y = rows(30, missing)
    w = data.draw(st.lists(st.floats(0.1, 3.0), min_size=30, max_size=30))
    own, labels, weights, without = split(X, y, w)
    weights_with_gaps = [None if label is None else one for one, label in zip(w, y, strict=True)]
    model = TextClassifier(tune=False, discount=0.1)
    ours = model.fit(X, y, weights_with_gaps, X_unlabeled=MORE if more else None)
    folder = tmp_path_factory.mktemp("split")
    first = saved(ours, folder)
    theirs = model.fit(own, labels, weights, X_unlabeled=[*without, *(MORE if more else [])] or None)
    assert first == saved(theirs, folder)
    assert theirs.summary_.unlabeled == len(without) + more * len(MORE)


@pytest.fixture(scope="module")
def tuned():
    """Return a tuned model of rows, some without a label, and that of the same rows split by hand."""
    X, y = rows(60, range(1, 60, 3))
    rng = np.random.default_rng(0)
    E, F = rng.standard_normal((60, 3)), rng.standard_normal((6, 3))
    groups = [(k // 2, "author") if y[k] is not None else None for k in range(60)]
    weights = np.where([label is None for label in y], np.nan, rng.uniform(0.5, 2.0, 60))
    given = {"random_state": 0, "cv": 3, "l2": (0.1, 0.01), "rounds": 1}
    ours = TextClassifier(**given).fit(X, y, weights, MORE, E, F, groups)
    own, labels, w, of_groups, ours_E, without = split(X, y, weights, groups, E)
    G = np.vstack([E[[label is None for label in y]], F])
    theirs = TextClassifier(**given).fit(own, labels, w, [*without, *MORE], ours_E, G, of_groups)
    return ours, theirs


def test_a_tuned_model_with_embeddings_groups_and_weights_is_the_same(tuned, tmp_path):
    ours, theirs = tuned
    assert saved(ours, tmp_path) == saved(theirs, tmp_path, "n.skops")


def test_cross_validated_probabilities_are_those_of_the_texts_with_labels(tuned):
    ours, theirs = tuned
    assert ours.cv_probabilities_.shape == (40, 2)
    np.testing.assert_array_equal(ours.cv_probabilities_, theirs.cv_probabilities_)


@pytest.mark.parametrize(
    ("y", "kept"),
    [
        (["a", None, "b", "a"], ["a", "b", "a"]),
        (np.array(["a", None, "b", "a"], object), np.array(["a", "b", "a"], object)),
        (np.array([1.0, np.nan, 0.0, 1.0]), np.array([1.0, 0.0, 1.0])),
        ([1, None, 0, 1], [1, 0, 1]),
        ([True, float("nan"), False, True], [True, False, True]),
        (pd.Series(["a", pd.NA, "b", "a"], dtype="string"), ["a", "b", "a"]),
        (pd.Series([1, pd.NA, 0, 1], dtype="Int64"), [1, 0, 1]),
        (["a", pd.NaT, "b", "a"], ["a", "b", "a"]),
        (iter(["a", None, "b", "a"]), ["a", "b", "a"]),
    ],
    ids=["strings", "objects", "floats", "integers", "truth values", "pandas", "Int64", "NaT", "iterator"],
)
def test_all_kinds_of_missing_labels_are_known(y, kept):
    X = ["good film", "some film", "bad film", "good"]
    model = TextClassifier(tune=False, min_df=1)
    classes = model.fit(X, y).classes_
    assert model.summary_.unlabeled == 1
    expected = model.fit([X[0], *X[2:]], kept, X_unlabeled=[X[1]]).classes_
    assert classes.tolist() == expected.tolist()
    if not isinstance(y, pd.Series):
        assert classes.dtype == expected.dtype


def test_entries_beside_the_labels_must_be_as_many_as_texts():
    X, y = rows(6, {0})
    for name in ("sample_weight", "groups"):
        with pytest.raises(ValueError, match=f"{name} must have one entry for each of the 6 texts of X"):
            TextClassifier(tune=False).fit(X, y, **{name: [1] * 5})
    with pytest.raises(ValueError, match="embeddings has 5 rows, but X has 6 texts"):
        TextClassifier(tune=False).fit(X, y, embeddings=np.ones((5, 2)))
    with pytest.raises(ValueError, match="embeddings were given for X but not for X_unlabeled"):
        TextClassifier(tune=False).fit(X, y, X_unlabeled=MORE, embeddings=np.ones((6, 2)))


def test_one_weight_for_all_texts_may_be_a_number():
    X, y = rows(12, {5})
    model = TextClassifier(tune=False)
    one = model.fit(X, y, 2.0).model_.coef_
    np.testing.assert_array_equal(one, model.fit(X, y, [2.0] * 12).model_.coef_)


def test_an_online_classifier_needs_all_labels():
    X, y = rows(4, {1})
    message = r"Text 1 of X \(counted from 0\) has no label; leave it out, since every step of an online"
    with pytest.raises(ValueError, match=message):
        OnlineTextClassifier(bits=8).fit(X, y)
    with pytest.raises(ValueError, match=message):
        OnlineTextClassifier(bits=8).partial_fit(X, y, classes=["bad", "good"])


def test_weight_two_is_a_text_twice_where_n_grams_are_counted_alike():
    """Document frequencies count texts, so a copy of weight 0 takes the place of the second text."""
    X, y = texts(30)
    doubled = list(range(0, 30, 4))
    again, labels = X + [X[k] for k in doubled], y + [y[k] for k in doubled]
    weights = np.ones(30)
    weights[doubled] = 2.0
    for l2_weights in ("uniform", "naive_bayes"):
        model = TextClassifier(tune=False, l2_weights=l2_weights, discount=0.1, tol=1e-7)
        twice = model.fit(again, labels, X_unlabeled=MORE).model_
        once = model.fit(again, labels, [*weights, *[0.0] * len(doubled)], X_unlabeled=MORE).model_
        np.testing.assert_allclose(once.coef_, twice.coef_, rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose(once.intercept_, twice.intercept_, rtol=1e-4, atol=1e-6)
    model = TextClassifier(tune=False, use_idf=False, min_df=1, tol=1e-7)
    twice = model.fit(again, labels).model_.coef_
    np.testing.assert_allclose(model.fit(X, y, weights).model_.coef_, twice, rtol=1e-4, atol=1e-6)


def test_the_accuracy_of_a_search_is_weighted():
    X, y = texts(40)
    y[0], y[1] = y[1], y[0]  # which no model predicts
    weights = np.ones(40)
    weights[:2] = 20.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = TextClassifier(random_state=0, cv=4, characters=None).fit(X, y, weights)
    search, p = model.summary_.search, model.cv_probabilities_
    right = model.classes_[p.argmax(axis=1)] == np.array(y)
    assert search["accuracy"] == pytest.approx(np.average(right, weights=weights))
    assert search["accuracy"] < right.mean()
    low, high = search["accuracy_interval"]
    assert low < search["accuracy"] < high
    assert high - low > 0.3  # as of some seven texts


def test_texts_without_probabilities_are_unlabelled_texts():
    P = np.array([[0.9, 0.1], [0.2, 0.8], [np.nan, np.nan], [0.6, 0.4]])
    texts = ["a lovely film", "a dull film", "a film", "lovely music"]
    model = TextClassifier(tune=False).fit(texts, label_probabilities=P)
    known = [0, 1, 3]
    split = TextClassifier(tune=False).fit(
        [texts[k] for k in known], label_probabilities=P[known], X_unlabeled=["a film"]
    )
    assert model.summary_ == split.summary_
    np.testing.assert_array_equal(model.predict_proba(texts), split.predict_proba(texts))
    with pytest.raises(ValueError, match="either y or label_probabilities"):
        TextClassifier(tune=False).fit(texts, ["a", "b", "a", "b"], label_probabilities=P)
