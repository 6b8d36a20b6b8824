"""The experiments on texts, on few and small ones."""

import json
import re
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression as Theirs
from sklearn.linear_model import LogisticRegressionCV as TheirSearch
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.naive_bayes import MultinomialNB

from dropglm import LogisticRegression
from dropglm.estimators import search
from dropglm.experiments import (
    imdb,
    imdb_curves,
    imdb_results,
    methods,
    run,
    texts,
    thirds,
    thirds_results,
    wanted,
)
from dropglm.experiments.imdb import IMDB
from dropglm.experiments.imdb_curves import IMDB_CURVES
from dropglm.experiments.thirds import THIRDS

TheirPath = type(methods.METHODS["L2"])
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


CACHED = (texts.imdb, texts.imdb_as_published, texts.imdb_wide, texts._all_texts, thirds.rows)


@pytest.fixture
def forgetful():
    """Nothing is kept of data sets that others have read, nor for others."""
    for function in CACHED:
        function.cache_clear()
    yield
    for function in CACHED:
        function.cache_clear()


@pytest.fixture
def one_process(monkeypatch):
    """To start others takes longer than a toy's fits."""
    monkeypatch.setattr(
        methods, "TheirLogisticRegressionCV", lambda **given: TheirSearch(**given | {"n_jobs": 1})
    )


@pytest.fixture
def toys(monkeypatch, forgetful, one_process):
    """Every data set is a toy, every method has two settings at most, every experiment few fits."""
    monkeypatch.setattr(texts, "load_dataset", lambda name: Toy())
    few = {
        "MNB": methods.Rival(MultinomialNB(), {"alpha": (0.1, 1.0)}),
        "L2": TheirPath((0.1, 1.0)),
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
    return few


def review(rng, name, length):
    """Its first and last two words are its own; it has tags, capitals, punctuation."""
    words = [f"{rng.choice(['Plain', 'word', 'thing', 'longer'])}{k}" for k in rng.integers(6, size=length)]
    words[length // 2] = "Well,<br />I'm"
    return f"{name}a {name}b {' '.join(words)} {name}y {name}z"


@pytest.fixture
def corpus(monkeypatch, rng, forgetful):
    """Reviews short and long; test texts have words that no other has."""
    data = SimpleNamespace(
        texts=[review(rng, f"l{k}", int(m)) for k, m in enumerate(rng.integers(3, 30, size=24))],
        y=np.arange(24) % 2,
        unlabeled=[review(rng, f"u{k}", int(m)) for k, m in enumerate(rng.integers(20, 60, size=18))],
        texts_test=[f"Unheard {text} unheard" for text in (review(rng, f"t{k}", 9) for k in range(12))],
        y_test=np.arange(12) % 2,
    )
    for k in (3, 5):
        data.texts[k] = f"first{k} second{k} opening words " + review(rng, f"long{k}", 130)
    monkeypatch.setattr(texts, "load_dataset", lambda name: data)
    return data


def tokens(text):
    return re.findall(r"[\w']+|[^\w\s]", re.sub(r"<[^>]*>", " ", text.lower()))


def grams(words, shortest, longest):
    """Whatever is said in so many words running."""
    return [
        " ".join(words[k : k + n]) for n in range(shortest, longest + 1) for k in range(len(words) - n + 1)
    ]


def matrices(parts, *views):
    """By scikit-learn, which texts have what the views find in them; the first two parts are known."""
    counters = [CountVectorizer(analyzer=found, min_df=least, binary=True) for found, least in views]
    for counter in counters:
        counter.fit([*parts[0], *parts[1]])
    names = [set(counter.vocabulary_) for counter in counters]
    return names, [
        np.hstack([counter.transform(part).toarray() for counter in counters]).astype(float) for part in parts
    ]


def assert_same_matrices(split, parts):
    for found, truth in zip((split.X, split.X_unlabeled, split.X_test), parts, strict=True):
        assert_allclose(found.toarray(), truth, rtol=1e-6)


@pytest.mark.parametrize("n", [1, 2])
def test_imdb_has_the_n_grams_of_two_known_reviews(corpus, n):
    parts = corpus.texts, corpus.unlabeled, corpus.texts_test
    (names,), truth = matrices(parts, (lambda text: grams(tokens(text), 1, n), 2))
    assert_same_matrices(texts.imdb(n), truth)
    assert not {"unheard", "l0a"} & names  # of the test only, and of one review
    assert "opening" in names


@pytest.mark.parametrize("n", [1, 2])
def test_imdb_as_published_has_tags_and_punctuation_with_the_words(corpus, n):
    parts = corpus.texts, corpus.unlabeled, corpus.texts_test
    (names,), truth = matrices(parts, (lambda text: grams(text.lower().split(), 1, n), 1))
    assert_same_matrices(texts.imdb_as_published(n), truth)
    assert {"well,<br", "/>i'm", "l0a"} <= names
    assert "unheard" not in names


def test_imdb_wide_has_four_grams_pairs_with_one_between_and_the_last_hundred_words(corpus):
    def pairs(text):
        words = tokens(text)
        return [f"{a} {b}" for a, b in zip(words, words[2:], strict=False)]

    parts = corpus.texts, corpus.unlabeled, corpus.texts_test
    (words, _, last), truth = matrices(
        parts,
        (lambda text: grams(tokens(text), 1, 4), 2),
        (pairs, 2),
        (lambda text: grams(tokens(text)[-100:], 1, 2), 2),
    )
    assert_same_matrices(texts.imdb_wide(), truth)
    assert "opening words" in words
    assert "opening words" not in last


def test_thirds_are_a_partition_of_the_texts(toys):
    parts = texts._thirds("rt", 3)
    assert [len(part) for part in (parts.labeled, parts.unlabeled, parts.test)] == [34, 33, 33]
    everything = [*Toy().texts, *Toy().texts_test]
    assert sorted([*parts.labeled, *parts.unlabeled, *parts.test]) == sorted(everything)
    for found, y in ((parts.labeled, parts.y), (parts.test, parts.y_test)):
        assert_array_equal([any(word in GOOD for word in text[:-1].split()) for text in found], y == 1)
    assert list(texts._thirds("rt", 3).labeled) == list(parts.labeled)
    assert list(texts._thirds("rt", 4).labeled) != list(parts.labeled)


def test_thirds_have_a_column_for_every_word_that_is_not_in_the_test_alone(corpus):
    cut = texts._thirds("rt", 3)
    parts = cut.labeled, cut.unlabeled, cut.test
    (names,), truth = matrices(parts, (tokens, 1))
    split = texts.unigrams_in_thirds("rt", 3)
    assert_same_matrices(split, truth)
    assert_array_equal(split.y, cut.y)
    assert_array_equal(split.y_test, cut.y_test)
    assert {word for text in cut.test for word in tokens(text)} - names


def test_more_features_are_words_bigrams_and_beginnings_in_rows_of_a_typical_length(corpus):
    """A row's squares sum to the median number of features of the labelled rows."""
    cut = texts._thirds("rt", 3)
    parts = cut.labeled, cut.unlabeled, cut.test

    def words(text):
        return re.findall(r"\w+", " ".join(tokens(text)))  # without punctuation

    _, truth = matrices(
        parts,
        (words, 1),
        (lambda text: grams(words(text), 2, 2), 2),
        (lambda text: [word[:4] for word in words(text)], 1),
    )
    counts = [part.sum(axis=1) for part in truth]
    typical = np.median(counts[0])
    assert typical not in (counts[0].mean(), np.median(counts[1]), np.median(np.concatenate(counts[:2])))
    scaled = [part * np.sqrt(typical / m)[:, None] for part, m in zip(truth, counts, strict=True)]
    assert_same_matrices(texts.more_in_thirds("rt", 3), scaled)


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


def noisy(rng, n=60):
    """Rows whose labels can be told only roughly, and more often one than the other."""
    X = (rng.random((n, 12)) < 0.4).astype(float)
    y = (X[:, 0] + X[:, 1] + rng.normal(size=n) > 0.3).astype(int)
    U = sparse.csr_array((rng.random((30, 12)) < 0.4).astype(float))
    return texts.Split(sparse.csr_array(X), y, U, sparse.csr_array(X), y)


@pytest.mark.parametrize("scoring", ["accuracy", "roc_auc"])
def test_every_method_s_score_is_the_mean_over_folds_of_what_is_asked_for(
    one_process, rng, monkeypatch, scoring
):
    monkeypatch.setattr(search, "SEARCH_TOL", 1e-8)
    split = noisy(rng)
    folds = list(StratifiedKFold(4).split(split.y, split.y))
    other = "roc_auc" if scoring == "accuracy" else "accuracy"
    for method, model in (
        (methods.Rival(MultinomialNB(), {"alpha": (0.1, 30.0)}), MultinomialNB()),
        (TheirPath((0.01, 1.0)), Theirs(tol=1e-6)),
        (methods.Dropout("gaussian", "uniform", (0.3,), (10.0, 0.1)), LogisticRegression(tol=1e-6)),
    ):
        found = method.tuned(split, folds, scoring)
        model.set_params(**found.chosen)
        mean, elsewhere = (
            cross_val_score(model, split.X, split.y, cv=folds, scoring=name).mean()
            for name in (scoring, other)
        )
        assert found.cv_score == pytest.approx(mean, abs=0.003)
        assert abs(mean - elsewhere) > 0.02


class Recorder:
    """A method that keeps what it was asked for."""

    def __init__(self, unlabeled):
        self.unlabeled = unlabeled
        self.asked = []

    def settings(self):
        return {"number": id(self)}

    def tuned(self, split, folds, scoring):
        self.asked.append((split, folds, scoring))
        return methods.Tuned(MultinomialNB().fit(split.X, split.y), {}, 0.5)


def assert_same_folds(found, truth):
    for pair in zip(found, truth, strict=True):
        for rows, others in zip(*pair, strict=True):
            assert_array_equal(rows, others)


def test_folds_are_blocks_in_order_or_shuffled_by_the_seed(rng):
    X = sparse.csr_array(rng.random((24, 3)))
    y = np.arange(24) % 2
    split, method = texts.Split(X, y, X, X, y), Recorder(False)
    for seed in (None, 0, 7):
        methods.tuned(split, method=method, folds=3, seed=seed)
    (blocks, zero, seven) = (folds for _, folds, _ in method.asked)
    assert_same_folds(blocks, [(np.delete(np.arange(24), rows), rows) for rows in np.split(np.arange(24), 3)])
    for folds, seed in ((zero, 0), (seven, 7)):
        assert_same_folds(folds, StratifiedKFold(3, shuffle=True, random_state=seed).split(y, y))
    assert zero[0][1].tolist() != seven[0][1].tolist()


def test_every_fit_is_scored_and_cut_into_folds_as_its_experiment_says(toys, monkeypatch):
    """Thirds by the ROC area and shuffled by the cut, IMDB in blocks, its curves shuffled by the draw."""
    asked = {label: Recorder(method.unlabeled) for label, method in toys.items()}
    for module in (thirds, imdb):
        monkeypatch.setattr(module, "METHODS", asked)
    monkeypatch.setattr(imdb_curves, "METHODS", {"L2": asked["L2"]})
    monkeypatch.setattr(imdb_curves, "WITH", {"gaussian + unlabelled": asked["gaussian + unlabelled"]})
    for experiment, scoring, shuffled in (
        (THIRDS, "roc_auc", True),
        (IMDB, "accuracy", False),
        (IMDB_CURVES, "accuracy", True),
    ):
        seeds = set()
        for fit in experiment.fits(False):
            method = asked.get(fit.method)
            if method is None or fit.parameters["settings"] != method.settings():
                continue  # the literature's, and the wide one
            fit.work(fit.rows())
            split, folds, score = method.asked.pop()
            assert score == scoring
            seed = {"random_state": fit.seed} if shuffled else {}
            cv = StratifiedKFold(fit.parameters["folds"], shuffle=shuffled, **seed)
            assert_same_folds(folds, cv.split(split.y, split.y))
            assert split.X.shape[0] == fit.parameters.get("labeled", len(split.y))
            seeds.add(fit.seed)
        assert len(seeds) == (2 if shuffled else 1)


def test_settings_name_everything_that_is_tuned():
    dropout = methods.Dropout("quadratic", "naive_bayes", (0.5, 0.3), (2.0,), (1.0, 0.7), unlabeled=True)
    settings = {
        "penalty": "quadratic",
        "ridge": "naive_bayes",
        "dropout": [0.5, 0.3],
        "l2": [2.0],
        "discount": [1.0, 0.7],
    }
    assert settings.items() <= dropout.settings().items()
    assert TheirPath((0.1, 3.0)).settings()["C"] == [0.1, 3.0]
    rival = methods.Rival(MultinomialNB(fit_prior=False), {"alpha": (0.1, 3.0)}).settings()
    assert rival["grid"] == {"alpha": [0.1, 3.0]}
    assert rival != methods.Rival(MultinomialNB(), {"alpha": (0.1, 3.0)}).settings()
    for method in methods.METHODS.values():
        assert json.loads(json.dumps(method.settings())) == method.settings()


def test_parameters_of_a_fit_have_its_method_s_settings_and_folds():
    for fit in THIRDS.fits(False):
        assert fit.parameters["settings"] == thirds.METHODS[fit.method].settings()
        assert fit.parameters["folds"] == (3 if fit.data == "imdb" else 5)
        assert fit.parameters["scoring"] == "roc_auc"
    for fit in IMDB.fits(False):
        published = imdb_results.PUBLISHED in fit.data
        method = (imdb.LITERATURE if published else methods.METHODS)[fit.method]
        settings = (imdb.WIDEST if fit.data == "wide" else method).settings()
        assert fit.parameters["settings"] == settings
        assert fit.parameters["folds"] == 3
    for fit in IMDB_CURVES.fits(False):
        with_more = fit.parameters["unlabeled"] > 0
        method = (imdb_curves.WITH if with_more else imdb_curves.METHODS)[fit.method]
        assert fit.parameters["settings"] == method.settings()


@pytest.mark.parametrize("unlabeled", [False, True])
def test_what_is_measured_is_the_estimator_with_what_was_chosen(toys, unlabeled):
    split = texts.more_in_thirds("rt", 0)
    ridge = "naive_bayes_unlabeled" if unlabeled else "naive_bayes"
    method = methods.Dropout("gaussian", ridge, (0.5, 0.3), (1.0,), unlabeled=unlabeled)
    result = methods.measured(split, method=method, folds=3, seed=0)
    rows = {"X_unlabeled": split.X_unlabeled} if unlabeled else {}
    settings = result["chosen"]
    assert settings["dropout"] in (0.5, 0.3)
    by_hand = LogisticRegression(**settings, ridge=ridge, tol=1e-6).fit(split.X, split.y, **rows)
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


PLAIN, NB = "gaussian", "gaussian, NB ridge"
MORE, ALL = "gaussian + unlabelled", "gaussian, NB ridge of all rows + unlabelled"


def line(data, method, accuracy, cv_score=0.5, seed=0, **parameters):
    """A line as it stands in the file."""
    result = {
        "accuracy": accuracy,
        "cv_score": cv_score,
        "log_loss": 1 - accuracy,
        "chosen": {},
        "labeled": 100,
        "features": 10,
        "test_rows": 400,
    }
    begun = {"experiment": "made", "data": data, "method": method, "seed": seed, "parameters": parameters}
    return begun | {"result": result, "seconds": 1.0, "versions": {}}


def made_thirds():
    """Two data sets, two cuts; the better a method is in cross-validation the worse it is in the test."""
    lines, expected = [], {}
    for d, data in enumerate(("rt", "subj")):
        for f, features in enumerate(("unigrams", "more features")):
            best = []
            for seed in (100, 101):
                low = 0.7 + 0.08 * d + 0.03 * f + 0.01 * (seed - 100)
                for method, accuracy, cv_score in (
                    ("L2", low, 0.99),
                    (PLAIN, low + 0.001, 0.8 + 0.02 * (seed - 100)),
                    (NB, low + 0.005, 0.81),
                    (MORE, low + 0.002, 0.83),
                    (ALL, low + 0.009, 0.82 + 0.02 * (seed - 100)),
                ):
                    lines.append(line(data, method, accuracy, cv_score, seed, features=features))
                # the first cut's best in cross-validation, then the second's
                best.append((low, low + (0.005, 0.001)[seed - 100], low + (0.002, 0.009)[seed - 100]))
            expected[data, features] = 100 * np.array(best)
    return lines, expected


def test_thirds_are_those_that_cross_validation_finds_best_and_not_the_test():
    lines, expected = made_thirds()
    tables = dict(zip(("unigrams", "more features"), THIRDS.collect(lines), strict=False))
    compared = {item.what.split()[0]: item for item in THIRDS.compare(lines) if "more features" in item.what}
    for (data, features), accuracy in expected.items():
        mine = [x for x in lines if x["data"] == data and x["parameters"]["features"] == features]
        for unlabeled, column in ((False, 1), (True, 2)):
            found = thirds_results.chosen(mine, unlabeled=unlabeled)
            assert [100 * x["result"]["accuracy"] for x in found] == pytest.approx(accuracy[:, column])
        (row,) = [row for row in tables[features].rows if row[0] == data]
        assert row[4:10:2] == [f"{mean:.2f}" for mean in accuracy.mean(axis=0)]
        assert row[5:10:2] == [f"{error:.2f}" for error in accuracy.std(axis=0, ddof=1) / np.sqrt(2)]
        if features == "more features":
            assert compared[data].ours == pytest.approx(accuracy[:, 2].mean())
            assert compared[data].error == pytest.approx(accuracy[:, 2].std(ddof=1) / np.sqrt(2))
            assert compared[data].paper == {"rt": 76.56, "subj": 91.48}[data]


def test_the_bars_of_thirds_are_as_wide_as_the_gains_over_l2():
    lines, expected = made_thirds()
    (figures,) = THIRDS.draw(lines).values()
    gains = [[75.18 - 73.49, 90.85 - 88.96, 76.56 - 73.49, 91.48 - 88.96]]
    for features in ("unigrams", "more features"):
        means = np.array([expected[data, features].mean(axis=0) for data in ("rt", "subj")])
        gains.append((means[:, 1:] - means[:, :1]).T.ravel())
    for figure, widths in zip(figures, gains, strict=True):
        (ax,) = figure.axes
        assert_allclose([bar.get_width() for bar in ax.patches], widths)
        assert [label.get_text() for label in ax.get_yticklabels()] == ["rt", "subj"]


def test_imdb_s_row_is_the_one_that_cross_validation_finds_best_with_a_binomial_error():
    lines = [
        line("bigrams", "L2", 0.99, 0.99),
        line("bigrams", PLAIN, 0.905, 0.92),
        line("bigrams", NB, 0.913, 0.91),
        line("bigrams", MORE, 0.921, 0.91),
        line("bigrams", ALL, 0.917, 0.93),
        line("bigrams", "quadratic", 0.88, 0.87),
        line("bigrams", "quadratic, NB ridge", 0.89, 0.86),
        line(f"bigrams, {imdb_results.PUBLISHED}", "MNB", 0.866, 0.9),
        line(f"bigrams, {imdb_results.PUBLISHED}", "NB-SVM", 0.912, 0.9),
    ]
    for among, unlabeled, method in (
        (methods.OURS, False, PLAIN),
        (methods.OURS, True, ALL),
        (methods.PAPERS, False, "quadratic"),
    ):
        assert imdb_results.chosen(lines, among, unlabeled=unlabeled)["method"] == method
    assert imdb_results.chosen(lines, methods.PAPERS, unlabeled=True) is None
    rows = {row[0]: row[1:] for row in IMDB.collect(lines)[0].rows}
    assert rows["Drop-Bi"] == ["91.31", "91.98", "90.50", "91.70", "-0.81", "-0.28"]
    assert rows["Drop-Bi, quadratic"][2:4] == ["88.00", "-"]
    compared = {item.what.replace(", per cent", ""): item for item in IMDB.compare(lines)}
    assert {what: item.ours for what, item in compared.items()} == pytest.approx(
        {
            "MNB-Bi: the rival": 86.6,
            "NBSVM-Bi: the rival": 91.2,
            "Drop-Bi: quadratic": 88.0,
            "Drop-Bi: ours": 90.5,
            "Drop-Bi + unlabelled: ours": 91.7,
        }
    )
    for item in compared.values():
        assert item.error == pytest.approx(np.sqrt(item.ours * (100 - item.ours) / 400))


def test_beginnings_leave_tags_out_and_punctuation_whole():
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
    compared = " ".join(x.what for x in IMDB.compare(lines))
    assert "Drop-Uni + unlabelled, per cent: ours" in compared
    assert "MNB-Uni, per cent: the rival" in compared
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


def test_the_right_table_has_points_with_unlabelled_rows_and_without(monkeypatch):
    monkeypatch.setattr(imdb_curves, "LEFT", (30, (0, 20, 40)))
    monkeypatch.setattr(imdb_curves, "RIGHT", ((20, 30), 25))
    left = {(30, 0, PLAIN): 0.71, (30, 20, MORE): 0.73, (30, 40, MORE): 0.74}
    right = {(20, 0, PLAIN): 0.61, (30, 0, PLAIN): 0.71, (20, 25, MORE): 0.63, (30, 25, MORE): 0.76}
    lines = [
        line("imdb", method, accuracy + shift, seed=seed, labeled=n, unlabeled=m)
        for (n, m, method), accuracy in (left | right).items()
        for seed, shift in enumerate((0.0, 0.02))
    ]
    tables = IMDB_CURVES.collect(lines)
    assert tables[0].header == ["method", "0", "±", "20", "±", "40", "±"]
    assert tables[0].rows == [
        [PLAIN, "72.00", "1.00", "-", "-", "-", "-"],
        [MORE, "-", "-", "74.00", "1.00", "75.00", "1.00"],
    ]
    assert tables[1].header == ["method", "20", "±", "30", "±"]
    assert tables[1].rows == [
        [PLAIN, "62.00", "1.00", "72.00", "1.00"],
        [MORE, "64.00", "1.00", "77.00", "1.00"],
    ]


@pytest.mark.parametrize(
    "method",
    [*methods.METHODS.values(), *methods.FEW_LABELS.papers().values(), *methods.FEW_LABELS.ours().values()],
)
def test_every_method_has_twelve_settings(method):
    settings = dict(method.settings())
    lists = (
        settings["grid"] if "grid" in settings else {k: v for k, v in settings.items() if isinstance(v, list)}
    )
    assert np.prod([len(values) for values in lists.values()]) == 12
