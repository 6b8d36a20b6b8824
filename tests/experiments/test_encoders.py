"""Pretrained encoders, on synthetic texts and with encoders that need no package."""

import os
from functools import partial

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from dropglm import TextClassifier, load_dataset
from dropglm.base.errors import MissingPackageError
from dropglm.experiments import ExperimentRun, encoders, texts
from dropglm.experiments.encoders import (
    OURS_NOISE,
    OURS_TWO,
    OURS_UNLABELED,
    OURS_USE,
    RIVALS,
    SETS,
    USE_LOGISTIC,
    Encoders,
    Size,
    loaded,
)
from dropglm.experiments.few_labels import COMPARED, TFIDF, TextMethod
from dropglm.experiments.report import describe
from dropglm.experiments.results import Lines
from dropglm.text.comparison import tfidf_baseline
from dropglm.text.encoders import Encoder
from tests.experiments.stored import line, page_without_fits, run_lines
from tests.experiments.test_few_labels import synthetic

SEED = 3
NAMES = [score.name for score in COMPARED]
SMALL = Encoders(sets=("rt", "docs"), size=Size((40,), (4,), 1, unlabeled=60, test=50), load=synthetic)


def letters(found):
    """Return how often each of some characters occurs; a word of the class is among the first letters."""
    return np.array([[text.count(letter) for letter in "comprestalki0123456789"] for text in found], float)


def stand_in(name, absent=()):
    """Stand for ``load_embedder``."""
    if name in absent:
        raise MissingPackageError(f"{name} is not installed.")
    return Encoder(name, partial(letters))  # an encoder of its own for each name


@pytest.fixture(autouse=True)
def stand_ins(monkeypatch):
    """Encoders that need no package, and that no other test has loaded."""
    monkeypatch.setattr(encoders, "load_embedder", stand_in)
    loaded.cache_clear()
    yield
    loaded.cache_clear()


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    folder = tmp_path_factory.mktemp("encoders")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(encoders, "load_embedder", stand_in)
        loaded.cache_clear()
        yield folder, run_lines("encoders", SMALL, folder, quick=False)


@pytest.fixture
def split():
    return texts.few_labels("rt", 8, SEED, synthetic, True)


def test_labels_per_class_are_the_first_texts_of_each_class(split):
    assert np.unique(split.y, return_counts=True)[1].tolist() == [8] * 5
    parts = [*split.X, *split.X_unlabeled, *split.X_test]
    assert sorted(parts) == sorted(texts.all_texts("rt", synthetic)[0])
    assert list(split.X_test) == list(texts.few_labels("rt", 40, SEED, synthetic).X_test)


@pytest.mark.skipif("DROPGLM_DATA" not in os.environ, reason="DROPGLM_DATA is not set")
@pytest.mark.parametrize("name", SETS)
def test_classes_have_enough_texts_for_the_labels_per_class_and_for_the_test(name):
    y = texts.all_texts(name, load_dataset)[1]
    most = max(encoders.per_class_counts(name), default=1)
    for seed in range(encoders.FULL.seeds):
        test, rest = texts.hold_out(len(y), seed)
        assert np.unique(y[rest], return_counts=True)[1].min() >= most
        assert set(y[test]) == set(y)


def test_noise_depends_on_the_text_alone_and_is_gaussian():
    rows = encoders.noise([f"text {k}" for k in range(200)])
    np.testing.assert_array_equal(encoders.noise(["text 7"])[0], rows[7])
    assert rows.shape == (200, 512)
    assert abs(rows.mean()) < 0.02
    assert np.std(rows) == pytest.approx(1.0, abs=0.02)
    similarity = np.corrcoef(rows) - np.eye(200)
    assert np.abs(similarity).max() < 0.3


def test_logistic_regression_on_embeddings_has_the_folds_and_settings_of_tfidf(split):
    model = encoders.encoder_logistic(split.y, SEED, Cs=3, encoders=("use",)).fit(split.X, split.y)
    expected = tfidf_baseline(split.y, Cs=3, random_state=SEED)[-1].fit(letters(split.X), split.y)
    np.testing.assert_allclose(
        model.predict_proba(split.X_test), expected.predict_proba(letters(split.X_test)), rtol=1e-4
    )


def test_self_training_without_confident_predictions_is_logistic_regression_on_embeddings(split):
    method = encoders.encoder_self_training(split.y, SEED, Cs=3, threshold=1 - 1e-12, encoders=("noise",))
    model = method.fit(split.X, split.y, split.X_unlabeled)
    X, X_test = (encoders.noise(part).astype(np.float32) for part in (split.X, split.X_test))
    (C,) = np.unique(tfidf_baseline(split.y, Cs=3, random_state=SEED)[-1].fit(X, split.y).C_)
    expected = LogisticRegression(C=C, max_iter=1000).fit(X, split.y)
    np.testing.assert_allclose(model.predict_proba(split.X_test), expected.predict_proba(X_test), rtol=1e-3)


def test_our_classifier_has_the_embeddings_beside_its_ngrams(split):
    model = encoders.ours_with(split.y, SEED, encoders=("use",))
    model.fit(split.X, split.y, X_unlabeled=split.X_unlabeled)
    E, U, T = (letters(part) for part in (split.X, split.X_unlabeled, split.X_test))
    expected = TextClassifier().fit(
        split.X, split.y, X_unlabeled=split.X_unlabeled, embeddings=E, embeddings_unlabeled=U
    )
    np.testing.assert_allclose(
        model.predict_proba(split.X_test), expected.predict_proba(split.X_test, T), rtol=1e-6
    )


def test_the_methods_are_scored_on_the_test_texts(stored):
    (found,) = stored[1].where(data="rt", method=USE_LOGISTIC, per_class=True)
    split = texts.few_labels("rt", 4, 0, synthetic, True)
    model = tfidf_baseline(split.y, Cs=10, random_state=0)[-1].fit(letters(split.X), split.y)
    correct = model.predict(letters(split.X_test[:50])) == split.y_test[:50]
    assert found["result"]["accuracy"] == correct.mean()
    assert found["result"]["labeled"] == 20
    assert found["result"]["test_rows"] == 50


def test_methods_with_unlabelled_texts_have_at_most_the_given_number(stored):
    counts = {row["method"]: row["result"].get("unlabeled") for row in stored[1]}
    assert {name for name, count in counts.items() if count is None} == {TFIDF, USE_LOGISTIC}
    assert set(counts.values()) == {None, 60}


def test_tables_count_labels_in_all_and_per_class(stored):
    tables = {table.title: table for table in SMALL.tabulate(stored[1])}
    assert "Means over the data sets" in tables
    mean = tables["Labels per class. Means over the data sets"]
    assert mean.header == ["method", *(f"4 labels per class: {name}" for name in NAMES)]
    own = stored[1].where(method=OURS_USE, per_class=True)
    (row,) = [row for row in mean.rows if row[0] == OURS_USE]
    assert row[1] == f"{100 * np.mean(own.values('accuracy')):.2f}"
    by_set = tables["Labels per class. Accuracy in per cent by data set, 1 seed"]
    assert [row[0] for row in by_set.rows] == ["rt, 4 labels per class", "docs, 4 labels per class"]
    cell = dict(zip(by_set.header, by_set.rows[0], strict=True))[OURS_USE]
    assert cell == f"{100 * own.where(data='rt').values('accuracy')[0]:.2f}"


def test_differences_are_means_over_data_sets_and_the_best_of_the_others_differs_by_set():
    scores = {TFIDF: (0.5, 0.8), USE_LOGISTIC: (0.6, 0.7), OURS_UNLABELED: (0.5, 0.7), OURS_USE: (0.7, 0.7)}
    lines = Lines(
        line(name, method, accuracy + 0.02 * seed * (method == OURS_USE), seed=seed, labels=8)
        for method, accuracies in scores.items()
        for name, accuracy in zip(("rt", "docs"), accuracies, strict=True)
        for seed in (0, 1)
    )
    shown = encoders.brought(lines)
    best, gain = shown.rows
    # Minus 0.6 and 0.8, and minus 0.5 and 0.7; the second seed is better by 0.02.
    assert best[:2] == [f"{OURS_USE} minus {encoders.BEST}", "+1.00 ± 1.00"]
    assert gain[:2] == [f"{OURS_USE} minus {OURS_UNLABELED}", "+11.00 ± 1.00"]
    assert best[-1] == "better in 1 of 2 cells, worse by more than one standard error in 1"


def test_the_page_is_made_without_fits(stored):
    page = page_without_fits("encoders", SMALL, stored[0], quick=False)
    assert page.count("<svg") == 8  # for both ways to count labels, two means and two data sets
    assert "nan" not in page


@pytest.mark.parametrize("absent", [("use",), ("wordllama",), ("use", "wordllama")])
def test_one_sentence_says_that_an_encoder_is_missing_and_the_others_are_run(absent, monkeypatch, tmp_path):
    # All methods with WordLlama also need USE, so that nothing is said about the former if both are missing.
    monkeypatch.setattr(encoders, "load_embedder", partial(stand_in, absent=absent))
    cheap = {
        name: TextMethod(lambda y, seed, **settings: LogisticRegression(), method.settings, 0.1)
        for name, method in SMALL.methods.items()
    }
    monkeypatch.setattr(encoders, "score_with_encoders", lambda split, *, method, seed: {"accuracy": 0.5})
    experiment = Encoders(sets=("rt",), size=Size((40,), (4,), 2), methods=cheap, load=synthetic)
    told = []
    lines = run_lines("encoders", experiment, tmp_path, quick=False, tell=told.append)
    assert told == [f"Methods with the encoder {absent[0]} are skipped. {absent[0]} is not installed."]
    without = {
        name
        for name, method in cheap.items()
        if not set(method.settings.get("encoders", ())).intersection(absent)
    }
    assert set(lines.by("method")) == without
    assert {TFIDF, OURS_UNLABELED, OURS_NOISE} <= without < set(cheap)
    left_out = "; ".join(name for name in cheap if name not in without)
    paragraphs = describe(ExperimentRun("encoders", experiment, tmp_path), lines)
    assert any(f"There are no results of these methods: {left_out}." in text for text in paragraphs)


def test_published_results_are_beside_ours_and_marked():
    lines = Lines(
        [
            line("emotion6", OURS_USE, accuracy, seed=seed, labels=labels, per_class=True)
            for labels, accuracies in ((8, (0.5, 0.6)), (64, (0.7, 0.8)))
            for seed, accuracy in enumerate(accuracies)
        ]
    )
    (table,) = encoders.published(lines)
    assert table.header == ["method", "8 labels per class", "±", "64 labels per class", "±", "source"]
    *theirs, ours = table.rows
    assert all("(published)" in row[0] and "Tunstall et al. (2022)" in row[-1] for row in theirs)
    assert [row[1] for row in theirs] == ["48.8", "37.8"]
    assert [row[3] for row in theirs] == ["76.2", "50.8"]
    assert ours == [OURS_USE, "55.00", "5.00", "75.00", "5.00", "measured here"]
    assert encoders.published(Lines()) == []


def test_a_quick_run_has_all_methods_on_docstrings():
    quick = Encoders().fits(True)
    assert {fit.data for fit in quick} == {"docs"}
    assert {fit.method for fit in quick} == {*RIVALS, OURS_UNLABELED, OURS_USE, OURS_TWO, OURS_NOISE}
    assert len(quick) == 2 * len(encoders.ENCODER_METHODS)
