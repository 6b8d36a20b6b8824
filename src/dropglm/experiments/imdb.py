"""The IMDB table: naive Bayes, NB-SVM, dropout, each with labelled rows alone and with unlabelled ones.

25,000 labelled, 50,000 unlabelled and 25,000 test reviews, the data set's own split. The paper's claim:
dropout gains from unlabelled rows even where labels are many, and is ahead of all methods of its day.
"""

import time
from collections.abc import Callable
from functools import partial
from typing import Any

from sklearn.base import clone
from sklearn.naive_bayes import MultinomialNB

from dropglm.baselines import NBSVM, SemiSupervisedNaiveBayes
from dropglm.experiments.experiment import Experiment, Fit
from dropglm.experiments.imdb_results import NGRAMS, PUBLISHED, WIDE, collect, compare, draw
from dropglm.experiments.methods import METHODS, OURS, PAPERS, Dropout, Method, Rival, measured, scored, tuned
from dropglm.experiments.texts import LAST, MIN_DF, Split, imdb, imdb_as_published, imdb_wide

FOLDS = 3
# Seconds on unigrams, and how much longer on more; others take 4, or 18 with unlabelled rows.
COST = {"MNB": 2.0, "MNB, SFE": 3.0, "MNB, EM": 38.0, "NB-SVM": 7.0, "L2": 9.0, "entropy": 60.0}
LARGER = {1: 1.0, 2: 5.0, 3: 9.0}
# Naive Bayes counts every n-gram, which makes trigrams no better; entropy takes as long as all others.
TRIGRAMS = ("NB-SVM", "L2", *PAPERS, *OURS)
# One setting, the literature's, to see whether the rivals are what they should be.
LITERATURE: dict[str, Rival] = {
    "MNB": Rival(MultinomialNB(), {"alpha": (1.0,)}),
    "MNB, SFE": Rival(SemiSupervisedNaiveBayes(), {"alpha": (1.0,)}, unlabeled=True),
    "NB-SVM": Rival(NBSVM(random_state=0), {"C": (1.0,), "beta": (0.25,)}),
}
WIDEST = Dropout(
    "gaussian", "naive_bayes_unlabeled", dropout=(0.6, 0.5), l2=(0.3, 0.1), discount=(1.0,), unlabeled=True
)

PROTOCOL = (
    "IMDB's own split: 25,000 labelled, 50,000 unlabelled, 25,000 test reviews. Features: which n-grams a "
    "review has, words and punctuation, in lower case, in two or more of the reviews that are not for the "
    "test. Every method has twelve settings to choose from, by accuracy of three-fold cross-validation on "
    "labelled rows; a fold is a block of the file, so that it is about other films than the rest, as the "
    "test set is. 'cut at white space' are the rivals with the tokens and settings of the literature, and "
    "nothing tuned: are they as good as reported? 'wide' adds to 1- to 4-grams pairs of words with one "
    "between them, and the 1- and 2-grams of a review's last 100 words; four settings. What is set beside "
    "the paper is, for each size of n-grams, the row of ours that cross-validation finds best. ± in the "
    "summary is the binomial standard error of an accuracy on the test rows, about 0.2 points. Vect.Sent "
    "(Maas and others 2011) is not run here; its figure is the published one."
)


def fits(quick: bool) -> list[Fit]:
    """All fits, matrix by matrix; there is nothing to do without the data set."""
    if quick:
        return []
    found = []
    for n, words in NGRAMS.items():
        ours = {"ngrams": [1, n], "min_df": MIN_DF}
        for label in TRIGRAMS if n == 3 else METHODS:
            cost = COST.get(label, 18.0 if METHODS[label].unlabeled else 4.0) * LARGER[n]
            found.append(_fit(words, label, METHODS[label], ours, partial(imdb, n), cost))
        if n < 3:
            theirs = {"ngrams": [1, n], "min_df": 1, "tokens": "white space"}
            cut = partial(imdb_as_published, n)
            for label, method in LITERATURE.items():
                found.append(_fit(f"{words}, {PUBLISHED}", label, method, theirs, cut, LARGER[n]))
    views = {"ngrams": [1, 4], "one_between": True, "ngrams_of_last_words": [1, 2], "last_words": LAST}
    parameters = _parameters(WIDEST, views | {"min_df": MIN_DF})
    found.append(Fit(WIDE, list(OURS)[-1], 0, parameters, imdb_wide, trained, 400.0))
    return found


def _parameters(method: Method, features: dict[str, Any]) -> dict[str, Any]:
    return {"features": features, "folds": FOLDS, "scoring": "accuracy", "settings": method.settings()}


def _fit(
    data: str, label: str, method: Method, features: dict[str, Any], load: Callable[[], Split], cost: float
) -> Fit:
    work = partial(measured, method=method, folds=FOLDS, seed=None)
    return Fit(data, label, 0, _parameters(method, features), load, work, cost)


def trained(split: Split) -> dict[str, Any]:
    """The same for the wide matrix, and how long training takes with settings that are known."""
    found = tuned(split, method=WIDEST, folds=FOLDS, seed=None)
    start = time.perf_counter()
    clone(found.model).set_params(n_jobs=-1).fit(split.X, split.y, X_unlabeled=split.X_unlabeled)
    return scored(found, split) | {"training_seconds": round(time.perf_counter() - start, 1)}


IMDB = Experiment(
    title="IMDB: dropout against its rivals, with and without unlabelled reviews",
    summary="test accuracy of all rows of the paper's IMDB table, and of trigrams",
    data=("imdb",),
    takes="55 minutes",
    takes_quick="",
    protocol=PROTOCOL,
    fits=fits,
    collect=collect,
    draw=draw,
    compare=compare,
)
