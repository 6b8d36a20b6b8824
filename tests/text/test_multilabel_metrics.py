"""Metrics of several labels per text: those of scikit-learn, and those of one label per text."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, f1_score, log_loss, precision_score, recall_score

from dropglm.base.errors import InputError
from dropglm.text.metrics import confident_mistakes, multilabel_metrics, suspicious_labels


@st.composite
def predictions(draw):
    """Draw indicators, probabilities, thresholds and weights."""
    rng = np.random.default_rng(draw(st.integers(0, 1 << 32)))
    n, K = draw(st.integers(1, 30)), draw(st.integers(2, 5))
    Y = rng.random((n, K)) < draw(st.sampled_from([0.1, 0.5]))
    w = draw(st.sampled_from([None, rng.integers(1, 4, n) / 2]))
    return Y.astype(int), rng.random((n, K)), rng.uniform(0.2, 0.8, K), w


@given(predictions())
@settings(deadline=None)
def test_metrics_are_those_of_scikit_learn(drawn):
    Y, P, thresholds, w = drawn
    K, predicted = Y.shape[1], (thresholds < P).astype(int)
    found = multilabel_metrics(Y, P, list("abcde")[:K], thresholds, w)
    how = {"sample_weight": w, "zero_division": 0.0}
    assert found.micro_f1 == pytest.approx(f1_score(Y, predicted, average="micro", **how))
    assert found.micro_precision == pytest.approx(precision_score(Y, predicted, average="micro", **how))
    assert found.micro_recall == pytest.approx(recall_score(Y, predicted, average="micro", **how))
    assert found.subset_accuracy == pytest.approx(accuracy_score(Y, predicted, sample_weight=w))
    each = f1_score(Y, predicted, average=None, sample_weight=w, zero_division=np.nan)
    for k, one in enumerate(found.by_class):
        assert (one.f1 is None) == np.isnan(each[k])
        assert one.f1 is None or one.f1 == pytest.approx(each[k])
        assert one.texts == Y[:, k].sum()
    assert found.macro_f1 == pytest.approx(0.0 if np.isnan(each).all() else np.nanmean(each))
    losses = [log_loss(Y[:, k], P[:, k], sample_weight=w, labels=[0, 1]) for k in range(K)]
    assert found.log_loss == pytest.approx(np.mean(losses))
    assert sum(bin["texts"] for bin in found.calibration) == Y.size


@given(predictions())
@settings(deadline=None)
def test_lists_of_labels_are_the_matrix(drawn):
    Y, P, thresholds, w = drawn
    names = list("abcde")[: Y.shape[1]]
    lists = [tuple(names[k] for k in np.flatnonzero(row)) for row in Y]
    assert multilabel_metrics(lists, P, names, thresholds, w) == multilabel_metrics(
        Y, P, names, thresholds, w
    )


def test_unknown_labels_count_as_wrong():
    P = np.array([[0.9, 0.1], [0.2, 0.9]])
    found = multilabel_metrics([["a", "x"], ["b", "x"]], P, ["a", "b"])
    assert (found.unknown_labels, found.subset_accuracy, found.by_class[-1].label) == (2, 0.0, "x")
    assert (found.micro_precision, found.micro_recall, found.micro_f1) == (1.0, 0.5, pytest.approx(2 / 3))
    assert "2 labels are not classes of the model, such as 'x'" in found.line()
    with pytest.raises(InputError, match="nor is any other label"):
        multilabel_metrics([["x"], ["x"]], P, ["a", "b"])


def test_labels_that_were_exchanged_are_found():
    rng = np.random.default_rng(0)
    true = rng.random((300, 3)) < [0.5, 0.3, 0.2]
    P = np.clip(np.where(true, 0.9, 0.1) + rng.normal(0, 0.05, true.shape), 0.01, 0.99)
    wrong = {(5, 0), (17, 1), (250, 2)}
    given_labels = true.copy()
    for row, k in wrong:
        given_labels[row, k] = not true[row, k]
        P[row, k] = 0.99 if true[row, k] else 0.01
    names, X = list("abc"), [f"text {row}" for row in range(300)]
    y = [[names[k] for k in np.flatnonzero(row)] for row in given_labels]
    found = suspicious_labels(X, y, P, names, k=3)
    assert {(one.row, names.index(one.label.removeprefix("not "))) for one in found} == wrong
    for one in found:
        has = not one.label.startswith("not ")
        assert one.predicted == (f"not {one.label}" if has else one.label.removeprefix("not "))
        assert one.label_probability < 0.5 < one.probability
    assert {one.row for one in confident_mistakes(X, y, P, names, k=3)} == {row for row, _ in wrong}
    P[5] = np.nan
    assert {one.row for one in suspicious_labels(X, y, P, names, k=2)} == {17, 250}
    with pytest.raises(InputError, match="must have shape"):
        suspicious_labels(X, y, P[:, :2], names)
