"""Embeddings: what embedders and users may give, and how an embedder is recognised."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from dropglm.text.embeddings import BATCH, PROBES, Fingerprint, Scaling, check_embeddings, embed
from dropglm.text.encoders import encoder_of


def lengths(texts):
    return np.array([[len(text), text.count("e"), 1.0] for text in texts])


class Tensor:
    """As much of a tensor of PyTorch as matters here: on another device, and part of a graph."""

    def __init__(self, array, on_cpu=False, attached=True):
        self.array, self.on_cpu, self.attached = array, on_cpu, attached

    def detach(self):
        return Tensor(self.array, self.on_cpu, attached=False)

    def cpu(self):
        return Tensor(self.array, True, self.attached)

    def __array__(self, dtype=None, copy=None):
        if self.attached or not self.on_cpu:
            raise RuntimeError("Can't call numpy() on Tensor that requires grad.")
        return np.asarray(self.array, dtype)


class Encoder:
    """An embedder like those of sentence-transformers: callable, but not with texts."""

    def __init__(self):
        self.calls = []

    def __call__(self, features):
        raise AssertionError

    def encode(self, texts, batch_size=32, show_progress_bar=None):
        assert show_progress_bar is False
        assert type(texts) is list
        self.calls.append(texts)
        return lengths(texts)


def test_every_text_is_encoded_once_and_in_batches():
    encoder, texts = Encoder(), [f"text {'e' * (n % 7)} {n}" for n in range(2 * BATCH + 3)]
    E = embed(encoder, texts)
    assert E.dtype == np.float32
    np.testing.assert_array_equal(E, lengths(texts))
    assert [len(batch) for batch in encoder.calls] == [BATCH, BATCH, 3]
    assert [text for batch in encoder.calls for text in batch] == texts


def test_copies_are_encoded_once():
    encoder, texts = Encoder(), ["one", "seven", "one", "three", "seven", "one"]
    np.testing.assert_array_equal(embed(encoder, texts), lengths(texts))
    assert encoder.calls == [["one", "seven", "three"]]


@pytest.mark.parametrize(
    "convert",
    [
        np.ndarray.tolist,
        lambda E: list(E),
        lambda E: E.astype(np.float16),
        lambda E: E.astype(np.int8),
        lambda E: E.astype(object),
        Tensor,
    ],
    ids=["lists", "list of rows", "half", "integers", "objects", "tensor"],
)
def test_embedders_may_return_any_kind_of_array(convert):
    texts = ["one", "seven", ""]
    np.testing.assert_array_equal(embed(lambda some: convert(lengths(some)), texts), lengths(texts))


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        ([1.0, 2.0], r"must have one row of numbers per text, but its shape is \(2,\) for 2 texts"),
        (np.ones((2, 3, 4)), r"its shape is \(2, 3, 4\)"),
        (np.ones((2, 0)), r"its shape is \(2, 0\)"),
        (np.ones((3, 4)), "has 3 rows, but X has 2 texts"),
        ([[1.0, 2.0], [1.0]], "is not a numeric array"),
        ([["a"], ["b"]], "is not a numeric array: its dtype is <U1"),
        (
            [[1.0], [np.nan]],
            r"has NaN, infinite or huge numbers \(beyond 1e\+15\), first in row 1 \(counted from 0\)",
        ),
        ([[1e300], [1.0]], r"infinite or huge numbers .* first in row 0"),
        ([[1.0], [-1e16]], r"infinite or huge numbers .* first in row 1"),
        ([[1j], [1.0]], "its dtype is complex128"),
        (None, r"shape is \(\) for 2 texts"),
        (sparse.csr_array(np.ones((2, 2))), "must be a dense array, got a sparse matrix"),
    ],
    ids=repr,
)
@pytest.mark.parametrize("by_embedder", [False, True])
def test_bad_embeddings_give_one_sentence(returned, message, by_embedder):
    def use():
        return embed(lambda _: returned, ["one", "two"]) if by_embedder else check_embeddings(returned, 2)

    with pytest.raises((TypeError, ValueError), match=message) as error:
        use()
    assert str(error.value).startswith("What the embedder returned " if by_embedder else "embeddings ")
    assert str(error.value).count(". ") == 0


def test_an_embedder_must_not_change_its_dimension():
    texts = [str(n) for n in range(BATCH + 1)]
    with pytest.raises(ValueError, match="returned 257 numbers per text after it had returned 256"):
        embed(lambda some: np.ones((len(some), 256 if len(some) == BATCH else 257)), texts)


@pytest.mark.parametrize("bad", [b"x", Encoder, 3, None], ids=repr)
def test_what_is_not_an_embedder_is_refused(bad):
    with pytest.raises(TypeError, match="embedder must be a name, callable or have a method encode, or be"):
        encoder_of(bad)


@given(st.integers(1, 6), st.integers(1, 5), st.integers(0, 2**32 - 1))
def test_scaled_embeddings_have_mean_0_and_root_mean_square_length_1(n, k, seed):
    """Those of each encoder on their own."""
    E = np.random.default_rng(seed).normal(3.0, 20.0, (n, k + 2)).astype(np.float32)
    E[:, k:] /= 100.0
    parts = Scaling.of(E, (k, 2))(E)
    assert [part.shape for part in parts] == [(n, k), (n, 2)]
    expected = 1.0 if n > 1 else 0.0
    for scaled in parts:
        np.testing.assert_allclose(scaled.mean(axis=0), 0.0, atol=1e-5)
        np.testing.assert_allclose(np.square(scaled).sum(axis=1).mean(), expected, atol=1e-4)


def test_the_fingerprint_tolerates_other_precision_but_not_other_embedders():
    rng = np.random.default_rng(0)
    weights = rng.normal(size=(3, 8))

    def embedder(texts):
        return lengths(texts) @ weights

    known = Fingerprint.of(embedder)
    assert (known.dimension, known.name, known.probes.shape) == (8, "embedder", (len(PROBES), 8))
    known.check(lambda texts: embedder(texts).astype(np.float16))
    known.check(lambda texts: embedder(texts) * (1.0 + 0.01 * rng.normal(size=(len(texts), 8))))
    with pytest.raises(
        ValueError, match=r"The embedder <lambda> is not the one .* embedder embedder: it gives other"
    ):
        known.check(lambda texts: embedder(texts)[:, ::-1])
    with pytest.raises(ValueError, match="it gives 3 numbers per text, not 8"):
        known.check(lengths)


def test_a_table_of_texts_is_recognised_by_its_dimension_only():
    table = {"one": [1.0, 2.0], "two": [3.0, 4.0]}

    def embedder(texts):
        return [table[text] for text in texts]

    known = Fingerprint.of(embedder, 2)
    assert (known.dimension, known.probes) == (2, None)
    known.check(embedder)
    known.check(lambda texts: np.ones((len(texts), 2)))
    with pytest.raises(ValueError, match="gives 3 numbers per text, not 2"):
        known.check(lengths)


def test_the_name_of_an_embedder_is_its_own_or_that_of_its_class():
    encoder = Encoder()
    assert Fingerprint.of(encoder).name == "Encoder"
    encoder.name = "mini"
    assert Fingerprint.of(encoder).name == "mini"


def test_texts_that_encoders_do_not_take_are_repaired():
    """Halves of surrogate pairs are replaced, and only the beginning of a very long text is encoded."""
    seen = []
    embed(lambda texts: seen.extend(texts) or np.ones((len(texts), 1)), ["a \ud800 b", "é" * 30_000, "plain"])
    assert seen == ["a ? b", "é" * 20_000, "plain"]
