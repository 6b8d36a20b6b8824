"""Small instances of the experiments on texts."""

from types import SimpleNamespace

import pytest
from sklearn.naive_bayes import MultinomialNB

from dropglm.baselines import SentimentVectors
from dropglm.experiments import IMDB, IMDBCurves, Thirds, methods
from tests.experiments.toys import ToyDataset

SMALL: dict = {"dropout": (0.5,), "l2": (1.0, 10.0)}


@pytest.fixture
def few_methods():
    """Methods with at most two settings each."""
    gaussian = methods.DropoutMethod("gaussian", "uniform", **SMALL)
    return {
        "MNB": methods.Baseline(MultinomialNB(), {"alpha": (0.1, 1.0)}),
        # Starting more processes takes longer than fits of this size.
        "L2": methods.SklearnL2((0.1, 1.0), n_jobs=1),
        "gaussian": gaussian,
        "gaussian + unlabelled": methods.DropoutMethod("gaussian", "uniform", **SMALL, unlabeled=True),
        "gaussian, NB ridge of all rows + unlabelled": methods.DropoutMethod(
            "gaussian", "naive_bayes_unlabeled", **SMALL, unlabeled=True
        ),
    }


@pytest.fixture
def load():
    """A ``load_dataset`` that returns a toy for every name; a new one per test, so that no cache has it."""
    return lambda name: ToyDataset()


@pytest.fixture
def small(few_methods, load):
    """Three experiments with toy data, few methods and few seeds."""
    names = tuple(few_methods)
    left = {"fixed_labeled": 30, "unlabeled_counts": (0, 20, 40)}
    right = {"labeled_counts": (20, 30), "fixed_unlabeled": 25}
    return SimpleNamespace(
        thirds=Thirds(
            data=("rt", "imdb"),
            seeds=2,
            seeds_imdb=1,
            methods=few_methods,
            compared={"unigrams": names, "more features": names[1:]},
            load=load,
        ),
        imdb=IMDB(
            methods=few_methods,
            trigrams=names[1:],
            wide_method=few_methods[names[-1]],
            vectors=SentimentVectors(4, n_stop=0, max_iter=5, random_state=0),
            load=load,
        ),
        curves=IMDBCurves(**left, **right, seeds=2, load=load),
    )
