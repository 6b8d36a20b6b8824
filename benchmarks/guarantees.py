"""Predictions with a guarantee: whether they keep it, how much they answer, and which texts are noticed.

One model per set and seed learns from 1,000 texts. The other texts are a pool, from which calibration texts
are drawn 200 times; all the others are the texts to come. A draw exceeds its bound if more of the answers for
these are wrong than it allows. Beside it are the same bounds with every number of answers from the first at
which anything is accepted (plain fixed-sequence testing), the largest share at which the error of the pool
is as wanted (oracle), and all texts with a probability above 0.95.

Of the estimates, which rest on folds, each is of another fit of a model to 300 texts.

For texts of another kind, batches of 50 have 10 texts of another set, or none. The statistics were chosen on
news among which are film reviews; the other pairs had no part in that.

The tables go into docs/guides/guarantees.md.

    DROPGLM_DATA=… python -m benchmarks.guarantees [bounds] [sets] [folds] [batches]
"""

import sys
import warnings
from collections.abc import Iterator
from functools import cache

import numpy as np
from scipy.special import bdtr

from benchmarks.markdown import ROOT, fill, table
from benchmarks.text import read
from dropglm import TextClassifier
from dropglm.text.guarantees import Curve, Evidence, rows_needed

SETS, SEEDS, TRAINING, DRAWS = ("subj", "20news", "emotion6"), 2, 1_000, 200
CALIBRATION, ERRORS, CONFIDENCE, COVERAGE = (100, 300, 1_000), (0.05, 0.1), 0.9, 0.9
CHOSEN_ON = (("20news", "imdb"), ("20news", "rt"))
OTHERS = (("banking77", "emotion6"), ("emotion6", "goemotions_ml"), ("imdb2k", "20news"), ("subj", "rt"))
TYPICAL_TRAINING, BATCHES, BATCH, MIXED, REPEATS = (100, 1_000), 25, 50, 10, 40
PAGE = ROOT / "docs" / "guides" / "guarantees.md"


@cache
def texts_of(name: str) -> tuple[list[str], np.ndarray]:
    """Return texts and labels; of IMDB and GoEmotions, the labels are not used."""
    data = read(name)
    column = {"20news": "group", "goemotions_ml": "text"}.get(name, "label")
    return data["text"].to_list(), np.array(data[column].to_list())


def fitted(name: str, seed: int, n: int) -> tuple[TextClassifier, np.ndarray]:
    """Return a model of n texts, and the places of all other texts, in random order."""
    X, y = texts_of(name)
    rows = np.random.default_rng(seed).permutation(len(X))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = TextClassifier(n_jobs=-1).fit([X[row] for row in rows[:n]], y[rows[:n]])
    return model, rows[n:]


@cache
def pool(name: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the probabilities and the numbers of the classes of all texts that were not trained on."""
    (X, y), (model, rest) = texts_of(name), fitted(name, seed, TRAINING)
    return model.predict_proba([X[row] for row in rest]), np.searchsorted(model.classes_, y[rest])


def draws(name: str, n: int) -> Iterator[tuple[Evidence, np.ndarray, np.ndarray]]:
    """Yield evidence, and the probabilities and classes of the texts to come, of each draw."""
    for draw in range(DRAWS):
        P, truth = pool(name, draw % SEEDS)
        some = np.random.default_rng(1_000 + draw).permutation(len(P))
        yield Evidence.of(P[some[:n]], truth[some[:n]], "guarantee"), P[some[n:]], truth[some[n:]]


def plain_threshold(evidence: Evidence, max_error: float) -> float:
    """Return the threshold if every number of answers is tested, from the first that can be accepted."""
    order = np.argsort(-evidence.top, kind="stable")
    top, wrong = evidence.top[order], np.cumsum(~evidence.right[order])
    count = np.arange(int(rows_needed(max_error, CONFIDENCE)), len(top) + 1)
    failed = bdtr(wrong[count - 1].astype(float), count, max_error) > 1.0 - CONFIDENCE
    passed = count[: int(failed.argmax()) if failed.any() else len(count)]
    return float(np.append(top, 0.0)[passed[-1]]) if len(passed) else 1.0


def bounds() -> None:
    rows = []
    for name in SETS:
        for max_error in ERRORS:
            for n in CALIBRATION:
                found = []
                for evidence, P, truth in draws(name, n):
                    top, right = P.max(axis=1), P.argmax(axis=1) == truth
                    own = evidence.selective(max_error, CONFIDENCE).answers(P)
                    plain, naive = top > plain_threshold(evidence, max_error), top > 0.95
                    exceeds = [
                        bool(some.any()) and (~right[some]).mean() > max_error for some in (own, naive)
                    ]
                    oracle = Curve.of(P, truth).share_at(max_error)
                    found.append([exceeds[0], own.mean(), plain.mean(), oracle, exceeds[1], naive.mean()])
                means = np.mean(found, axis=0)
                print(name, max_error, n, means.round(3), flush=True)
                cells = [f"{means[0]:.3f}", *(f"{share:.3f}" for share in means[1:4])]
                rows.append(
                    [name, f"{100 * max_error:g} %", f"{n:,}", *cells, f"{means[5]:.3f}", f"{means[4]:.2f}"]
                )
    header = ["texts", "error", "held-out texts", "exceeded", "answered", "plain", "oracle", "above 0.95"]
    fill(PAGE, "bounds", table([*header, "exceeded by these"], rows))


def sets() -> None:
    rows = []
    for name in SETS:
        for n in CALIBRATION:
            found = []
            for evidence, P, truth in draws(name, n):
                chosen = evidence.label_sets(P, COVERAGE)
                pairs = zip(chosen, truth.tolist(), strict=True)
                found.append([np.mean([own in some for some, own in pairs]), np.mean([*map(len, chosen)])])
            accuracy = np.mean(
                [(P.argmax(axis=1) == truth).mean() for P, truth in (pool(name, 0), pool(name, 1))]
            )
            coverage, size = np.mean(found, axis=0)
            print(name, n, coverage, size, flush=True)
            rows.append([name, f"{n:,}", f"{coverage:.3f}", f"{size:.2f}", f"{accuracy:.3f}"])
    header = ["texts", "held-out texts", "mean coverage", "labels per set", "accuracy"]
    fill(PAGE, "sets", table(header, rows))


def folds() -> None:
    rows = []
    for name, fits in (("subj", 40), ("emotion6", 40)):
        found = []
        for seed in range(fits):
            (X, y), (model, rest) = texts_of(name), fitted(name, seed, 300)
            rest = rest[:2_000]
            P = model.predict_proba([X[row] for row in rest])
            own = model.selective(0.1, CONFIDENCE).answers(P)
            right = P.argmax(axis=1) == np.searchsorted(model.classes_, y[rest])
            found.append([bool(own.any()) and (~right[own]).mean() > 0.1, own.mean()])
        exceeded, share = np.mean(found, axis=0)
        print(name, exceeded, share, flush=True)
        rows.append([name, "10 %", "300", f"{fits}", f"{exceeded:.2f}", f"{share:.3f}"])
    fill(PAGE, "folds", table(["texts", "error", "training texts", "fits", "exceeded", "answered"], rows))


def batches() -> None:
    rows = []
    for (home, other), chosen in [*((pair, "yes") for pair in CHOSEN_ON), *((pair, "no") for pair in OTHERS)]:
        for n in TYPICAL_TRAINING:
            (X, y), (Z, _), warned = texts_of(home), texts_of(other), []
            for seed in range(REPEATS):
                draw = np.random.default_rng(seed)
                place = draw.permutation(len(X))
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    texts = [X[row] for row in place[:n]]
                    # One iteration: the coefficients do not matter here.
                    model = TextClassifier(tune=False, max_iter=1).fit(texts, y[place[:n]])
                for _ in range(BATCHES):
                    new = [X[row] for row in draw.choice(place[n:], BATCH, replace=False)]
                    strange = [Z[row] for row in draw.choice(len(Z), MIXED, replace=False)]
                    both = (
                        model.compare_with_training(new),
                        model.compare_with_training(new[MIXED:] + strange),
                    )
                    warned.append([found is not None and found.is_unusual for found in both])
            alarms, detected = np.mean(warned, axis=0)
            print(home, other, n, alarms, detected, flush=True)
            rows.append([home, other, chosen, f"{n:,}", f"{detected:.3f}", f"{alarms:.3f}"])
    header = ["texts", "10 of 50 from", "chosen on them", "training texts", "noticed", "false alarms"]
    fill(PAGE, "batches", table(header, rows))


if __name__ == "__main__":
    for part in sys.argv[1:] or ("bounds", "sets", "folds", "batches"):
        globals()[part]()
