import pickle

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.utils import _safe_indexing

from dropglm import (
    Blocks,
    LogisticRegression,
    LogisticRegressionCV,
    OnlineLogisticRegression,
    PerBlock,
    noising_penalty,
)
from dropglm.baselines import EMNaiveBayes


@pytest.fixture
def parts(rng):
    return sparse.csr_array((rng.random((8, 4)) < 0.5).astype(float)), rng.normal(size=(8, 2))


ROWS = [[0, 3], np.array([5, 5, 1]), np.arange(8) % 2 == 0, slice(1, 7, 2), [True, False] * 4, [-1]]


@pytest.mark.parametrize("rows", ROWS, ids=repr)
def test_rows_are_those_of_the_concatenated_matrix(parts, rows):
    X = Blocks(*parts)
    whole = np.hstack([parts[0].toarray(), parts[1]])
    for chosen in (X[rows], X[rows, ...], X[rows, :], _safe_indexing(X, rows)):
        assert isinstance(chosen, Blocks)
        assert sparse.issparse(chosen.blocks[0])
        assert_array_equal(chosen.toarray(), whole[rows])
        assert_array_equal(chosen.tocsr().toarray(), whole[rows])
        assert chosen.shape == whole[rows].shape
    assert X[3].shape == (1, 6)
    assert len(list(X)) == 8


def test_blocks_share_the_arrays_that_they_are_given(parts):
    X = Blocks(*parts)
    assert X.blocks[1] is parts[1]
    assert np.shares_memory(X.blocks[0].data, parts[0].data)
    assert X.widths == (4, 2)
    assert repr(X) == "Blocks of shape (8, 6): csr (8, 4), dense (8, 2)"
    assert_array_equal(pickle.loads(pickle.dumps(X)).toarray(), X.toarray())


def test_products_are_those_of_the_concatenated_matrix(parts, rng):
    X, B = Blocks(*parts), rng.normal(size=(6, 3))
    np.testing.assert_allclose(X @ B, X.toarray() @ B)
    np.testing.assert_allclose(X @ sparse.csr_array(B), X.toarray() @ B)


@pytest.mark.parametrize(
    ("dtypes", "found"), [("ff", "f"), ("fd", "d"), ("bf", "d"), ("dd", "d"), ("?f", "d"), ("ef", "d")]
)
def test_the_dtype_is_float32_only_if_all_blocks_are(dtypes, found):
    assert Blocks(*(np.ones((2, 1), dtype) for dtype in dtypes)).dtype == found


def test_bad_blocks_are_refused(parts):
    words, numbers = parts
    with pytest.raises(ValueError, match="at least one matrix"):
        Blocks()
    with pytest.raises(TypeError, match=r"Block 0 is a list of matrices; pass them one by one"):
        Blocks([words, numbers])
    with pytest.raises(ValueError, match=r"same number of rows, got the shapes \(8, 4\), \(7, 2\)"):
        Blocks(words, numbers[:7])
    with pytest.raises(ValueError, match=r"Block 1 has shape \(8,\)"):
        Blocks(words, numbers[:, 0])
    with pytest.raises(TypeError, match="not converted to an array automatically"):
        Blocks(Blocks(words), numbers)
    with pytest.raises(TypeError, match="not converted to an array automatically"):
        np.asarray(Blocks(words))
    with pytest.raises(IndexError, match="Only rows"):
        Blocks(words)[:, 1]


def test_values_of_blocks_are_compared_and_shown():
    assert PerBlock(0.5, 0.0) == PerBlock(0.5, 0) != PerBlock(0.5, 0.1)
    assert PerBlock(1, 2) != PerBlock(1, 2, 3)
    assert PerBlock(1, 2) != (1, 2)
    assert PerBlock(np.ones(2), "a") == PerBlock(np.ones(2), "a")
    assert len({PerBlock(0.5, 0.0), PerBlock(0.5, 0)}) == 1  # equal ones have the same hash
    assert hash(PerBlock([1.0, 2.0], "a")) == hash(PerBlock(np.array([1, 2]), "a"))
    assert not np.iterable(PerBlock(1, 2))
    with pytest.raises(ValueError, match="PerBlock needs a value"):
        PerBlock()


Y = np.arange(8) % 2


@pytest.mark.parametrize("estimator", [LogisticRegression, LogisticRegressionCV])
def test_bad_settings_are_refused(estimator, parts):
    X = Blocks(*parts)
    for name in ("dropout", "noise_std", "l2_weights"):
        with pytest.raises(ValueError, match=f"{name} has 3 values, but X has 2 blocks"):
            estimator(**{name: PerBlock(0.5, 0.5, 0.5)}).fit(X, Y)
        with pytest.raises(TypeError, match=f"{name} has one value per block, but X is a single matrix"):
            estimator(**{name: PerBlock(0.5, 0.5)}).fit(parts[1], Y)
    with pytest.raises(ValueError, match="leaves out every block"):
        estimator(l2_weights=PerBlock(np.inf, np.inf)).fit(X, Y)
    with pytest.raises(ValueError, match=r"l2_weights has shape \(3,\), but the block has 4 columns"):
        estimator(l2_weights=PerBlock([1.0, 2.0, 3.0], 1.0)).fit(X, Y)
    with pytest.raises(ValueError, match="non-negative features"):
        estimator(l2_weights="naive_bayes").fit(X, Y)
    with pytest.raises(ValueError, match="must not be negative"):
        estimator(l2_weights=PerBlock(1.0, -1.0)).fit(X, Y)


def test_bad_rows_are_refused(parts):
    words, numbers = parts
    X, model = Blocks(words, numbers), LogisticRegression()
    with pytest.raises(ValueError, match=r"Input X.blocks\[1\] contains NaN"):
        model.fit(Blocks(words, numbers * np.nan), Y)
    with pytest.raises(ValueError, match=r"X.blocks\[0\] has the wrong shape"):
        model.fit(Blocks(words[:, :0], numbers), Y)
    with pytest.raises(ValueError, match=r"X_unlabeled must be Blocks of \(4, 2\) columns, like X"):
        model.fit(X, Y, X_unlabeled=Blocks(numbers, words))
    with pytest.raises(ValueError, match=r"X_unlabeled must be Blocks of \(4, 2\) columns, like X"):
        model.fit(X, Y, X_unlabeled=X.toarray())
    with pytest.raises(ValueError, match="X_unlabeled must be a single matrix, like X"):
        model.fit(X.toarray(), Y, X_unlabeled=X)
    with pytest.raises(ValueError, match=r"blocks of \(2, 4\) columns, but the model was fitted to \(4, 2\)"):
        model.fit(X, Y).predict(Blocks(numbers, words))
    with pytest.raises(ValueError, match="features"):
        model.predict(words)


def test_estimators_for_a_single_matrix_refuse_blocks(parts):
    X = Blocks(parts[0], parts[0])
    for estimator in (OnlineLogisticRegression(), EMNaiveBayes()):
        with pytest.raises(TypeError, match="must be a single matrix here"):
            estimator.fit(X, Y)


def test_rows_of_weight_zero_do_not_matter(parts):
    X, weight = Blocks(*parts), np.array([1.0, 1, 1, 1, 1, 1, 0, 0])
    one = LogisticRegression().fit(X, Y, weight)
    other = LogisticRegression().fit(X[:6], Y[:6])
    assert_array_equal(one.coef_, other.coef_)
    penalties = [
        noising_penalty(np.ones(6), rows, dropout=PerBlock(0.5, 0.1), sample_weight=w)
        for rows, w in [(X, weight), (X[:6], None)]
    ]
    assert penalties[0] == pytest.approx(penalties[1])
