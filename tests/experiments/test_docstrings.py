"""Few labels and many texts without any, on made-up texts in place of docstrings."""

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression as Theirs
from sklearn.model_selection import cross_val_score

from dropglm import LogisticRegression, LogisticRegressionCV
from dropglm.experiments import EXPERIMENTS, docstrings
from tests.experiments.made import lines_of, page_of

DOCSTRINGS = EXPERIMENTS["docstrings"]
TOPICS = {"fruit": range(12), "tools": range(8, 20), "rivers": range(16, 28)}


def made_up(name, *, n_labeled, n_test, n_per_class, random_state):
    """Texts of six words of their topic's, which share some, and four of anybody's."""
    assert name == "docstrings"
    rng = np.random.default_rng(random_state)
    labels = rng.permutation(np.repeat(list(TOPICS), n_per_class))
    texts = np.array(
        [" ".join(f"w{k}" for k in [*rng.choice(TOPICS[label], 3), *rng.choice(40, 7)]) for label in labels],
        object,
    )
    ends = n_labeled + n_test
    return SimpleNamespace(
        texts=texts[:n_labeled],
        y=labels[:n_labeled],
        texts_test=texts[n_labeled:ends],
        y_test=labels[n_labeled:ends],
        unlabeled=texts[ends:],
    )


def small(patch):
    patch.setattr(docstrings, "load_dataset", made_up)
    patch.setattr(docstrings, "LABELS_QUICK", (24, 60))
    patch.setattr(docstrings, "PER_CLASS_QUICK", 100)
    patch.setattr(docstrings, "TEST_QUICK", 120)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("docstrings")
    docstrings.rows_of.cache_clear()
    with pytest.MonkeyPatch.context() as patch:
        small(patch)
        lines = lines_of("docstrings", DOCSTRINGS, folder)
    docstrings.rows_of.cache_clear()
    return folder, lines


def features(count, seed):
    """By scikit-learn's vectoriser, on which words our features must agree."""
    data = made_up("docstrings", n_labeled=count, n_test=120, n_per_class=100, random_state=seed)
    words = CountVectorizer(binary=True, min_df=2).fit([*data.texts, *data.unlabeled])
    return data, *(
        words.transform(texts).astype(float) for texts in (data.texts, data.unlabeled, data.texts_test)
    )


def cell(table, name, count, after=0):
    (row,) = [row for row in table.rows if row[0] == name]
    return row[table.header.index(f"{count} labels") + after]


@pytest.mark.parametrize("count", [24, 60])
def test_the_table_has_what_the_estimators_give_at_their_defaults(made, count):
    found = {"L2": [], "dropout": [], "dropout + unlabelled": []}
    for seed in range(2):
        data, X, unlabeled, X_test = features(count, seed)
        models = Theirs(max_iter=1000).fit(X, data.y), LogisticRegression().fit(X, data.y)
        more = LogisticRegression().fit(X, data.y, X_unlabeled=unlabeled)
        for name, model in zip(found, (*models, more), strict=True):
            found[name].append(model.score(X_test, data.y_test))
    accuracy, gains, more = DOCSTRINGS.collect(made[1])
    for name, scores in found.items():
        assert cell(accuracy, f"{name}, defaults", count) == f"{100 * np.mean(scores):.2f}"
        error = 100 * np.std(scores, ddof=1) / np.sqrt(2)
        assert cell(accuracy, f"{name}, defaults", count, 1) == f"{error:.2f}"
    gain = 100 * np.subtract(found["dropout"], found["L2"])
    assert cell(gains, "dropout, defaults", count) == f"{gain.mean():+.2f}"
    assert cell(gains, "dropout, defaults", count, 1) == f"{gain.std(ddof=1) / np.sqrt(2):.2f}"
    gain = 100 * np.subtract(found["dropout + unlabelled"], found["dropout"])
    assert cell(more, "dropout + unlabelled, defaults", count) == f"{gain.mean():+.2f}"
    assert len(more.rows) == 2


def test_tuned_is_the_best_in_cross_validation_on_labelled_texts(made):
    for line in made[1]:
        if line["method"] == "L2, tuned" and line["parameters"]["labels"] == 60:
            data, X, _, X_test = features(60, line["seed"])
            grid = line["parameters"]["settings"]["C"]
            scores = [cross_val_score(Theirs(C=C, max_iter=1000), X, data.y, cv=3).mean() for C in grid]
            best = grid[int(np.argmax(scores))]
            assert line["result"]["chosen"] == {"C": best}
            model = Theirs(C=best, max_iter=1000).fit(X, data.y)
            assert line["result"]["accuracy"] == pytest.approx(model.score(X_test, data.y_test))
        if line["method"] == "dropout + unlabelled, tuned":
            data, X, unlabeled, X_test = features(line["parameters"]["labels"], line["seed"])
            chosen = line["result"]["chosen"]
            assert all(chosen[name] in grid for name, grid in line["parameters"]["settings"].items())
            model = LogisticRegression(**chosen).fit(X, data.y, X_unlabeled=unlabeled)
            assert line["result"]["accuracy"] == pytest.approx(model.score(X_test, data.y_test), abs=0.01)


def test_texts_without_labels_join_the_search_and_the_fit_after_it():
    data, X, unlabeled, X_test = features(24, 0)
    rows = docstrings.Rows(X, data.y, unlabeled, X_test, data.y_test)
    method, grid = docstrings.METHODS["dropout + unlabelled, tuned"]
    found = method(rows, **grid)
    assert len(found.cv_results_["params"]) == 8  # without such texts there is one discount only
    more, fewer = (
        LogisticRegression(**found.best_params_).fit(X, data.y, X_unlabeled=X_unlabeled).coef_
        for X_unlabeled in (unlabeled, None)
    )
    np.testing.assert_allclose(found.coef_, more, atol=1e-3)
    assert np.abs(found.coef_ - fewer).max() > 0.01


def test_defaults_are_the_libraries_and_every_search_has_the_same_budget():
    for name, (_, settings) in docstrings.METHODS.items():
        if name.endswith("defaults"):
            library = Theirs() if name.startswith("L2") else LogisticRegression()
            assert settings.items() <= library.get_params().items()
        else:
            assert np.prod([len(values) for values in settings.values()]) == 8
            assert name.startswith("L2") or settings.keys() <= LogisticRegressionCV().get_params().keys()


def test_other_versions_have_other_texts():
    before = docstrings.fits(True)[0].parameters
    assert {"python", "numpy", "scipy", "scikit-learn"} <= before["of"].keys()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(docstrings, "version", lambda package: "0")
        assert docstrings.fits(True)[0].parameters != before


def test_it_is_drawn_without_a_fit(made, monkeypatch):
    small(monkeypatch)
    text = page_of("docstrings", DOCSTRINGS, made[0])
    assert text.count("<svg") == 1
    assert "texts with labels" in text
    assert text.count("dropout + unlabelled") >= 7  # two rows in each table, and the legend
