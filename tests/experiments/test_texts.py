"""The experiments on texts, on few and small ones."""

import re

import numpy as np
import pytest
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import MultinomialNB

from dropglm import LogisticRegression
from dropglm.experiments import (
    imdb,
    imdb_curves,
    imdb_results,
    methods,
    raw,
    run,
    texts,
    thirds,
    thirds_results,
    wanted,
)
from dropglm.experiments.imdb import IMDB
from dropglm.experiments.imdb_curves import IMDB_CURVES
from dropglm.experiments.thirds import THIRDS

SMALL: dict = {"dropout": (0.5,), "l2": (1.0, 10.0)}
GOOD, BAD = ["lovely", "great", "warm", "funny", "clever"], ["dull", "boring", "cold", "flat", "stupid"]


def reviews(rng, n):
    """Texts of ten words, of which two speak for the label."""
    y = rng.integers(2, size=n)
    y[:2] = 0, 1
    plain = [f"word{k}" for k in range(30)]
    made = []
    for label in y:
        said = [*rng.choice(plain, 8), *rng.choice(GOOD if label else BAD, 2)]
        made.append(" ".join(rng.permutation(said)) + ".")
    return np.array(made, object), y


class Toy:
    """What load_dataset gives."""

    def __init__(self, seed=0):
        rng = np.random.default_rng(seed)
        self.texts, self.y = reviews(rng, 60)
        self.texts_test, self.y_test = reviews(rng, 40)
        self.unlabeled = reviews(rng, 50)[0]


@pytest.fixture
def toys(monkeypatch):
    """Every data set is a toy, every method has two settings at most, every experiment few fits."""
    monkeypatch.setattr(texts, "load_dataset", lambda name: Toy())
    few = {
        "MNB": methods.Rival(MultinomialNB(), {"alpha": (0.1, 1.0)}),
        "L2": methods.TheirPath((0.1, 1.0)),
        "gaussian": methods.Dropout("gaussian", "uniform", **SMALL),
        "gaussian + unlabelled": methods.Dropout("gaussian", "uniform", **SMALL, unlabeled=True),
        "gaussian, NB ridge of all rows + unlabelled": methods.Dropout(
            "gaussian", "naive_bayes_unlabeled", **SMALL, unlabeled=True
        ),
    }
    for module in (thirds, imdb, imdb_results):
        monkeypatch.setattr(module, "METHODS", few)
    for module in (thirds, thirds_results):
        monkeypatch.setattr(module, "COMPARED", {"unigrams": tuple(few), "more features": tuple(few)[1:]})
    monkeypatch.setattr(thirds, "PAPER", {name: thirds.PAPER[name] for name in ("rt", "imdb")})
    monkeypatch.setattr(thirds, "SEEDS", 2)
    monkeypatch.setattr(thirds, "SEEDS_IMDB", 1)
    monkeypatch.setattr(imdb, "TRIGRAMS", tuple(few)[1:])
    monkeypatch.setattr(imdb, "WIDEST", few["gaussian, NB ridge of all rows + unlabelled"])
    monkeypatch.setattr(imdb_curves, "LEFT", (30, (0, 20, 40)))
    monkeypatch.setattr(imdb_curves, "RIGHT", ((20, 30), 25))
    monkeypatch.setattr(imdb_curves, "SEEDS", 2)
    cached = (texts.imdb, texts.imdb_as_published, texts.imdb_wide, texts._all_texts, thirds.rows)
    for function in cached:
        function.cache_clear()
    yield few
    for function in cached:
        function.cache_clear()


def test_views_of_a_text_are_its_pairs_with_one_between_and_its_end(toys):
    split = texts.imdb_wide()
    known = [*Toy().texts, *Toy().unlabeled]
    pairs = set()
    for text in known:
        words = re.findall(r"[\w']+|[^\w\s]", text)
        pairs |= {(a, b) for a, b in zip(words, words[2:], strict=False)}
    assert split.X.shape[0] == 60
    assert split.X_unlabeled.shape[0] == 50
    words = CountVectorizer(
        analyzer=lambda text: [
            f"{a} {b}"
            for a, b in zip(*(lambda w: (w, w[2:]))(re.findall(r"[\w']+|[^\w\s]", text)), strict=False)
        ],
        min_df=2,
        binary=True,
    ).fit(known)
    ours = texts.NgramVectorizer((2, 2), min_df=2).fit(map(texts.every_other_word, known))
    assert {name for name in ours.get_feature_names_out() if "|" not in name} == set(words.vocabulary_)
    assert len(words.vocabulary_) < len(pairs)


def test_thirds_share_no_row_and_count_no_word_of_the_test(toys):
    split = texts.unigrams_in_thirds("rt", 3)
    assert [part.shape[0] for part in (split.X, split.X_unlabeled, split.X_test)] == [34, 33, 33]
    assert split.X.shape[1] == split.X_test.shape[1]
    counts = np.asarray(split.X.sum(axis=0) + split.X_unlabeled.sum(axis=0))
    assert counts.min() >= 1
    everything, y = texts._all_texts("rt")
    assert len(everything) == 100
    assert sorted(np.concatenate([split.y, split.y_test]).tolist()) != sorted(
        y.tolist()
    )  # a third is without


def test_a_rival_takes_the_setting_that_is_best_over_the_folds(toys, rng):
    split = texts.unigrams_in_thirds("rt", 0)
    folds = list(StratifiedKFold(3).split(split.y, split.y))
    alphas = (1e-3, 1.0, 300.0)
    found = methods.Rival(MultinomialNB(), {"alpha": alphas}).tuned(split, folds, "accuracy")
    scores = [
        np.mean(
            [
                MultinomialNB(alpha=a).fit(split.X[i], split.y[i]).score(split.X[j], split.y[j])
                for i, j in folds
            ]
        )
        for a in alphas
    ]
    assert found.cv_score == pytest.approx(max(scores))
    assert found.chosen == {"alpha": alphas[int(np.argmax(scores))]}


@pytest.mark.parametrize("unlabeled", [False, True])
def test_what_is_measured_is_the_estimator_with_what_was_chosen(toys, unlabeled):
    split = texts.more_in_thirds("rt", 0)
    method = methods.Dropout("gaussian", "naive_bayes_unlabeled", (0.5, 0.3), (1.0,), unlabeled=unlabeled)
    result = methods.measured(split, method=method, folds=3, seed=0)
    rows = {"X_unlabeled": split.X_unlabeled} if unlabeled else {}
    settings = result["chosen"]
    assert settings["dropout"] in (0.5, 0.3)
    by_hand = LogisticRegression(**settings, ridge="naive_bayes_unlabeled", tol=1e-6).fit(
        split.X, split.y, **rows
    )
    assert result["accuracy"] == by_hand.score(split.X_test, split.y_test)
    p = by_hand.predict_proba(split.X_test)[np.arange(len(split.y_test)), split.y_test]
    assert result["log_loss"] == pytest.approx(-np.log(p).mean(), rel=1e-2)
    assert result["features"] == (split.X.shape[1] if unlabeled else len(np.unique(split.X.indices)))


def test_words_that_no_labelled_row_has_are_left_out():
    X = sparse.csr_array(np.array([[1, 0, 1], [0, 0, 1]]))
    split = texts.Split(X, np.array([0, 1]), X, sparse.csr_array(np.array([[0, 1, 1]])), np.array([1]))
    seen = split.without_unseen()
    assert seen.X.toarray().tolist() == [[1, 1], [0, 1]]
    assert seen.X_test.toarray().tolist() == [[0, 1]]


def test_thirds_choose_by_cross_validation_and_not_by_the_test(toys, tmp_path):
    run("thirds", THIRDS, tmp_path)
    lines = wanted("thirds", THIRDS, tmp_path)
    assert len(lines) == len(THIRDS.fits(False)) == (2 + 1) * (2 * len(toys) - 1)
    ours = ["gaussian + unlabelled", "gaussian, NB ridge of all rows + unlabelled"]
    rt = [line for line in lines if line["data"] == "rt"]
    for found in thirds_results.chosen(rt, unlabeled=True):
        mine = [x["result"] for x in rt if x["seed"] == found["seed"] and x["method"] in ours]
        assert len(mine) == 4
        assert found["result"]["cv_score"] == max(result["cv_score"] for result in mine)
    _, more, *others = THIRDS.collect(lines)
    (mean,) = [x.ours for x in THIRDS.compare(lines) if "rt" in x.what]
    assert more.rows[0][8] == f"{mean:.2f}"
    assert more.rows[0][-1] == f"{mean - 76.56:+.2f}"
    assert [row[0] for row in others[0].rows] == list(toys)
    assert others[0].rows[0][4] == "-"  # with more features it was not run
    assert len(THIRDS.draw(lines)) == 1
    assert THIRDS.fits(True) == []


def test_rows_of_more_features_are_of_the_same_length(toys):
    split = texts.more_in_thirds("rt", 0)
    lengths = np.sqrt(np.asarray(split.X.multiply(split.X).sum(axis=1)))
    assert lengths == pytest.approx(np.full(34, lengths[0]), rel=1e-5)
    assert texts.beginnings("Boring<br />films!") == "Bori film"


def test_a_test_row_s_label_does_not_change_what_is_chosen(toys):
    split = texts.unigrams_in_thirds("rt", 1)
    upside_down = texts.Split(split.X, split.y, split.X_unlabeled, split.X_test, 1 - split.y_test)
    for method in toys.values():
        found, other = (methods.measured(s, method=method, folds=3, seed=0) for s in (split, upside_down))
        assert found["chosen"] == other["chosen"]
        assert found["accuracy"] == pytest.approx(1 - other["accuracy"])


def test_imdb_s_table_has_the_paper_s_rows(toys, tmp_path):
    run("imdb", IMDB, tmp_path)
    lines = wanted("imdb", IMDB, tmp_path)
    table, *_ = IMDB.collect(lines)
    rows = {row[0]: row[1:] for row in table.rows}
    assert rows["Drop-Bi"][:2] == ["91.31", "91.98"]
    assert rows["Vect.Sent, as published"] == ["88.33", "88.89", "-", "-", "-", "-"]
    bigrams = {x["method"]: x["result"] for x in lines if x["data"] == "bigrams"}
    best = max(
        (
            bigrams[label]
            for label in ("gaussian + unlabelled", "gaussian, NB ridge of all rows + unlabelled")
        ),
        key=lambda result: result["cv_score"],
    )
    assert rows["Drop-Bi"][3] == f"{100 * best['accuracy']:.2f}"
    (nb,) = [
        x["result"] for x in lines if x["data"] == "bigrams, cut at white space" and x["method"] == "MNB"
    ]
    assert rows["MNB-Bi"][2] == f"{100 * nb['accuracy']:.2f}"
    assert rows["MNB-Bi"][4] == f"{100 * nb['accuracy'] - 86.63:+.2f}"
    (wide,) = [x["result"] for x in lines if x["data"] == "wide"]
    assert rows["Drop, wide"][3] == f"{100 * wide['accuracy']:.2f}"
    assert wide["training_seconds"] >= 0
    assert {x.what for x in IMDB.compare(lines)} >= {
        "Drop-Uni, + unlabelled",
        "MNB-Uni, labelled",
    }
    assert len(IMDB.draw(lines)) == 1


def test_curves_draw_larger_sets_around_smaller_ones(toys, tmp_path):
    few, many = imdb_curves.drawn(20, 10, 1), imdb_curves.drawn(30, 25, 1)
    assert (many.X[:20] != few.X).nnz == 0
    assert (many.X_unlabeled[:10] != few.X_unlabeled).nnz == 0
    assert (imdb_curves.drawn(20, 10, 2).X != few.X).nnz > 0
    run("imdb-curves", IMDB_CURVES, tmp_path)
    lines = wanted("imdb-curves", IMDB_CURVES, tmp_path)
    left, right = IMDB_CURVES.collect(lines)
    assert left.header == ["method", "0", "±", "20", "±", "40", "±"]
    assert right.header == ["method", "20", "±", "30", "±"]
    at = [
        x["result"]["accuracy"]
        for x in lines
        if x["method"] == "gaussian + unlabelled" and x["parameters"]["unlabeled"] == 40
    ]
    (row,) = [row for row in left.rows if row[0] == "gaussian + unlabelled"]
    assert row[5] == f"{100 * np.mean(at):.2f}"
    (panels,) = IMDB_CURVES.draw(lines).values()
    assert len(panels) == 2


@pytest.mark.parametrize("name", ["thirds", "imdb", "imdb-curves"])
def test_identities_differ_and_no_budget_is_larger(name):
    experiment = {"thirds": THIRDS, "imdb": IMDB, "imdb-curves": IMDB_CURVES}[name]
    fits = experiment.fits(False)
    lines = [
        {"experiment": name, "data": f.data, "method": f.method, "seed": f.seed, "parameters": f.parameters}
        for f in fits
    ]
    assert len({raw.identity(line) for line in lines}) == len(fits)


@pytest.mark.parametrize("method", methods.METHODS.values(), ids=list(methods.METHODS))
def test_every_method_has_twelve_settings(method):
    settings = dict(method.settings())
    lists = (
        settings["grid"] if "grid" in settings else {k: v for k, v in settings.items() if isinstance(v, list)}
    )
    assert np.prod([len(values) for values in lists.values()]) == 12
