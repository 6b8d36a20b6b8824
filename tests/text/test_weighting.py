"""Weighted n-grams: the matrix is that of scikit-learn's TfidfVectorizer."""

import pickle
from unicodedata import normalize

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.feature_extraction.text import TfidfVectorizer

from dropglm import NgramVectorizer, TextClassifier
from dropglm.text.explanation import explain_text
from dropglm.text.ngrams.tokens import RUNS, as_written

TEXTS = ["one two two", "two", "three one", "two one two three", ""]
LETTERS = "aAbé'! \n<>/ςΣİß\u0301٣_京😀"
documents = st.lists(
    st.one_of(st.text(st.sampled_from(LETTERS), max_size=20), st.text(max_size=20)), min_size=1, max_size=8
)
ranges = st.tuples(st.integers(1, 3), st.integers(1, 3)).map(lambda pair: tuple(sorted(pair)))


@given(
    texts=documents,
    ngram_range=ranges,
    min_df=st.integers(1, 2),
    max_features=st.one_of(st.none(), st.integers(1, 6)),
    binary=st.booleans(),
    use_idf=st.booleans(),
    smooth_idf=st.booleans(),
    sublinear_tf=st.booleans(),
    norm=st.sampled_from(["l1", "l2", None]),
    lowercase=st.booleans(),
    token_pattern=st.sampled_from([*RUNS, r"[a-z]+"]),
    dtype=st.sampled_from([np.float32, np.float64]),
    n_jobs=st.integers(1, 2),
)
def test_matrix_equals_that_of_scikit_learn(texts, n_jobs, **settings):
    """Only ours normalises texts, so they are given in NFC."""
    texts = [normalize("NFC", text) for text in texts]
    theirs = TfidfVectorizer(**settings)
    try:
        expected = theirs.fit_transform(texts)
    except ValueError:  # no n-gram
        return
    ours = NgramVectorizer(strip_html=False, n_jobs=n_jobs, **settings)
    others = [*texts[::2], "Any other text.", normalize("NFC", "".join(texts))]
    for found, same in (
        (ours.fit_transform(texts), expected),
        (ours.transform(texts), expected),
        (ours.transform(others), theirs.transform(others)),
    ):
        assert found.dtype == same.dtype
        np.testing.assert_allclose(found.toarray(), same.toarray(), rtol=1e-6, atol=1e-6)
    assert ours.get_feature_names_out().tolist() == theirs.get_feature_names_out().tolist()
    if settings["use_idf"]:
        assert ours.idf_.dtype == theirs.idf_.dtype
        np.testing.assert_allclose(ours.idf_, theirs.idf_, rtol=1e-6)


@given(power=st.floats(0.0, 3.0), weight=st.floats(0.1, 2.0), norm=st.sampled_from(["l1", "l2", None]))
def test_factors_are_a_power_of_idf_and_a_weight_for_each_further_token(power, weight, norm):
    settings = {"ngram_range": (1, 3), "binary": False, "dtype": np.float64}
    counts = NgramVectorizer(**settings).fit_transform(TEXTS).toarray()
    weighted = NgramVectorizer(use_idf=True, idf_power=power, ngram_weight=weight, norm=norm, **settings)
    found = weighted.fit_transform(TEXTS).toarray()
    longer = np.array([name.count(" ") for name in weighted.get_feature_names_out()])
    expected = counts * weighted.idf_**power * weight**longer
    if norm:
        length = np.linalg.norm(expected, 1 if norm == "l1" else 2, axis=1)
        expected /= np.where(length > 0, length, 1.0)[:, None]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_threads_and_integer_types_do_not_change_the_values():
    texts = [f"text {k} has {k % 7} and {k * k % 11} words and words" for k in range(3000)]
    settings = {"ngram_range": (1, 2), "binary": False, "use_idf": True, "sublinear_tf": True, "norm": "l2"}
    expected = NgramVectorizer(dtype=np.float64, **settings).fit_transform(texts)
    found = NgramVectorizer(dtype=np.float64, n_jobs=3, **settings).fit_transform(texts)
    np.testing.assert_array_equal(found.data, expected.data)
    with pytest.warns(UserWarning, match="returned as float64"):
        integers = NgramVectorizer(dtype=np.int64, **settings).fit(texts)
    found = integers.transform(texts)
    assert found.dtype == np.float64
    np.testing.assert_array_equal(found.data, expected.data)


def test_settings_of_weights_take_effect_at_the_next_fit():
    vectorizer = NgramVectorizer(use_idf=True, norm="l2").fit(TEXTS)
    expected = vectorizer.transform(TEXTS)
    assert (pickle.loads(pickle.dumps(vectorizer)).transform(TEXTS) != expected).nnz == 0
    vectorizer.set_params(norm="l1")
    assert (vectorizer.transform(TEXTS) != expected).nnz == 0
    vectorizer.fit(TEXTS)
    np.testing.assert_allclose(vectorizer.transform(TEXTS[:4]).sum(axis=1), 1.0, rtol=1e-6)


def test_idf_exists_only_where_it_is_used():
    vectorizer = NgramVectorizer().fit(TEXTS)
    assert not hasattr(vectorizer, "idf_")
    with pytest.raises(AttributeError, match="only if use_idf is True"):
        _ = vectorizer.idf_


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"use_idf": "yes"}, "use_idf must be True or False"),
        ({"smooth_idf": 1}, "smooth_idf must be True or False"),
        ({"sublinear_tf": None}, "sublinear_tf must be True or False"),
        ({"norm": "l3"}, "norm 'l3' is unknown"),
        ({"norm": 2}, "norm must be a name"),
        ({"idf_power": -1.0}, "idf_power must be finite and not negative"),
        ({"ngram_weight": 0.0}, "ngram_weight must be finite and above 0"),
    ],
    ids=repr,
)
def test_bad_weights_raise_a_clear_error(settings, message):
    with pytest.raises((TypeError, ValueError), match=message):
        NgramVectorizer(**settings).fit(TEXTS)


def test_contributions_are_values_times_weights_and_files_restore_the_values():
    labels = ["a", "b", "a", "b", "a"]
    model = TextClassifier(tune=False).fit(TEXTS, labels).model_
    settings = {"ngram_range": (1, 2), "use_idf": True, "norm": "l2", "idf_power": 2.0, "ngram_weight": 0.5}
    vectorizer = NgramVectorizer(**settings).fit(TEXTS)
    model.fit(vectorizer.transform(TEXTS), labels)
    explained = explain_text(vectorizer, model, TEXTS[3], vectorizer.transform(TEXTS[3:4]))
    total = explained.base[1] + sum(entry.weights[1] for entry in explained.contributions)
    row = vectorizer.transform([TEXTS[3]])
    assert total == pytest.approx(model.decision_function(row)[0], rel=1e-5)
    restored = NgramVectorizer._from_state(settings, vectorizer.ngrams_._to_state(), vectorizer.n_texts_)
    np.testing.assert_array_equal(restored.transform([TEXTS[3]]).data, row.data)


def test_counts_of_a_damaged_file_give_finite_weights():
    vectorizer = NgramVectorizer(use_idf=True).fit(TEXTS)
    state = vectorizer.ngrams_._to_state()
    restored = NgramVectorizer._from_state({"use_idf": True, "idf_power": 0.5}, state, 0)
    assert np.isfinite(restored.transform(TEXTS).data).all()


@pytest.mark.parametrize(
    "settings", [{}, {"binary": False, "sublinear_tf": True, "use_idf": True, "norm": "l2"}]
)
def test_one_count_serves_several_weights_of_longer_ngrams(settings):
    """The matrix is that of a fit with this weight, and the counts are not changed."""
    texts = ["one two one two", "two one", "", "one two three"]
    counter = NgramVectorizer((1, 2), ngram_weight=0.25, **settings)
    counts = counter._fit_counts(texts)
    for weight in (0.5, 1.0, 0.25):
        vectorizer, X = counter._with_ngram_weight(counts, weight)
        direct = NgramVectorizer((1, 2), ngram_weight=weight, **settings)
        assert (direct.fit_transform(texts) != X).nnz == 0
        assert (vectorizer.transform(texts) != X).nnz == 0
        assert vectorizer.get_params() == direct.get_params()
    with pytest.raises(ValueError, match="ngram_weight must be finite and above 0"):
        counter._with_ngram_weight(counts, 0.0)


@given(st.lists(st.text("很好a bต!", min_size=1), min_size=1, max_size=8))
def test_weight_depends_on_the_number_of_words_as_they_are_written(texts):
    vectorizer = NgramVectorizer(ngram_range=(1, 3), ngram_weight=0.5)
    try:
        row = vectorizer.fit_transform(texts)
    except ValueError:
        assume(False)
    counts = NgramVectorizer(ngram_range=(1, 3)).fit_transform(texts)
    words = np.array([len(as_written(name).split()) for name in vectorizer.get_feature_names_out()])
    np.testing.assert_allclose(row.toarray(), counts.toarray() * 0.5 ** (words - 1), rtol=1e-6)
