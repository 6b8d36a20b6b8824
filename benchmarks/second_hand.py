"""Second-hand labels, simulated: few labels by hand, and many answers of a source that is often right.

Of three data sets, 50 texts have a label by hand and 2,000 others an answer that is right with a
probability of 0.7 or 0.9; half of the wrong answers are one and the same class, and the others are any class.
A useless source answers at random. The model with both is compared with those of each kind alone: labels by
hand, where all others are unlabelled texts, and answers that are taken for labels. A third of the texts, at
most 3,000, are test texts. The table goes into docs/guides/second-hand-labels.md.

    DROPGLM_DATA=… python -m benchmarks.second_hand
"""

from typing import Any

import numpy as np

from benchmarks.markdown import ROOT, fill, table
from dropglm import TextClassifier, load_dataset
from dropglm.experiments.few_labels import cut

SETS, SEEDS, BY_HAND, ANSWERED = ("subj", "emotion6", "news4"), 3, 50, 2_000
SOURCES = {"right in 70 %": 0.7, "right in 90 %": 0.9, "useless": None}
HEADER = ["texts", "source", "by hand alone", "answers alone", "both", "both minus the better one"]


def answers(truth: np.ndarray, right: float | None, seed: int) -> np.ndarray:
    """Return the answers of a source that is right with this probability, or answers at random."""
    draw, classes = np.random.default_rng(seed), np.unique(truth)
    found = draw.choice(classes, len(truth))
    if right is None:
        return found
    biased = draw.random(len(truth)) < 0.5
    found[biased] = classes[seed % len(classes)]
    again = found == truth
    found[again] = draw.choice(classes, int(again.sum()))
    return np.where(draw.random(len(truth)) < right, truth, found)


def accuracies(name: str, seed: int) -> dict[str, list[float]]:
    """Return, by source, the accuracies of labels by hand alone, of answers alone, and of both."""
    split = cut(name, BY_HAND + ANSWERED, seed, 0, load_dataset, test=3_000)
    # The first labels are of every class, so those by hand are a part of them that is, too.
    order = _few_first(np.asarray(split.y), np.random.default_rng(seed))
    X, y = np.asarray(split.X, object)[order], np.asarray(split.y)[order]
    hand = np.array([*y[:BY_HAND], *[None] * ANSWERED], object)

    def accuracy(labels: object, **more: Any) -> float:
        model = TextClassifier(n_jobs=2).fit(X.tolist(), labels, **more)
        return 100 * float(np.mean(model.predict(list(split.X_test)) == split.y_test))

    alone, found = accuracy(hand), {}
    for source, right in SOURCES.items():
        second = answers(y, right, seed)
        second_alone = accuracy(second)
        found[source] = [alone, second_alone, accuracy(hand, second_labels=second.tolist())]
        print(name, seed, source, *(f"{value:.1f}" for value in found[source]), flush=True)
    return found


def _few_first(y: np.ndarray, draw: np.random.Generator) -> np.ndarray:
    """Return an order in which the texts that come first have at least two of every class."""
    order = draw.permutation(len(y))
    first = [k for c in np.unique(y) for k in order[y[order] == c][:2]]
    return np.array([*first, *(k for k in order if k not in set(first))])


def main() -> None:
    rows, gains = [], []
    for name in SETS:
        several = [accuracies(name, seed) for seed in range(SEEDS)]
        for source, right in SOURCES.items():
            hand, second, both = np.mean([own[source] for own in several], axis=0)
            gain = both - (hand if right is None else max(hand, second))
            gains += [] if right is None else [gain]
            rows.append([name, source, *(f"{value:.1f}" for value in (hand, second, both)), f"{gain:+.1f}"])
    rows.append(["mean of the first two sources", "", "", "", "", f"{np.mean(gains):+.1f}"])
    print(table(HEADER, rows))
    fill(ROOT / "docs" / "guides" / "second-hand-labels.md", "second-hand", table(HEADER, rows))


if __name__ == "__main__":
    main()
