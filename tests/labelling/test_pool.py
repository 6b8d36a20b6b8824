"""Models of a pool, also with very few labels, the words behind them, and the texts chosen next."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dropglm.labelling import TextPool, choose_texts
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


NOUNS = ("film", "song", "cast", "plot", "book", "play", "tale", "show", "opera", "novel")


@pytest.fixture(scope="module")
def small_pool():
    return TextPool([f"a {word} {noun}" for noun in NOUNS for word in ("lovely", "dull", "long")])


@pytest.mark.parametrize("labels", [{}, {0: "good"}, {0: "good", 3: "good"}], ids=["none", "one", "two"])
def test_with_fewer_than_two_classes_nothing_is_learnt(small_pool, labels):
    model = small_pool.fit(labels)
    assert not model.is_trained
    assert model.probabilities.shape == (len(small_pool), len(set(labels.values())))
    assert (model.probabilities == 1.0).all()
    assert model.words_behind(0) == []
    assert not any(model.words_of_classes().values())
    chosen = choose_texts(model.probabilities, small_pool.latent, labels, size=5)
    assert len(set(chosen)) == 5
    assert not set(chosen) & set(labels)


def test_two_labels_are_enough_for_a_model(small_pool):
    model = small_pool.fit({0: "good", 1: "bad"})
    assert model.classes == ["bad", "good"]
    np.testing.assert_allclose(model.probabilities.sum(axis=1), 1.0)
    assert (model.probabilities[::3, 1] > model.probabilities[1::3, 1]).all()


def test_a_class_may_be_added_with_one_text_and_renamed(small_pool):
    first = small_pool.fit({0: "good", 1: "bad"})
    second = small_pool.fit({0: "good", 1: "bad", 2: "slow"}, first)
    assert second.classes == ["bad", "good", "slow"]
    renamed = small_pool.fit({0: "good", 1: "awful", 2: "slow"}, second)
    assert renamed.classes == ["awful", "good", "slow"]
    np.testing.assert_allclose(renamed.probabilities, second.probabilities, atol=1e-3)


def test_a_label_of_a_text_that_does_not_exist_is_refused(small_pool):
    with pytest.raises(ValueError, match="numbered 0 to 29"):
        small_pool.fit({30: "good"})


@st.composite
def pools(draw):
    """Probabilities, latent features, labelled and excluded texts of a small pool."""
    n, k, K = draw(st.integers(1, 25)), draw(st.integers(1, 4)), draw(st.integers(0, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    p = rng.dirichlet(np.ones(K), n) if K else np.ones((n, 0))
    latent = rng.standard_normal((n, k))
    latent /= np.linalg.norm(latent, axis=1, keepdims=True)
    latent[rng.random(n) < 0.1] = 0.0
    order = rng.permutation(n)
    labeled = set(order[: draw(st.integers(0, n))].tolist())
    return p, latent, labeled, rng.random(n) < 0.3


@given(pool=pools(), size=st.integers(1, 30))
def test_texts_are_chosen_once_and_neither_labelled_nor_excluded(pool, size):
    p, latent, labeled, excluded = pool
    chosen = choose_texts(p, latent, labeled, size=size, excluded=excluded)
    free = set(np.flatnonzero(~excluded).tolist()) - labeled
    assert len(chosen) == len(set(chosen.tolist())) == min(size, len(free))
    assert set(chosen.tolist()) <= free
    np.testing.assert_array_equal(choose_texts(p, latent, labeled, size=size, excluded=excluded), chosen)


@given(pool=pools(), size=st.integers(1, 5))
@settings(max_examples=50)
def test_the_first_texts_of_a_longer_choice_are_those_of_a_shorter_one(pool, size):
    p, latent, labeled, excluded = pool
    longer = choose_texts(p, latent, labeled, size=size + 3, excluded=excluded)
    np.testing.assert_array_equal(
        longer[:size], choose_texts(p, latent, labeled, size=size, excluded=excluded)
    )


@given(pool=pools())
def test_the_first_text_has_the_largest_product_of_uncertainty_and_novelty(pool):
    p, latent, labeled, _ = pool
    K = p.shape[1]
    free = [i for i in range(len(p)) if i not in labeled and latent[i].any()]
    if K < 2 or len(labeled) < 2 * K or not free:
        return

    def score(i):
        second, first = np.sort(p[i])[-2:]
        near = max([0.0, *(float(latent[i] @ latent[j]) for j in labeled)])
        return (1.0 - (first - second)) * max(1.0 - near, 1e-6)

    chosen = choose_texts(p, latent, labeled)[0]
    assert score(chosen) == pytest.approx(max(map(score, free)), rel=1e-9)


@given(pool=pools())
def test_with_few_labels_the_first_text_represents_the_pool_best(pool):
    _, latent, labeled, _ = pool
    free = [i for i in range(len(latent)) if i not in labeled and latent[i].any()]
    if not free:
        return

    def covered(texts):
        known = [latent[i] for i in texts]
        return sum(max([0.0, *(float(row @ other) for other in known)]) for row in latent)

    chosen = choose_texts(np.ones((len(latent), 0)), latent, labeled)[0]
    best = max(covered([*labeled, i]) for i in free)
    assert covered([*labeled, chosen]) == pytest.approx(best, abs=1e-9)


def test_the_first_texts_come_from_different_clusters():
    centres = np.eye(4)
    latent = np.repeat(centres, 50, axis=0) + 0.1 * np.random.default_rng(0).standard_normal((200, 4))
    latent /= np.linalg.norm(latent, axis=1, keepdims=True)
    chosen = choose_texts(np.ones((200, 0)), latent, set(), size=4)
    assert sorted((chosen // 50).tolist()) == [0, 1, 2, 3]


def test_texts_without_known_words_come_last():
    latent = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    p = np.array([[0.5, 0.5], [0.9, 0.1], [0.9, 0.1]])
    np.testing.assert_array_equal(np.sort(choose_texts(p, latent, set(), size=3)[:2]), [1, 2])


def test_arrays_of_different_lengths_are_refused():
    with pytest.raises(ValueError, match="one row per text"):
        choose_texts(np.ones((3, 2)), np.ones((2, 2)), set())
