"""A model of n-grams of characters beside that of words: predictions, explanations, files and limits."""

import warnings

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from dropglm import NgramVectorizer, OnlineTextClassifier, TextClassifier, load_model
from dropglm.text import characters
from dropglm.text.characters import MOST_CHARACTERS, CharacterHead, within_budget
from tests.text.synthetic import WORDS, random_text
from tests.text.test_characters import many_texts, parts

# fmt: off
SCRIPTS = {
    "good": ["lovely", "schöner", "Прекрасный", "很好看", "素晴らしい",
             "ดีมาก", "رائع", "😀", "<b>fun</b>", "warm!"],
    "bad": ["boring", "langweiliger", "Скучный", "很难看", "退屈な",
            "แย่มาก", "ممل", "😡", "<i>dull</i>", "cold..."],
    "odd": ["weird", "seltsamer", "Странный", "很奇怪", "奇妙な",
            "แปลก", "غريب", "🤪", "<p>eerie</p>", "queer?"],
}
# fmt: on
EVERY = [word for words in SCRIPTS.values() for word in words]
any_text = st.lists(st.one_of(st.sampled_from(EVERY), parts), max_size=8).map(" ".join)


def fit(K, **settings):
    rng = np.random.default_rng(0)
    y = ["good", "bad", "odd"][:K] * 20
    texts = [" ".join([*rng.choice(SCRIPTS[label], 4), random_text(label, rng)]) for label in y]
    return TextClassifier(**{"l2": 0.1, "cv": 3, "characters": (2, 4)} | settings).fit(texts, y)


@pytest.fixture(scope="module", params=[2, 3])
def model(request):
    found = fit(request.param)
    assert found._fitted_model().characters is not None
    return found


# Explanations.


@settings(max_examples=60)
@given(text=any_text)
@example(text="")
@example(text="lovely<br />boring. lovely，很好看！ schöner-lovely don't")
def test_explanations_are_exact_sums_over_words(model, text):
    """In all scripts, with tags and punctuation: base and contributions are the predictors."""
    why = model.explain(text)
    scores = np.ravel(model.decision_function([text]))
    scores = np.array([0.0, scores[0]]) if len(scores) == 1 else scores
    classes = model.classes_.tolist()
    difference = scores[classes.index(why.label)] - scores[classes.index(why.against)]
    assert why.difference == pytest.approx(difference, abs=1e-4)
    total = why.base_difference + sum(one.weight for one in why.contributions)
    assert total == pytest.approx(why.difference, abs=1e-4)
    assert why.difference == pytest.approx(
        np.log(why.probabilities[why.label] / why.probabilities[why.against]), abs=1e-3
    )


@settings(max_examples=100)
@given(texts=many_texts, longest=st.integers(1, 5), seed=st.integers(0, 2**32 - 1), weights=st.booleans())
def test_shares_of_words_add_up_to_what_characters_add(texts, longest, seed, weights):
    """For any coefficients; counts, tf-idf and any length of a row."""
    how = {} if weights else {"norm": None, "use_idf": False, "sublinear_tf": False, "binary": False}
    vectorizer = NgramVectorizer(
        analyzer="char_wb", ngram_range=(1, longest), min_df=1, strip_html=False, dtype=np.float64, **how
    )
    words = NgramVectorizer(min_df=1, ngram_range=(1, 1))
    try:
        vectorizer.fit(texts)
    except ValueError:  # white space only
        return
    coef = np.random.default_rng(seed).normal(size=(3, len(vectorizer.ngrams_)))
    head = CharacterHead(vectorizer, coef)
    for text in texts:
        shares = head.by_word(text, words.tokenize)
        expected = head.predictors(vectorizer.transform([text]))[0]
        assert_allclose(sum(shares.values(), np.zeros(3)), expected, rtol=1e-9, atol=1e-9)


def test_an_ngram_is_shared_by_the_tokens_that_it_covers():
    vectorizer = NgramVectorizer(
        analyzer="char_wb", ngram_range=(3, 3), min_df=1, strip_html=False, norm=None, use_idf=False,
        binary=True,
    ).fit(["ab."])  # fmt: skip
    names = vectorizer.get_feature_names_out().tolist()
    assert names == [" ab", "ab.", "b. "]
    head = CharacterHead(vectorizer, np.array([[1.0, 10.0, 100.0]]))
    shares = head.by_word("ab.", NgramVectorizer().tokenize)
    # " ab" is of the word; two thirds of "ab." and half of "b. " are.
    assert shares.keys() == {"ab", "."}
    assert_allclose([shares["ab"][0], shares["."][0]], [1.0 + 20.0 / 3.0 + 50.0, 10.0 / 3.0 + 50.0])


def test_words_that_no_text_has_are_explained_by_their_characters(model):
    text = "lovelyest boringly"
    why = model.explain(text)
    found = {one.ngram: dict(zip(why.probabilities, one.weights, strict=True)) for one in why.contributions}
    assert found.keys() >= {"lovelyest", "boringly"}
    assert not {"lovelyest", "boringly"} & set(why.unknown)
    assert found["lovelyest"]["good"] > found["lovelyest"]["bad"]
    assert found["boringly"]["bad"] > found["boringly"]["good"]
    without = fit(len(model.classes_), characters=None).explain(text)
    assert set(without.unknown) == {"lovelyest", "boringly"}


# Predictions.


@pytest.mark.parametrize("K", [2, 3])
def test_predictors_are_those_of_words_and_characters_and_the_shares(K):
    """o + t (η_words - o) + t' (η_characters - o), with the models of each before they are combined."""
    model = fit(K)
    fitted = model._fitted_model()
    texts = [*SCRIPTS["good"], *SCRIPTS["bad"], "lovelyest film", ""]
    words = model.search_.best_estimator_
    X = model.vectorizer_.transform(texts)
    total = np.reshape(model.decision_function(texts), (len(texts), -1))
    head = fitted.characters
    own = head.predictors(head.vectorizer.transform(texts))
    rest = total - own  # o + t (η - o) and the intercept of the model of characters
    eta = np.asarray(X @ words.coef_.T)
    centred = eta - eta.mean(axis=0)
    t = np.vdot(centred, rest) / np.vdot(centred, centred)
    assert model.summary_.settings["words"] == pytest.approx(t, rel=0.01)
    assert_allclose(rest - t * eta, np.broadcast_to((rest - t * eta)[0], rest.shape), atol=1e-4)
    assert model.summary_.characters == len(head.vectorizer.ngrams_) > 0
    assert model.summary_.settings["characters"] > 0.0


def test_characters_know_other_forms_of_a_word(rng):
    """Labelled texts have half of the forms of each word."""
    stems = {"good": ["love", "great", "beauti", "wonder"], "bad": ["bor", "dull", "terribl", "aw"]}
    endings = ["a", "ely", "ing", "ed", "ful", "ness", "st", "ier"]
    y, truth = np.array(["good", "bad"] * 20), np.array(["good", "bad"] * 100)

    def texts(labels, ends):
        rest = ["the", "film", "is", "of", "and"]
        return [" ".join([rng.choice(stems[one]) + rng.choice(ends), *rng.choice(rest, 3)]) for one in labels]

    train, test = texts(y, endings[:4]), texts(truth, endings[4:])
    with_characters, without = (
        TextClassifier(**given, cv=4).fit(train, y).score(test, truth) for given in ({}, {"characters": None})
    )
    assert with_characters > 0.95
    assert without < 0.8


@pytest.mark.parametrize(
    "changes", [{"calibrate": False}, {"analyzer": "char"}, {"tune": False}, {"characters": None}], ids=repr
)
def test_settings_without_a_model_of_characters(changes):
    model = fit(2, **{"ngram_range": (1, 2)} | changes)
    assert model._fitted_model().characters is None
    assert model.summary_.characters == 0
    assert model.summary_.settings["characters"] is None


def test_texts_that_share_no_characters_have_only_words():
    texts = ["aaa bbb", "ccc ddd", "eee fff", "ggg hhh"]
    model = TextClassifier(min_df=1, cv=2).fit(texts, ["x", "y", "x", "y"])
    assert model._fitted_model().characters is None
    assert np.isfinite(model.predict_proba(texts)).all()


@pytest.mark.parametrize("given", [(0, 3), (3, 2), 3, "34", (2.5, 3)], ids=repr)
def test_ranges_of_characters_are_checked_before_texts_are_read(given):
    with pytest.raises((ValueError, TypeError), match=r"ngram_range|characters"):
        TextClassifier(characters=given).fit(iter([]), [])


# Limits.


@given(st.integers(0, 30), st.lists(st.integers(0, 10), max_size=8))
def test_unlabelled_texts_are_counted_as_long_as_there_is_room(labeled, unlabeled):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(characters, "MOST_CHARACTERS", 20)
        found = within_budget(labeled, unlabeled)
    if labeled > 20:
        assert found is None
        return
    assert labeled + sum(unlabeled[:found]) <= 20
    assert found == len(unlabeled) or labeled + sum(unlabeled[: found + 1]) > 20


def test_the_budget_is_some_megabytes():
    assert within_budget(1000, [1000] * 5) == 5
    assert within_budget(MOST_CHARACTERS + 1, []) is None


def test_long_texts_have_no_model_of_characters_and_some_unlabelled_ones_are_left_out(monkeypatch, few):
    texts, y, more = few
    one = {"l2": 0.1, "cv": 2, "dropout": 0.5, "l2_weights": "uniform", "n_latent": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # unlabelled texts do not always help here
        all_texts = TextClassifier(**one).fit(texts, y, X_unlabeled=more)
        without = TextClassifier(**one, characters=None).fit(texts, y, X_unlabeled=more)
        size = sum(map(len, texts))
        monkeypatch.setattr(characters, "MOST_CHARACTERS", size + len(more[0]))
        some = TextClassifier(**one).fit(texts, y, X_unlabeled=more)
        monkeypatch.setattr(characters, "MOST_CHARACTERS", size - 1)
        none = TextClassifier(**one).fit(texts, y, X_unlabeled=more)
    assert some._fitted_model().characters.vectorizer.n_texts_ == len(texts) + 1
    assert all_texts._fitted_model().characters.vectorizer.n_texts_ == len(texts) + len(more)
    assert none._fitted_model().characters is None
    assert_array_equal(none.predict_proba(texts), without.predict_proba(texts))


# Files.


def test_a_saved_model_predicts_and_explains_as_before(model, tmp_path):
    model.save(tmp_path / "m.skops")
    texts = [*EVERY, "lovelyest <b>film</b>", "", *WORDS["good"].split()]
    again, estimator = load_model(tmp_path / "m.skops"), TextClassifier.load(tmp_path / "m.skops")
    for other in (again, estimator):
        assert_array_equal(other.predict_proba(texts), model.predict_proba(texts))
        assert str(other.explain(texts[0])) == str(model.explain(texts[0]))
        assert str(other.summary_) == str(model.summary_)
    assert estimator.characters == model.characters
    estimator.save(tmp_path / "again.skops")
    assert_array_equal(load_model(tmp_path / "again.skops").predict_proba(texts), model.predict_proba(texts))


def test_damaged_coefficients_of_characters_are_refused(model):
    state = model._fitted_model().characters.to_state()
    words = model.vectorizer_
    rows = len(state["coef"])
    assert_array_equal(CharacterHead.from_state(state, words, rows).coef, state["coef"])
    for coef in (state["coef"][:, 1:], np.vstack([state["coef"]] * 2)):
        with pytest.raises(ValueError, match="coefficients of characters do not match"):
            CharacterHead.from_state(state | {"coef": coef}, words, rows)


def test_an_online_model_cannot_continue_a_model_of_characters(model):
    with pytest.raises(ValueError, match="train it with characters=None"):
        OnlineTextClassifier().start_from(model)


def test_threads_do_not_matter(model):
    texts = EVERY
    head = model._fitted_model().characters
    one, two = (head.features(texts, n_jobs) for n_jobs in (1, 2))
    assert_array_equal(one.toarray(), two.toarray())


@pytest.mark.parametrize("bad", [(0, 2), "a", 3, True, (4, 3)])
def test_a_range_that_makes_no_sense_is_refused_by_its_own_name(bad):
    with pytest.raises(ValueError, match="characters must be a pair"):
        TextClassifier(characters=bad).fit(["a b", "c d"] * 4, ["x", "y"] * 4)
