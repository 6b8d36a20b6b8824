"""Toys for the experiments on texts."""

import pytest
from sklearn.linear_model import LogisticRegressionCV as TheirSearch
from sklearn.naive_bayes import MultinomialNB

from dropglm.experiments import imdb, imdb_curves, imdb_results, methods, texts, thirds, thirds_results
from tests.experiments.toys import Toy

SMALL: dict = {"dropout": (0.5,), "l2": (1.0, 10.0)}
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
    return few
