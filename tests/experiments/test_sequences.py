"""The experiment on sequences, with generated sentences in place of the data sets."""

import pytest

from dropglm.experiments import ExperimentRun, Sequences
from dropglm.experiments.results import Lines
from dropglm.experiments.sequences import (
    BETTER,
    CRFSUITE,
    DROPOUT,
    L2,
    METHODS,
    UNLABELED,
    TaggedSentences,
    TagMethod,
    chunk_features,
    fit_ours,
    generated_sentences,
    score_tagger,
    tagged_split,
)
from dropglm.sequences import word_features

SMALL = {
    L2: TagMethod(fit_ours, {"dropout": (0.0,), "l2": (0.3, 1.0)}),
    DROPOUT: TagMethod(fit_ours, {"dropout": (0.5,), "l2": (0.3,)}),
    UNLABELED: TagMethod(fit_ours, {"dropout": (0.5,), "l2": (0.3,), "discount": (0.02,)}, unlabeled=True),
}


def load(name):
    """Return few sentences with parts of speech; without validation sentences if these are chunks."""
    found = generated_sentences(0, (40, 20, 20))
    parts = [[(word, word[-1]) for word in sentence] for sentence in found.texts]
    tests = [[(word, word[-1]) for word in sentence] for sentence in found.texts_test]
    found = found._replace(texts=parts, texts_test=tests, texts_validation=tests, y_validation=found.y_test)
    return found._replace(texts_validation=None, y_validation=None) if name == "conll2000" else found


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr("dropglm.experiments.sequences.HELD_OUT", 10)
    monkeypatch.setattr("dropglm.experiments.sequences.CHOSEN_WITH", 25)
    return Sequences(labels=(10, None), seeds=2, methods=SMALL, load=load)


def test_a_full_run_has_a_table_of_f1_differences_and_seconds_per_data_set(small, tmp_path):
    run = ExperimentRun("sequences", small, tmp_path)
    assert len(run.fits) == 3 * 3 * 3  # data sets, splits and methods
    run.run()
    tables = small.tabulate(run.lines)
    assert len(tables) == 9
    assert tables[0].header == ["method", "10 labels", "±", "all labels", "±"]
    assert [row[0] for row in tables[1].rows] == [DROPOUT, UNLABELED, BETTER]
    assert small.compare(run.lines) == []


def test_the_better_of_both_is_chosen_by_validation_sentences(small):
    lines = Lines(
        {"data": "d", "seed": seed, "method": method, "parameters": {"labels": 10}}
        | {"result": {"f1": f1, "validation_f1": validation, "fit_seconds": 1.0}}
        for seed, method, f1, validation in [
            (0, DROPOUT, 0.5, 0.3),
            (0, UNLABELED, 0.6, 0.4),
            (1, DROPOUT, 0.7, 0.5),
            (1, UNLABELED, 0.8, 0.4),
        ]
    )
    rows = {row[0]: row[1] for row in small.tabulate(lines)[0].rows}
    assert rows[BETTER] == "65.00"


@pytest.mark.parametrize("name", ["conll2000", "conll2002_esp"])
def test_with_all_labels_some_sentences_choose_the_settings_of_a_fit_to_all(small, name):
    split = tagged_split(load, name, None, 0)
    assert len(split.X) == 25
    assert len(split.final[0]) == 40


def test_with_few_labels_the_fit_that_chooses_is_the_last(small):
    few = tagged_split(load, "conll2000", 10, 0)
    assert len(few.X) == 10
    assert len(few.X_unlabeled) == 20
    assert few.final is None


def test_few_labels_choose_among_weaker_penalties():
    grids = {
        fit.parameters["labels"]: fit.parameters["grid"]
        for fit in Sequences().fits(False)
        if fit.method == DROPOUT
    }
    assert max(grids[300]["l2"]) < max(grids[0]["l2"])
    assert min(grids[300]["l2"]) < min(grids[0]["l2"])
    assert grids[300]["dropout"] == grids[0]["dropout"]


def test_settings_are_those_with_the_best_f1_on_validation_sentences(small):
    split = tagged_split(load, "conll2002_esp", 10, 0)
    found = score_tagger(split, method=SMALL[L2])
    assert found["chosen"]["l2"] in (0.3, 1.0)
    assert found["validation_f1"] == found["f1"]  # the same sentences here


def test_crfsuite_is_the_same_model_as_l2():
    pytest.importorskip("pycrfsuite")
    found = generated_sentences(0, (60, 30, 30))
    X, X_test = ([word_features(words) for words in part] for part in (found.texts, found.texts_test))
    ours = fit_ours(X, found.y, [], dropout=0.0, l2=1.0)(X_test)
    theirs = METHODS[CRFSUITE].fit(X, found.y, [], c2=0.5)(X_test)
    pairs = [pair for rows in zip(ours, theirs, strict=True) for pair in zip(*rows, strict=True)]
    assert sum(a == b for a, b in pairs) > 0.98 * len(pairs)


def test_generated_sentences_depend_on_the_seed_only():
    assert isinstance(generated_sentences(1), TaggedSentences)
    assert generated_sentences(1) == generated_sentences(1) != generated_sentences(2)


def test_chunk_features_are_those_of_crfsuites_tutorial():
    features = chunk_features([(word, word.upper()) for word in "abcde"])
    assert len(features[2]) == 19
    assert features[2][-1] == "1[0,1,2]=C|D|E"
    assert len(features[0]) == 10
