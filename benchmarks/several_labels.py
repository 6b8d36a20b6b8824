"""Several labels per text: our classifier, with and without unlabelled texts, and one tf-idf model per label.

GoEmotions has 28 labels. 4,000 texts are test texts, some others have labels, and 5,000 more have none. The
rival is scikit-learn's TfidfVectorizer with one logistic regression per label; C is one of ten values, by log
loss in five folds, and each label's threshold is the one with the best F1 of the held-out texts, or there is
a common one. BLAS has one thread, which is faster than two here. A label that no text of a fit has is never
predicted. The table goes into docs/guides/several-labels.md.

    DROPGLM_DATA=… python -m benchmarks.several_labels [NUMBER OF LABELLED TEXTS …]
"""

import sys
import time
import warnings
from collections.abc import Iterator

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.model_selection import KFold
from threadpoolctl import threadpool_limits

from benchmarks.markdown import ROOT, fill, table
from benchmarks.text import read
from dropglm import TextClassifier

SIZES, SEEDS, TEST, UNLABELED = (300, 1_000, 11_000), 2, 4_000, 5_000
CS = np.logspace(-2, 3, 10)
HEADER = ["labelled texts", "method", "micro F1", "macro F1", "log loss", "seconds"]
SMALLEST = 1e-6  # probability, for log losses


def best_threshold(p: np.ndarray, y: np.ndarray) -> float:
    """Return the threshold with the best F1, of all that make a difference."""
    order = np.argsort(-p)
    f1 = np.cumsum(y[order]) / (np.arange(1, len(p) + 1) + y.sum())
    best = int(np.argmax(f1))
    return float((p[order[best]] + (p[order[best + 1]] if best + 1 < len(p) else 0.0)) / 2)


def tfidf(X: list[str], Y: np.ndarray, X_test: list[str], *, common: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return probabilities of test texts, and thresholds, one per label or a common one."""
    vectorizer = TfidfVectorizer(sublinear_tf=True)
    A, B = vectorizer.fit_transform(X), vectorizer.transform(X_test)
    P, thresholds = np.zeros((len(X_test), Y.shape[1])), np.ones(Y.shape[1])
    every = np.zeros(Y.shape)
    splits = list(KFold(5, shuffle=True, random_state=0).split(X))
    for k in np.flatnonzero(Y.any(axis=0)):
        y, held_out = Y[:, k], np.zeros((len(CS), len(X)))
        for train, test in splits:
            if not y[train].any():
                continue
            for c, C in enumerate(CS):
                model = LogisticRegression(C=C, solver="liblinear", max_iter=1000).fit(A[train], y[train])
                held_out[c, test] = model.predict_proba(A[test])[:, 1]
        p = np.clip(held_out, SMALLEST, 1.0 - SMALLEST)
        c = int(np.argmax(np.mean(y * np.log(p) + (1 - y) * np.log(1.0 - p), axis=1)))
        P[:, k] = (
            LogisticRegression(C=CS[c], solver="liblinear", max_iter=1000).fit(A, y).predict_proba(B)[:, 1]
        )
        thresholds[k], every[:, k] = best_threshold(held_out[c], y), held_out[c]
    if common:
        thresholds[Y.any(axis=0)] = best_threshold(every.ravel(), Y.ravel())
    return P, thresholds


def ours(
    X: list[str], Y: np.ndarray, X_test: list[str], U: list[str] | None
) -> tuple[np.ndarray, np.ndarray]:
    """Return probabilities of test texts, and thresholds."""
    used = np.flatnonzero(Y.any(axis=0))
    model = TextClassifier(n_jobs=-1).fit(X, Y[:, used], X_unlabeled=U)
    P, thresholds = np.zeros((len(X_test), Y.shape[1])), np.ones(Y.shape[1])
    P[:, used], thresholds[used] = model.predict_proba(X_test), model.model_.thresholds_
    return P, thresholds


def results(n: int, seed: int) -> Iterator[tuple[str, list[float]]]:
    """Yield the scores of each method on one split."""
    data = read("goemotions_ml")
    rows = np.random.default_rng(seed).permutation(len(data))
    texts, tags = data["text"].to_list(), data["labels"].to_list()
    labels = sorted({tag for own in tags for tag in own})
    Y = np.array([[label in own for label in labels] for own in tags]).astype(int)
    test, some, others = np.split(rows, [TEST, TEST + n])
    X, X_test, U = ([texts[k] for k in part] for part in (some, test, others[:UNLABELED]))
    methods = {
        "tf-idf, a threshold per label": lambda: tfidf(X, Y[some], X_test, common=False),
        "tf-idf, one threshold": lambda: tfidf(X, Y[some], X_test, common=True),
        "TextClassifier": lambda: ours(X, Y[some], X_test, None),
        "TextClassifier + unlabelled": lambda: ours(X, Y[some], X_test, U),
    }
    for name, fit in methods.items():
        start = time.perf_counter()
        with threadpool_limits(1, "blas"), warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            warnings.filterwarnings("ignore", "The .* texts without labels did not improve", UserWarning)
            P, thresholds = fit()
        seconds = time.perf_counter() - start
        p, truth = np.clip(P, SMALLEST, 1.0 - SMALLEST), Y[test]
        f1 = [
            100 * f1_score(truth, thresholds < P, average=kind, zero_division=0)
            for kind in ("micro", "macro")
        ]
        loss = -np.mean(truth * np.log(p) + (1 - truth) * np.log(1.0 - p))
        yield name, [*f1, loss, seconds]


def main(sizes: tuple[int, ...]) -> None:
    rows = []
    for n in sizes:
        found: dict[str, list[list[float]]] = {}
        for seed in range(SEEDS):
            for name, scores in results(n, seed):
                found.setdefault(name, []).append(scores)
                print(n, seed, name, *(f"{score:.4f}" for score in scores), flush=True)
        for name, several in found.items():
            micro, macro, loss, seconds = np.mean(several, axis=0)
            rows.append([f"{n:,}", name, f"{micro:.1f}", f"{macro:.1f}", f"{loss:.4f}", f"{seconds:.1f}"])
    print(table(HEADER, rows))
    if sizes == SIZES:
        fill(ROOT / "docs" / "guides" / "several-labels.md", "several-labels", table(HEADER, rows))


if __name__ == "__main__":
    main(tuple(map(int, sys.argv[1:])) or SIZES)
