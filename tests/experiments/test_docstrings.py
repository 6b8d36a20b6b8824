"""Few labels and many unlabelled texts, on synthetic texts instead of docstrings."""

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression as SklearnLogisticRegression
from sklearn.model_selection import cross_val_score

from dropglm import LogisticRegression, LogisticRegressionCV
from dropglm.experiments import docstrings
from dropglm.experiments.texts import Split
from tests.experiments.stored import page_without_fits, run_lines

TOPICS = {"fruit": range(12), "tools": range(8, 20), "rivers": range(16, 28)}


def synthetic(name, *, n_labeled, n_test, n_per_class, random_state):
    """Return texts with three words of their topic, some of them shared, and seven words of any topic."""
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


SMALL = docstrings.Docstrings(
    quick=docstrings.DocstringsSize(labels=(24, 60), seeds=2, per_class=100, test=120), load=synthetic
)


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    folder = tmp_path_factory.mktemp("docstrings")
    return folder, run_lines("docstrings", SMALL, folder)


def features(count, seed):
    """Return features made by scikit-learn's vectorizer, with which ours must agree."""
    data = synthetic("docstrings", n_labeled=count, n_test=120, n_per_class=100, random_state=seed)
    words = CountVectorizer(binary=True, min_df=2).fit([*data.texts, *data.unlabeled])
    return data, *(
        words.transform(texts).astype(float) for texts in (data.texts, data.unlabeled, data.texts_test)
    )


def cell(table, name, count, after=0):
    (row,) = [row for row in table.rows if row[0] == name]
    return row[table.header.index(f"{count} labels") + after]


@pytest.mark.parametrize("count", [24, 60])
def test_the_table_has_the_accuracy_of_the_estimators_with_defaults(stored, count):
    found = {"L2": [], "dropout": [], "dropout + unlabelled": []}
    for seed in range(2):
        data, X, unlabeled, X_test = features(count, seed)
        models = SklearnLogisticRegression(max_iter=1000).fit(X, data.y), LogisticRegression().fit(X, data.y)
        more = LogisticRegression().fit(X, data.y, X_unlabeled=unlabeled)
        for name, model in zip(found, (*models, more), strict=True):
            found[name].append(model.score(X_test, data.y_test))
    accuracy, gains, more = SMALL.tabulate(stored[1])
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


def test_tuned_is_the_best_in_cross_validation_on_labelled_texts(stored):
    for line in stored[1]:
        if line["method"] == "L2, tuned" and line["parameters"]["labels"] == 60:
            data, X, _, X_test = features(60, line["seed"])
            grid = line["parameters"]["settings"]["C"]
            scores = [
                cross_val_score(SklearnLogisticRegression(C=C, max_iter=1000), X, data.y, cv=3).mean()
                for C in grid
            ]
            best = grid[int(np.argmax(scores))]
            assert line["result"]["chosen"] == {"C": best}
            model = SklearnLogisticRegression(C=best, max_iter=1000).fit(X, data.y)
            assert line["result"]["accuracy"] == pytest.approx(model.score(X_test, data.y_test))
        if line["method"] == "dropout + unlabelled, tuned":
            data, X, unlabeled, X_test = features(line["parameters"]["labels"], line["seed"])
            chosen = line["result"]["chosen"]
            assert all(chosen[name] in grid for name, grid in line["parameters"]["settings"].items())
            model = LogisticRegression(**chosen).fit(X, data.y, X_unlabeled=unlabeled)
            assert line["result"]["accuracy"] == pytest.approx(model.score(X_test, data.y_test), abs=0.01)


def test_unlabelled_texts_are_used_in_the_search_and_in_the_final_fit():
    data, X, unlabeled, X_test = features(24, 0)
    texts = Split(X, data.y, unlabeled, X_test, data.y_test)
    found = docstrings.METHODS["dropout + unlabelled, tuned"].fit(texts)
    assert len(found.cv_results_["params"]) == 8  # without unlabelled texts there would be one discount only
    more, fewer = (
        LogisticRegression(**found.best_params_).fit(X, data.y, X_unlabeled=X_unlabeled).coef_
        for X_unlabeled in (unlabeled, None)
    )
    np.testing.assert_allclose(found.coef_, more, atol=1e-3)
    assert np.abs(found.coef_ - fewer).max() > 0.01


def test_defaults_are_those_of_the_libraries_and_all_searches_have_the_same_budget():
    for name, (_, settings, _) in docstrings.METHODS.items():
        if name.endswith("defaults"):
            library = SklearnLogisticRegression() if name.startswith("L2") else LogisticRegression()
            assert settings.items() <= library.get_params().items()
        else:
            assert np.prod([len(values) for values in settings.values()]) == 8
            assert name.startswith("L2") or settings.keys() <= LogisticRegressionCV().get_params().keys()


def test_versions_of_the_packages_are_part_of_the_identity():
    before = SMALL.fits(True)[0].parameters
    assert {"python", "numpy", "scipy", "scikit-learn"} <= before["of"].keys()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(docstrings, "version", lambda package: "0")
        assert SMALL.fits(True)[0].parameters != before


def test_the_page_is_made_without_fits(stored):
    text = page_without_fits("docstrings", SMALL, stored[0])
    assert text.count("<svg") == 1
    assert "labelled texts" in text
    assert text.count("dropout + unlabelled") >= 7  # two rows in each table, and the legend
