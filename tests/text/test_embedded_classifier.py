"""TextClassifier with embeddings beside the n-grams."""

import copy
import pickle
from collections import Counter

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.metrics import log_loss
from sklearn.model_selection import cross_val_score, cross_validate

from dropglm import OnlineTextClassifier, TextClassifier, load_model, save_model
from dropglm.base import model_files
from dropglm.search.search import Search
from dropglm.text.comparison import compare_with_baseline
from dropglm.text.embeddings import PROBES

RNG = np.random.default_rng(0)
WORDS = ["lovely", "great", "fun", "dull", "boring", "long", "film", "cast", "story"]
VECTORS = {word: RNG.normal(size=4) for word in WORDS}
for sign, chosen in ((1.0, WORDS[:3]), (-1.0, WORDS[3:6])):
    for word in chosen:
        VECTORS[word][0] += 4.0 * sign  # a direction that the n-grams do not show


class Embedder:
    """Mean of the vectors of some words; it counts the texts that it is given."""

    def __init__(self, sign=1.0):
        self.sign, self.seen = sign, Counter()

    def encode(self, texts):
        self.seen.update(texts)
        vectors = [[VECTORS[word] for word in text.split() if word in VECTORS] for text in texts]
        return self.sign * np.array([np.mean(known, axis=0) if known else np.zeros(4) for known in vectors])


def some_texts(n, seed=0, classes=2):
    rng = np.random.default_rng(seed)
    y = np.array(["good", "bad", "odd"])[np.arange(n) % classes]
    own = {"good": WORDS[:3], "bad": WORDS[3:6], "odd": ["strange", "weird"]}
    # The number makes every text different.
    return [f"{' '.join(rng.choice(own[label] + WORDS[6:], 3))} {k}" for k, label in enumerate(y)], y


@pytest.fixture(scope="module", params=[2, 3], ids=["two classes", "three classes"])
def trained(request):
    X, y = some_texts(60, classes=request.param)
    return TextClassifier(embedder=Embedder()).fit(X, y), X, y


def test_a_prediction_never_combines_a_fit_with_the_embedder_of_another():
    """Another thread may refit with another embedder between the parts of a prediction."""
    X, y = some_texts(20)
    model = TextClassifier(embedder=Embedder(), tune=False).fit(X, y)
    old = model._fitted
    model.set_params(embedder=Embedder(-1.0)).fit(X, y)
    model._fitted = old
    with pytest.raises(ValueError, match="other embeddings for the same texts"):
        model.predict(X)


def test_embeddings_given_or_computed_give_the_same_model(trained):
    model, X, y = trained
    E = Embedder().encode(X)
    given = TextClassifier().fit(X, y, embeddings=E.tolist())
    for name in ("predict", "predict_proba", "predict_log_proba", "decision_function"):
        expected = getattr(model, name)(X)
        np.testing.assert_array_equal(getattr(given, name)(X, embeddings=E), expected)
        np.testing.assert_array_equal(getattr(model, name)(iter(X), E), expected)
    assert model.score(X, y) == given.score(X, y, embeddings=E) > 0.8
    assert given.summary_.embedding == model.summary_.embedding | {"name": None}
    assert "4 numbers per text from Embedder; noise" in str(model.summary_)


def test_the_predictor_is_the_sum_of_the_shares_of_words_characters_and_embedding(trained):
    model, X, _ = trained
    E = Embedder().encode(X)
    words, fitted = model.model_, model._fitted_model()
    head, characters = fitted.head, fitted.characters
    total = words.decision_function(model.vectorizer_.transform(X)).reshape(len(X), -1)
    total = total + (E - head.mean) @ head.coef.T
    total = total + characters.vectorizer.transform(X) @ characters.coef.T
    np.testing.assert_allclose(model.decision_function(X).reshape(len(X), -1), total, rtol=1e-4, atol=1e-5)
    assert words.coef_.shape[1] == model.n_features_in_ == len(model.vectorizer_.ngrams_)
    np.testing.assert_allclose(head.mean, E.mean(axis=0), rtol=1e-5)
    assert set(model.top_features(2)) == set(model.classes_)


def test_explanations_are_exact_sums_with_a_line_for_the_embedding(trained):
    model, X, _ = trained
    for text in (X[0], "great unknown", "nothing known"):
        why = model.explain(text)
        share = why.embedding.weight
        total = why.base_difference + share + sum(entry.weight for entry in why.contributions)
        assert total == pytest.approx(why.difference, abs=1e-5)
        by_class = why.base + np.array(why.embedding.weights)
        by_class = by_class + np.sum([entry.weights for entry in why.contributions] or [[0.0]], axis=0)
        first, second = (model.classes_.tolist().index(label) for label in (why.label, why.against))
        scale = 0.5 if len(model.classes_) == 2 else 1.0
        assert by_class[first] - by_class[second] == pytest.approx(why.difference / scale, abs=1e-5)
        rows = why.outline()
        assert rows[0].weight == pytest.approx(sum(row.weight for row in rows if row.depth == 1), abs=1e-5)
        assert any(line.split() == ["embedding", f"{share:+.2f}"] for line in str(why).splitlines())
        assert f">{share:+.2f}</td>" in why._repr_html_()
        own = {"weight": share, "weights": why.embedding.weights, "name": why.embedding.name}
        assert why.to_dict()["embedding"] == own
        E = Embedder().encode([text])
        assert model.explain(text, embedding=E[0]) == model.explain(text, E) == why
    assert TextClassifier(tune=False).fit(["a b", "c d"], [0, 1]).explain("a").embedding is None


def test_every_text_is_embedded_once_per_fit():
    X, y = some_texts(60)
    more, embedder = some_texts(20, seed=1)[0], Embedder()
    more = [f"{text} more" for text in more]
    TextClassifier(embedder=embedder, ngram_weight=(0.5, 1.0)).fit(iter(X), iter(y), X_unlabeled=iter(more))
    assert embedder.seen == Counter([*X, *more, *PROBES])
    embedder.seen.clear()
    E = Embedder().encode([*X, *more])
    model = TextClassifier(embedder=embedder, tune=False)
    model.fit(X, y, X_unlabeled=more, embeddings=E[:60], embeddings_unlabeled=E[60:])
    assert embedder.seen == Counter(PROBES)
    model.predict(X)
    assert embedder.seen == Counter([*X, *PROBES])


def test_unlabelled_embeddings_count():
    X, y = some_texts(40)
    more = some_texts(40, seed=1)[0]
    E = Embedder().encode([*X, *more])
    model = TextClassifier(tune=False)
    model.fit(X, y, X_unlabeled=more, embeddings=E[:40], embeddings_unlabeled=E[40:])
    np.testing.assert_allclose(model._fitted_model().head.mean, E.mean(axis=0), rtol=1e-4, atol=1e-6)
    other = clone(model).fit(X, y, X_unlabeled=more, embeddings=E[:40], embeddings_unlabeled=-E[40:])
    assert not np.array_equal(other.predict_proba(X, E[:40]), model.predict_proba(X, E[:40]))


def test_copies_share_the_embedder_and_predict_the_same(trained):
    model, X, y = trained
    unfitted = clone(model)
    assert unfitted.embedder is model.embedder
    assert unfitted.get_params() == model.get_params()
    for copied in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model), clone(model).fit(X, y)):
        np.testing.assert_array_equal(copied.predict_proba(X), model.predict_proba(X))
    scores = cross_val_score(TextClassifier(embedder=Embedder(), tune=False), X, y, cv=3)
    assert scores.mean() > 0.7


def test_given_embeddings_are_split_by_cross_validation():
    X, y = some_texts(60)
    with sklearn.config_context(enable_metadata_routing=True):
        model = TextClassifier(tune=False).set_score_request(embeddings=True)
        given = cross_validate(model, X, y, cv=3, params={"embeddings": Embedder().encode(X)})
    computed = cross_validate(TextClassifier(embedder=Embedder(), tune=False), X, y, cv=3)
    np.testing.assert_array_equal(given["test_score"], computed["test_score"])


def test_model_files_hold_the_head_but_not_the_embedder(trained, tmp_path):
    model, X, _ = trained
    path = tmp_path / "m.skops"
    save_model(model, path)
    for again in (load_model(path, embedder=Embedder()), TextClassifier.load(path, Embedder())):
        np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
        assert str(again.summary_) == str(model.summary_)
    bare = load_model(path)
    assert bare.embedder is None
    np.testing.assert_array_equal(bare.predict(X, Embedder().encode(X)), model.predict(X))
    with pytest.raises(
        ValueError, match=r"needs its embedder Embedder, which model files do not contain; set embedder"
    ):
        bare.predict(X)
    bare.set_params(embedder=Embedder())
    np.testing.assert_array_equal(bare.predict(X), model.predict(X))
    save_model(bare, path)
    assert load_model(path, embedder=Embedder()).explain(X[0]) == model.explain(X[0])


def test_another_embedder_is_refused(trained, tmp_path):
    model, X, y = trained
    save_model(model, tmp_path / "m.skops")
    other = Embedder(sign=-1.0)
    other.name = "upside-down"
    match = (
        "embedder upside-down is not the one of the model, which was trained with the embedder Embedder: it"
    )
    with pytest.raises(ValueError, match=match):
        load_model(tmp_path / "m.skops", embedder=other)
    changed = copy.copy(model).set_params(embedder=other)
    for method in (changed.predict, changed.explain):
        with pytest.raises(ValueError, match=match):
            method(X if method == changed.predict else X[0])
    with pytest.raises(ValueError, match="it gives 1 numbers per text, not 4"):
        changed.set_params(embedder=lambda texts: np.ones((len(texts), 1))).predict(X)
    # The next fit uses it.
    assert changed.fit(X, y).predict(X[:1]).shape == (1,)


def test_models_without_embeddings_refuse_them(fitted, tmp_path):
    E = np.ones((1, 4))
    for use in (fitted.predict, fitted.predict_proba, fitted.decision_function):
        with pytest.raises(ValueError, match="was trained without embeddings, so it cannot use any"):
            use(["a"], E)
    with pytest.raises(ValueError, match="was trained without embeddings"):
        fitted.explain("a", E)
    online = OnlineTextClassifier().fit(["a", "b"], [0, 1])
    with pytest.raises(ValueError, match="was trained without embeddings"):
        online.predict(["a"], E)
    for model in (fitted, online):
        save_model(model, tmp_path / "m.skops")
        with pytest.raises(ValueError, match="was trained without embeddings"):
            load_model(tmp_path / "m.skops", embedder=Embedder())


BAD_FITS = {
    "embeddings has 59 rows, but X has 60 texts": {"embeddings": np.ones((59, 2))},
    r"embeddings has NaN, infinite or huge numbers .* first in row 0": {
        "embeddings": np.full((60, 2), np.nan)
    },
    "embeddings must have one row of numbers per text": {"embeddings": np.ones(60)},
    "embeddings_unlabeled needs embeddings, those of X, as well": {"embeddings_unlabeled": np.ones((5, 2))},
    "embeddings were given for X but not for X_unlabeled": {
        "embeddings": np.ones((60, 2)),
        "X_unlabeled": ["a b"],
    },
    "embeddings_unlabeled has 2 rows, but X_unlabeled has 1 texts": {
        "embeddings": np.ones((60, 2)),
        "embeddings_unlabeled": np.ones((2, 2)),
        "X_unlabeled": ["a b"],
    },
    "embeddings_unlabeled has 3 numbers per text, but embeddings has 2": {
        "embeddings": np.ones((60, 2)),
        "embeddings_unlabeled": np.ones((1, 3)),
        "X_unlabeled": ["a b"],
    },
    "embeddings_unlabeled has 1 rows, but X_unlabeled has 0 texts": {
        "embeddings": np.ones((60, 2)),
        "embeddings_unlabeled": np.ones((1, 2)),
    },
}


@pytest.mark.parametrize("message", BAD_FITS)
def test_bad_embeddings_are_refused_by_fit(message):
    with pytest.raises((TypeError, ValueError), match=message):
        TextClassifier(tune=False).fit(*some_texts(60), **BAD_FITS[message])


def test_bad_embeddings_are_refused_by_predictions():
    X, y = some_texts(60)
    E = Embedder().encode(X)
    model = TextClassifier(tune=False).fit(X, y, embeddings=E)
    with pytest.raises(
        ValueError, match=r"embeddings of 4 numbers per text; pass those of the texts as embeddings\."
    ):
        model.predict(X)
    with pytest.raises(
        ValueError, match="The embeddings have 3 numbers per text, but the model was trained with 4"
    ):
        model.predict(X, E[:, :3])
    with pytest.raises(ValueError, match="embeddings has 59 rows, but X has 60 texts"):
        model.predict_proba(X, E[1:])
    with pytest.raises(ValueError, match="X is empty; give at least one text"):
        model.predict([], E[:0])
    with pytest.raises(ValueError, match="embeddings has 4 numbers per text, but the embedder gives 1"):
        model.set_params(embedder=lambda texts: np.ones((len(texts), 1))).fit(X, y, embeddings=E)
    with pytest.raises(ValueError, match=r"embedder 'MiniLM' is unknown; known: .*, or a local folder"):
        TextClassifier(embedder="MiniLM").fit(X, y)
    with pytest.raises(ValueError, match="trained with embeddings, which an online model cannot use"):
        OnlineTextClassifier().start_from(clone(model).set_params(embedder=None).fit(X, y, embeddings=E))


def test_damaged_heads_are_refused(tmp_path):
    X, y = some_texts(60)
    model, path = TextClassifier(tune=False, embedder=Embedder()).fit(X, y), tmp_path / "m.skops"
    state = model._current_model().to_state()
    head = state["embedding"]
    fingerprint = head["fingerprint"]
    for damaged in (
        head | {"coef": head["coef"][:, 1:]},
        head | {"mean": head["mean"] * np.nan},
        head | {"fingerprint": fingerprint | {"dimension": 5}},
        head | {"fingerprint": fingerprint | {"probes": fingerprint["probes"][1:]}},
        {"coef": head["coef"]},
    ):
        content = {"format": model_files.FORMAT, "kind": "TextClassifier"}
        path.write_bytes(model_files.to_archive(content | {"state": state | {"embedding": damaged}}))
        with pytest.raises(model_files.ModelFileError, match="damaged model file"):
            load_model(path)


def test_a_comparison_embeds_every_text_once():
    X, y = some_texts(30)
    model = TextClassifier(tune=False, cv=3, embedder=Embedder())
    computed = compare_with_baseline(model, X, y, X_unlabeled=["lovely film"])
    assert model.embedder.seen == Counter([*X, "lovely film", *PROBES * 3])
    given = compare_with_baseline(TextClassifier(tune=False, cv=3), X, y, embeddings=Embedder().encode(X))
    assert given.baseline == computed.baseline


def test_progress_is_shown_while_texts_are_embedded(capsys):
    X, y = some_texts(60)
    TextClassifier(tune=False, embedder=Embedder(), verbose=1).fit(X, y)
    assert "60/60 embeddings" in capsys.readouterr().err


@pytest.mark.parametrize(
    "settings", [{"l2_weights": "auto", "dropout": 0.5}, {"dropout": (0.5, 0.2), "l2_weights": "uniform"}]
)
def test_grids_of_the_words_are_combined_with_those_of_the_embedding(settings):
    X, y = some_texts(40)
    model = TextClassifier(embedder=Embedder(), l2=0.1, **settings).fit(X, y)
    tried = {(str(one["dropout"]), str(one["l2_weights"])) for one in model.search_.cv_results_["params"]}
    assert len(tried) == 2
    assert isinstance(model.model_.l2_weights, str)
    assert isinstance(model.model_.dropout, float)


def lengths(texts):
    return np.array([[len(text), text.count("e"), 1.0] for text in texts], float)


def test_several_encoders_are_side_by_side(tmp_path):
    X, y = some_texts(60)
    U, _ = some_texts(40, seed=1)
    model = TextClassifier(embedder=[Embedder(), lengths]).fit(X, y, X_unlabeled=U)
    embedding = model.summary_.embedding
    assert (embedding["dimension"], embedding["name"]) == (7, "Embedder,lengths")
    assert len(embedding["noise"]) == len(embedding["l2_weight"]) == 2
    assert embedding["l2_weight"][0] == 1.0
    both = np.hstack([Embedder().encode(X), lengths(X)])
    np.testing.assert_allclose(model.predict_proba(X, both), model.predict_proba(X))
    save_model(model, tmp_path / "model.skops")
    loaded = load_model(tmp_path / "model.skops", embedder=(Embedder(), lengths))
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    with pytest.raises(ValueError, match="it gives 4 numbers per text, not 7"):
        load_model(tmp_path / "model.skops", embedder=Embedder())


def test_an_encoder_that_is_left_out_is_not_called(monkeypatch):
    monkeypatch.setattr(Search, "is_preferred", lambda *searches: False)
    X, y = some_texts(60)
    embedder = Embedder()
    model = TextClassifier(embedder=embedder).fit(X, y)
    assert model.summary_.embedding["l2_weight"] == [None]
    assert "4 numbers per text from Embedder; left out" in str(model.summary_)
    embedder.seen.clear()
    new, _ = some_texts(20, seed=1)
    alone = TextClassifier().fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(new), alone.predict_proba(new))
    assert model.summary_.to_dict() | {"embedding": None} == alone.summary_.to_dict()
    assert not embedder.seen
    assert model.explain(new[0]).embedding is None
    np.testing.assert_allclose(model.to_sklearn().predict_proba(new), alone.predict_proba(new), rtol=1e-5)


def test_an_encoder_is_given_once():
    embedder = Embedder()
    with pytest.raises(ValueError, match="embedder has 'Embedder' twice"):
        TextClassifier(embedder=[embedder] * 2).fit(*some_texts(20))


def test_random_numbers_are_left_out():
    X, y = some_texts(30)
    U, _ = some_texts(150, seed=1)
    noise = {text: np.random.default_rng(k).normal(size=50) for k, text in enumerate([*X, *U, *PROBES])}

    def useless(texts):
        return np.array([noise[text] for text in texts])

    model = TextClassifier(embedder=useless).fit(X, y, X_unlabeled=U)
    assert model.summary_.embedding["l2_weight"] == [None]
    alone = TextClassifier().fit(X, y, X_unlabeled=U)
    np.testing.assert_array_equal(model.predict_proba(X), alone.predict_proba(X))
    both = TextClassifier(embedder=[useless, Embedder()]).fit(X, y, X_unlabeled=U)
    assert both.summary_.embedding["l2_weight"] == [None, 1.0]


def test_discriminant_analysis_of_unlabelled_texts_is_used_and_reported():
    """The words say nothing, and a few labels little about the means of noisy embeddings."""
    rng = np.random.default_rng(0)
    y = np.arange(430) % 2
    texts = [f"{' '.join(rng.choice(WORDS[6:], 4))} {k}" for k in range(430)]
    E = rng.normal(size=(430, 30)) + 2.0 * np.eye(2, 30)[y]
    X, U, T = texts[:30], texts[30:330], texts[330:]
    given = {"X_unlabeled": U, "embeddings": E[:30], "embeddings_unlabeled": E[30:330]}
    model = TextClassifier(n_latent=0).fit(X, y[:30], **given)
    assert model.summary_.unlabeled_effect["discriminant_rounds"] > 0
    assert "of discriminant analysis" in str(model.summary_)
    with pytest.warns(UserWarning, match="did not improve"):
        alone = TextClassifier(rounds=0, n_latent=0).fit(X, y[:30], **given)
    assert alone.summary_.unlabeled_effect["discriminant_rounds"] == 0
    with_rounds, without = (
        log_loss(y[330:], one.predict_proba(T, embeddings=E[330:])) for one in (model, alone)
    )
    assert with_rounds < without - 0.01
