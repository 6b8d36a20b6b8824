"""The choice of texts, compared with its definition written out."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dropglm.labelling import choose_texts


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
