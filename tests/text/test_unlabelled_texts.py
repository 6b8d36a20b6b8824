"""TextClassifier with unlabelled texts: what they bring, and which settings and texts it accepts."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold

from dropglm import PerBlock, TextClassifier
from dropglm.text.training import GRID

# Small data, of which some settings make nothing better.
pytestmark = pytest.mark.filterwarnings("ignore:The .* texts without labels did not improve")
QUICK = {"n_latent": 4, "cv": 2, "l2": 0.1}
OTHERS = ["a lovely moving story", "dull and cold music, boring", "", "unknown words"]


def same_model(one, other, **tolerance):
    assert_allclose(one.model_.coef_, other.model_.coef_, **tolerance)
    assert_allclose(one.model_.intercept_, other.model_.intercept_, **tolerance)


def topic_text(topic, words, rng):
    return " ".join(rng.permutation([*rng.choice(words[topic], 6), *rng.choice(words["both"], 6)]))


def test_unlabelled_texts_tell_which_words_belong_together(rng):
    """The words of labelled texts are few; those of the test have synonyms that no labelled text has.

    Their characters would tell: all words of a topic begin with its name.
    """
    words = {topic: [f"{topic}{j}" for j in range(60)] for topic in ("sports", "music", "both")}
    shown = words | {topic: words[topic][:15] for topic in ("sports", "music")}
    y, truth = np.array(["sports", "music"] * 8), np.array(["sports", "music"] * 100)
    texts = [topic_text(topic, shown, rng) for topic in y]
    test, more = ([topic_text(topic, words, rng) for topic in truth] for _ in range(2))
    model = TextClassifier(n_latent=10, l2=0.1, cv=4, characters=None).fit(texts, y, X_unlabeled=more)
    alone = clone(model).fit(texts, y)
    latent = clone(model).set_params(rounds=0, naive_bayes=False).fit(texts, y, X_unlabeled=more)
    accuracies = [np.mean(one.predict(test) == truth) for one in (alone, latent, model)]
    assert accuracies[0] < 0.93
    assert accuracies[1] > accuracies[0] + 0.05
    assert accuracies[2] > 0.98
    assert model.search_.best_score_ > alone.search_.best_score_
    # Words that no labelled text contains have coefficients of the right sign.
    coef = dict(zip(model.vectorizer_.get_feature_names_out(), model.model_.coef_[0], strict=True))
    new = [(topic, coef[word]) for topic in ("sports", "music") for word in words[topic][15:] if word in coef]
    assert np.mean([(value > 0.0) == (topic == "sports") for topic, value in new]) > 0.95


def test_without_latent_features_rounds_and_discount_only_the_features_depend_on_them(few):
    texts, y, more = few
    # Idf and n-grams are those of all texts, so the same texts are given once more. Held-out rows of length 1
    # would be scaled by the n-grams that no other text has.
    settings = QUICK | {"n_latent": 0, "rounds": 0, "ngram_range": (1, 1), "use_idf": False}
    settings |= {"norm": None, "characters": None}
    model, alone = (
        TextClassifier(**settings).fit(texts, y, X_unlabeled=unlabeled) for unlabeled in (texts[::-1], None)
    )
    same_model(model, alone, rtol=0.0)
    assert_array_equal(model.predict_proba(OTHERS), alone.predict_proba(OTHERS))
    other = TextClassifier(**settings | {"rounds": 3}).fit(texts, y, X_unlabeled=more)
    assert other.search_.rounds_
    assert not np.array_equal(other.predict_proba(OTHERS), alone.predict_proba(OTHERS))


@pytest.mark.parametrize(
    "settings",
    [
        {"analyzer": "char", "ngram_range": (1, 3)},
        {"analyzer": "char_wb", "ngram_range": (2, 3)},
        {"ngram_range": (2, 2)},
        {"use_idf": False, "norm": None, "sublinear_tf": False},
        {"norm": "l1", "idf_power": 2.0},
        {"binary": True, "stop_words": "english"},
        {"max_features": 9},
        {"dropout": (0.5, 0.0), "discount": (0.0, 0.1), "l2": (1.0, 0.1)},
        {"l2_weights": "naive_bayes_unlabeled"},
        {"naive_bayes": False},
        {"calibrate": False},
        {"calibrate": False, "naive_bayes": False},
        {"class_weight": "balanced"},
        {"scoring": "accuracy"},
        {"expectation": "quadratic"},
        {"ngram_weight": (0.5, 1.0)},
        {"cv": StratifiedKFold(2, shuffle=True, random_state=0)},
        {"n_latent": 1, "rounds": 1},
        {"n_latent": 1000},
    ],
    ids=repr,
)
def test_every_setting_gives_a_model_that_can_be_used(few, settings, tmp_path):
    texts, y, more = few
    model = TextClassifier(**QUICK | settings).fit(texts, y, X_unlabeled=more)
    p = model.predict_proba(OTHERS)
    assert_allclose(p.sum(axis=1), 1.0, rtol=1e-5)
    assert p[0, 1] > 0.5
    str(model.summary_), model.explain(OTHERS[0])
    if settings.get("cv") is None:
        model.save(tmp_path / "m.skops")
        again = TextClassifier.load(tmp_path / "m.skops")
        assert_array_equal(again.predict_proba(OTHERS), p)
        assert (again.n_latent, again.rounds) == (model.n_latent, model.rounds)


def test_without_tuning_latent_features_and_rounds_have_no_effect(few):
    texts, y, more = few
    models = [
        TextClassifier(tune=False, **settings).fit(texts, y, X_unlabeled=more)
        for settings in ({}, {"n_latent": 0, "rounds": 0})
    ]
    same_model(*models, rtol=0.0)


@pytest.mark.parametrize(
    "more",
    [["a lovely film"], [""], ["", "a lovely film", ""] * 5, ["words that occur nowhere"] * 2],
    ids=["one text", "one empty text", "empty texts", "unknown words"],
)
def test_few_or_empty_unlabelled_texts_are_accepted(few, more):
    texts, y, _ = few
    model = TextClassifier(**QUICK).fit(texts, y, X_unlabeled=more)
    assert np.isfinite(model.model_.coef_).all()
    assert model.predict(OTHERS[:1]) == ["good"]


def test_too_few_words_for_latent_features_leave_the_rounds(few):
    texts, y, more = few
    models = [TextClassifier(**QUICK | {"n_latent": k}).fit(texts, y, X_unlabeled=more) for k in (0, 100)]
    same_model(*models, rtol=0.0)
    assert models[0].search_.dropout == models[1].search_.dropout == GRID["dropout"]


def test_more_than_ten_classes(rng):
    words = {f"class {k}": [f"w{k}x{j}" for j in range(8)] for k in range(12)}
    words["both"] = [f"common{j}" for j in range(20)]
    y = np.repeat([f"class {k}" for k in range(12)], 2)
    texts, more = ([topic_text(label, words, rng) for label in labels] for labels in (y, np.repeat(y, 4)))
    model = TextClassifier(n_latent=15, l2=0.1, cv=2, rounds=2).fit(texts, y, X_unlabeled=more)
    tried = [one["l2_weights"].values for one in model.search_.cv_results_["params"]]
    assert {("uniform", 0.1, np.inf), ("naive_bayes", 10.0, np.inf)} <= set(tried)
    assert np.mean(model.predict(more) == np.repeat(y, 4)) > 0.9


def test_sample_weights_are_repetitions(few):
    """Also for the counts of naive Bayes. The features are the same, since each text occurs as often."""
    texts, y, more = few
    weights = np.tile([1.0, 3.0], 8)
    settings = QUICK | {"use_idf": False, "rounds": 2, "min_df": 1, "tol": 1e-7}
    weighted = TextClassifier(**settings).fit(texts, y, weights, X_unlabeled=more)
    plain = TextClassifier(**settings).fit(texts, y, X_unlabeled=more)
    bad = weighted.predict_proba(OTHERS)[:, 0] - plain.predict_proba(OTHERS)[:, 0]
    assert bad[2] > 0.05  # of a text without words: the intercept
    ones = TextClassifier(**settings).fit(texts, y, np.ones(16), X_unlabeled=more)
    same_model(ones, plain, rtol=0.0)


def test_fit_is_repeatable_and_independent_of_seed_threads_and_order(few, rng):
    texts, y, more = few
    model = TextClassifier(**QUICK).fit(texts, y, X_unlabeled=more)
    for changes in ({}, {"random_state": 7}):
        same_model(TextClassifier(**QUICK, **changes).fit(texts, y, X_unlabeled=more), model, rtol=0.0)
    tolerance = {"rtol": 1e-3, "atol": 1e-4}
    threaded = TextClassifier(**QUICK, n_jobs=2).fit(texts, y, X_unlabeled=more)
    same_model(threaded, model, **tolerance)
    shuffled = TextClassifier(**QUICK).fit(texts, y, X_unlabeled=list(rng.permutation(more)))
    same_model(shuffled, model, **tolerance)
    before = model.model_.coef_.copy()
    assert_array_equal(model.fit(texts, y, X_unlabeled=more).model_.coef_, before)


@pytest.mark.parametrize("name", ["n_latent", "rounds"])
@pytest.mark.parametrize(
    ("value", "error", "message"),
    [
        (2.5, TypeError, "must be an integer, got 2.5"),
        ("3", TypeError, "must be an integer, got '3'"),
        (-1, ValueError, "must be finite and not negative, got -1"),
    ],
)
def test_numbers_are_checked(few, name, value, error, message):
    with pytest.raises(error, match=f"{name} {message}"):
        TextClassifier(**QUICK | {name: value}).fit(*few[:2], X_unlabeled=few[2])


@pytest.mark.parametrize("name", ["dropout", "l2", "l2_weights", "discount"])
def test_settings_are_those_of_the_ngrams_alone(few, name):
    for given in (PerBlock(0.5, 0.1), [PerBlock(0.5, 0.1)] * 2):
        with pytest.raises(TypeError, match=f"{name} of a text classifier is that of the n-grams"):
            TextClassifier(**QUICK | {name: given}).fit(*few[:2], X_unlabeled=few[2])


def test_an_empty_grid_is_refused(few):
    with pytest.raises(ValueError, match="dropout is an empty grid"):
        TextClassifier(**QUICK, dropout=[]).fit(*few[:2], X_unlabeled=few[2])


def test_model_files_have_the_form_of_those_without_unlabelled_texts(few, tmp_path):
    texts, y, more = few
    model = TextClassifier(**QUICK).fit(texts, y, X_unlabeled=more)
    state, alone = (
        model._current_model().to_state(),
        TextClassifier(**QUICK).fit(texts, y)._current_model().to_state(),
    )
    assert state.keys() == alone.keys()
    assert state["settings"].keys() == alone["settings"].keys() > {"n_latent", "rounds"}
    assert state["coef"].shape == (1, len(model.vectorizer_.ngrams_))
    assert state["coef"].dtype == np.float32
    assert all(type(value) is type(alone["chosen"][name]) for name, value in state["chosen"].items())
