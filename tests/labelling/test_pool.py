"""Models of a pool: what they predict, the words behind it, and when settings are chosen again."""

import numpy as np
import pytest

from dropglm.labelling import TextPool
from dropglm.labelling.pool import choose_settings


def labels_of(topics, n, first=0):
    _, truth = topics
    return {int(i): str(truth[i]) for i in range(first, first + n)}


@pytest.fixture(scope="module")
def model(topics):
    return topics[0].fit(labels_of(topics, 40))


def test_few_labels_give_a_good_model(topics, model):
    _, truth = topics
    guesses = np.array(model.classes)[model.predicted[40:]]
    assert np.mean(guesses == truth[40:]) > 0.85
    np.testing.assert_allclose(model.probabilities.sum(axis=1), 1.0)


def test_new_texts_are_predicted_like_those_of_the_pool(topics, model):
    """The coefficients of latent features fold back into those of the n-grams."""
    pool, _ = topics
    np.testing.assert_allclose(model.predict_proba(pool.texts), model.probabilities, atol=1e-4)


def test_contributions_and_intercept_sum_to_the_log_odds(topics, model):
    """They compare the predicted class with the runner-up, as ``TextClassifier.explain`` does."""
    pool, _ = topics
    for number in (0, 57, 123):
        p = model.probabilities[number]
        second, first = np.argsort(p)[-2:]
        contributions = sum(weight for _, weight in model.words_behind(number, k=10_000))
        intercept = model._predictor.intercept
        expected = np.log(p[first] / p[second])
        assert contributions + intercept[first] - intercept[second] == pytest.approx(expected, abs=1e-3)
        words = {name for name, _ in model.words_behind(number)}
        assert len(words) <= 8
        assert all(word in " ".join(pool.texts[number].split()) for word in words)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_words_are_those_of_the_fitted_model(topics, n_classes):
    """A model of a pool and one of a file show weights of the same definition."""
    names = ["food", "music", "sport"][:n_classes]
    model = topics[0].fit({i: name for i, name in labels_of(topics, 40).items() if name in names})
    fitted = model.text_model
    assert model.words_of_classes(k=4) == fitted.top_features(4)
    for number in (0, 57):
        assert dict(model.words_behind(number, k=5)) == {
            one.ngram: one.weight for one in fitted.explain(topics[0].texts[number]).contributions[:5]
        }
    np.testing.assert_allclose(fitted.predict_proba(topics[0].texts), model.probabilities, atol=1e-4)
    np.testing.assert_allclose(model.coef.sum(axis=1), 0.0, atol=1e-5)


def test_typical_words_belong_to_their_class(model):
    for name, words in model.words_of_classes(k=5).items():
        assert len(words) == 5
        assert sum(word.startswith(name) for word, _ in words) >= 4
        assert all(weight > 0.0 for _, weight in words)


def test_the_order_of_labelling_does_not_matter(topics, model):
    labels = labels_of(topics, 40)
    other = topics[0].fit(dict(reversed(labels.items())))
    np.testing.assert_array_equal(other.probabilities, model.probabilities)


def test_renaming_a_class_renames_a_column(topics, model):
    names = {"food": "zzz"}
    other = topics[0].fit({i: names.get(name, name) for i, name in labels_of(topics, 40).items()})
    assert other.classes == ["music", "sport", "zzz"]
    np.testing.assert_allclose(other.probabilities, model.probabilities[:, [1, 2, 0]], atol=2e-2)


def test_settings_are_kept_until_the_labels_have_doubled(topics, model, monkeypatch):
    pool, _ = topics
    assert pool.fit(labels_of(topics, 60), model).settings is model.settings
    chosen = []
    monkeypatch.setattr(
        "dropglm.labelling.pool.choose_settings",
        lambda *given: chosen.append(1) or choose_settings(*given),
    )
    pool.fit(labels_of(topics, 79), model)
    pool.fit(labels_of(topics, 21), model)
    assert pool.fit(labels_of(topics, 40) | {50: "new"}, model).classes == ["food", "music", "new", "sport"]
    assert not chosen
    pool.fit(labels_of(topics, 80), model)
    pool.fit(labels_of(topics, 20), model)
    assert len(chosen) == 2


def test_copies_are_found_whatever_their_case_and_white_space():
    pool = TextPool(["One film", "another", "ONE\n film ", "one  film", "another one"])
    assert pool.copy_of.tolist() == [0, 1, 0, 0, 4]
    assert len(pool) == 5


def test_latent_features_have_length_one(topics):
    np.testing.assert_allclose(np.linalg.norm(topics[0].latent, axis=1), 1.0, rtol=1e-5)


def test_the_number_of_threads_changes_nothing(topics, model):
    other = TextPool(topics[0].texts, n_jobs=2).fit(labels_of(topics, 40))
    np.testing.assert_allclose(other.probabilities, model.probabilities, atol=1e-5)


@pytest.mark.parametrize("n_latent", [0, 5])
def test_any_number_of_latent_features_will_do(topics, n_latent):
    pool = TextPool(topics[0].texts, n_latent=n_latent)
    assert pool.fit(labels_of(topics, 20)).is_trained
