"""Tags of tokens: conditional random fields under dropout, as in the paper's follow-up.

    minimise  Σ_i loss_i + n/(n + αm) (R(θ) + α R_unlabelled(θ)) + ½λ‖θ‖²

Wang, Wang, Wager, Liang and Manning (Feature Noising for Log-linear Structured Prediction, EMNLP 2013) carry
the quadratic penalty over to sequences. They gain more than one point over L2 on names in English news.
"""

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from dropglm.datasets import load_dataset
from dropglm.experiments.experiment import Comparison, Experiment, MissingMethodError, PlannedData, PlannedFit
from dropglm.experiments.results import Lines, Score, Unit, mean_of, table
from dropglm.experiments.texts import Load
from dropglm.plots.pages import ResultTable
from dropglm.sequences import SequenceTagger, entity_scores, word_features
from dropglm.sequences.metrics import known_pairs

GENERATED, CHUNKS = "generated", "conll2000"
SETS = (CHUNKS, "conll2002_esp", "conll2002_ned")
LABELS = (100, 300, 1000)
HELD_OUT = 936  # training sentences of CoNLL-2000, which has no validation set, that choose the settings
CHOSEN_WITH = 2_500  # sentences that choose the settings for all
MOST_UNLABELED = 1_000
TOL = 1e-2  # on CoNLL-2000, F1 is then within 0.05 points of that at 2e-3

NONE, L2, DROPOUT, UNLABELED = "next to no penalty", "L2", "dropout", "dropout + unlabelled"
FIXED, CRFSUITE = "dropout, fixed marginals", "CRFsuite"
BETTER = f"the better of {DROPOUT} and {UNLABELED}"

Sentences = list[Any]
Fitted = Callable[[Sentences], list[list[str]]]

# Of CRFsuite's tutorial on chunking: windows of the token (0) and of its part of speech (1).
WINDOWS = [
    *((0, (o,)) for o in range(-2, 3)),
    *((0, pair) for pair in ((-1, 0), (0, 1))),
    *((1, (o,)) for o in range(-2, 3)),
    *((1, pair) for pair in ((-2, -1), (-1, 0), (0, 1), (1, 2))),
    *((1, triple) for triple in ((-2, -1, 0), (-1, 0, 1), (0, 1, 2))),
]


def chunk_features(sentence: Sequence[tuple[str, str]]) -> list[list[str]]:
    """Return the names of CRFsuite's features for chunking.

    Examples
    --------
    >>> chunk_features([("In", "IN"), ("Ulm", "NNP")])[1][:3]
    ['0[-1]=In', '0[0]=Ulm', '0[-1,0]=In|Ulm']
    """
    n, found = len(sentence), []
    for t in range(n):
        names = []
        for column, window in WINDOWS:
            if t + window[0] >= 0 and t + window[-1] < n:
                values = "|".join(sentence[t + o][column] for o in window)
                names.append(f"{column}[{','.join(map(str, window))}]={values}")
        found.append(names)
    return found


class TaggedSentences(NamedTuple):
    """Training, validation and test sentences and their tags, named as those of a data set."""

    texts: Sentences
    y: Sentences
    texts_validation: Sentences
    y_validation: Sentences
    texts_test: Sentences
    y_test: Sentences


class TaggedSplit(NamedTuple):
    """Sentences to fit to, to choose settings with, to test and, with all labels, for the last fit."""

    X: Sentences
    y: Sentences
    X_unlabeled: Sentences
    X_validation: Sentences
    y_validation: Sentences
    X_test: Sentences
    y_test: Sentences
    final: tuple[Sentences, Sentences] | None = None


class TagMethod(NamedTuple):
    """A way to fit, its grid of settings, also for few labels, and whether it uses unlabelled sentences."""

    fit: Callable[..., Fitted]
    grid: Mapping[str, Sequence[Any]]
    unlabeled: bool = False
    few: Mapping[str, Sequence[Any]] = MappingProxyType({})  # in place of those of ``grid``

    def settings(self) -> list[dict[str, Any]]:
        """Return the points of the grid."""
        return [dict(zip(self.grid, point, strict=True)) for point in product(*self.grid.values())]


def fit_ours(X: Sentences, y: Sentences, X_unlabeled: Sentences, **settings: Any) -> Fitted:
    """Fit our tagger on all cores."""
    model = SequenceTagger(n_jobs=-1, tol=TOL, **settings).fit(X, y, X_unlabeled=X_unlabeled or None)
    return model.predict


def fit_crfsuite(X: Sentences, y: Sentences, X_unlabeled: Sentences, *, c2: float) -> Fitted:
    """Fit CRFsuite with L-BFGS; it also knows the first and the last token, as in its tutorial."""
    try:
        import pycrfsuite
    except ImportError:
        raise MissingMethodError(f"{CRFSUITE} is skipped: pip install python-crfsuite.") from None

    def items(sentence: Any) -> list[list[str]]:
        names = [list(token) for token in sentence]
        names[0].append("__BOS__")
        names[-1].append("__EOS__")
        return names

    with TemporaryDirectory() as folder:
        path = str(Path(folder, "model"))
        trainer = pycrfsuite.Trainer(algorithm="lbfgs", params={"c2": c2}, verbose=False)
        for sentence, tags in zip(X, y, strict=True):
            trainer.append(items(sentence), tags)
        trainer.train(path)
        tagger = pycrfsuite.Tagger()
        tagger.open(path)  # which reads all of the file
    return lambda sentences: [tagger.tag(items(sentence)) for sentence in sentences]


OURS, FEW = {"dropout": (0.3, 0.5), "l2": (0.1, 0.3)}, {"l2": (0.03, 0.1)}
METHODS = {
    NONE: TagMethod(fit_ours, {"dropout": (0.0,), "l2": (0.01,)}),
    L2: TagMethod(fit_ours, {"dropout": (0.0,), "l2": (0.03, 0.1, 0.3, 1.0, 3.0)}),
    DROPOUT: TagMethod(fit_ours, OURS, few=FEW),
    UNLABELED: TagMethod(fit_ours, {**OURS, "discount": (0.005,)}, unlabeled=True, few=FEW),
    FIXED: TagMethod(fit_ours, {**OURS, "expectation": ("fixed_marginals",)}, few=FEW),
    CRFSUITE: TagMethod(fit_crfsuite, {"c2": (0.015, 0.05, 0.15, 0.5, 1.5)}),
}
F1 = Score("f1", "F1 in per cent", Unit(100.0, 2), higher=True)
SECONDS = Score("fit_seconds", "seconds of the last fit", Unit(1.0, 1))


def score_tagger(split: TaggedSplit, *, method: TagMethod) -> dict[str, Any]:
    """Choose the settings by F1 on validation sentences, and return the scores on test sentences."""
    unlabeled = split.X_unlabeled if method.unlabeled else []
    best: tuple[float, dict[str, Any], Fitted] | None = None
    for settings in method.settings():
        start = time.perf_counter()
        predict = method.fit(split.X, split.y, unlabeled, **settings)
        seconds = time.perf_counter() - start
        f1 = entity_scores(split.y_validation, predict(split.X_validation)).f1
        if best is None or f1 > best[0]:
            best, fit_seconds = (f1, settings, predict), seconds
    assert best is not None
    validation_f1, chosen, predict = best
    if split.final is not None:
        start = time.perf_counter()
        predict = method.fit(*split.final, unlabeled, **chosen)
        fit_seconds = time.perf_counter() - start
    found = predict(split.X_test)
    pairs = known_pairs(split.y_test, found)
    return {
        "f1": entity_scores(split.y_test, found).f1,
        "accuracy": sum(true == given for true, given in pairs) / len(pairs),
        "validation_f1": validation_f1,
        "chosen": chosen,
        "fit_seconds": round(fit_seconds, 2),
    }


@lru_cache(maxsize=1)
def _with_features(load: Load, name: str, seed: int | None) -> TaggedSentences:
    """Return the sentences of a data set, or generated ones, as the names of each token's features."""
    data = load(name) if seed is None else generated_sentences(seed)
    features: Callable[[Any], list[list[str]]] = chunk_features if name == CHUNKS else word_features
    parts = [getattr(data, field) for field in TaggedSentences._fields]
    X = [
        # Most names occur again; kept once, they take a tenth of the memory.
        [[list(map(sys.intern, token)) for token in features(s)] for s in (() if texts is None else texts)]
        for texts in parts[::2]
    ]
    y = [[] if tags is None else list(tags) for tags in parts[1::2]]
    return TaggedSentences(X[0], y[0], X[1], y[1], X[2], y[2])


@lru_cache(maxsize=1)
def tagged_split(load: Load, name: str, labels: int | None, seed: int) -> TaggedSplit:
    """Return a split: some sentences with tags, drawn at random, and others without; or all with tags.

    Without others, the test sentences, whose tags are not used, are the unlabelled ones.
    """
    data = _with_features(load, name, seed if name == GENERATED else None)
    X, y, X_validation, y_validation, X_test, y_test = data
    final = (X, y) if labels is None else None
    if not y_validation:
        X_validation, y_validation = X[-HELD_OUT:], y[-HELD_OUT:]
        X, y = X[:-HELD_OUT], y[:-HELD_OUT]
    order, n = np.random.default_rng(seed).permutation(len(X)), labels or CHOSEN_WITH
    own, others = order[:n], order[n : n + MOST_UNLABELED]
    return TaggedSplit(
        [X[i] for i in own],
        [y[i] for i in own],
        [X[i] for i in others] if labels else X_test,
        X_validation,
        y_validation,
        X_test,
        y_test,
        final,
    )


def generated_sentences(seed: int, sizes: Sequence[int] = (400, 200, 300)) -> TaggedSentences:
    """Return sentences with names of two types among other words; most words are rare, and many ambiguous."""
    rng, fields = np.random.default_rng(seed), list[Sentences]()
    vocabulary = {tag: rng.integers(0, 3000, 400) for tag in ("B-A", "I-A", "B-B", "I-B", "O")}
    ranks = 1.0 / np.arange(1, 401)
    followers = {"O": [0.15, 0.0, 0.15, 0.0, 0.7], "A": [0.05, 0.45, 0.05, 0.0, 0.45]}
    followers["B"] = [0.05, 0.0, 0.05, 0.45, 0.45]
    for size in sizes:
        texts, y = [], []
        for _ in range(size):
            tags = ["O"]
            for _ in range(int(rng.integers(5, 20))):
                tags.append(str(rng.choice(list(vocabulary), p=followers[tags[-1][-1]])))
            words = [f"w{rng.choice(vocabulary[tag], p=ranks / ranks.sum()):x}" for tag in tags]
            texts.append(words)
            y.append(tags)
        fields += [texts, y]
    return TaggedSentences(*fields)


@dataclass(frozen=True)
class Sequences(Experiment):
    """The experiment."""

    sets: Sequence[str] = SETS
    labels: Sequence[int | None] = (*LABELS, None)
    seeds: int = 3
    methods: Mapping[str, TagMethod] = field(default_factory=lambda: METHODS)
    load: Load = load_dataset

    title = "Sequences: conditional random fields under dropout"
    summary = "chunks and names by conditional random fields, with dropout and unlabelled sentences"
    data = SETS
    takes, takes_quick = "2 hours, or 30 minutes with --subset", "20 seconds, no data set"
    protocol = (
        "CoNLL-2000 are English sentences with chunks, CoNLL-2002 Spanish and Dutch ones with names; the "
        "official test sets are test and testb. F1 is that of entities, as the script conlleval counts them. "
        f"Some training sentences, drawn at random, have tags; at most {MOST_UNLABELED:,} others are "
        "unlabelled. With all labels, the unlabelled sentences are the test sentences without their tags. "
        "Features of CoNLL-2000 are those of CRFsuite's tutorial: tokens and parts of speech in a window, "
        "alone, in pairs and in triples. Features of CoNLL-2002 are our defaults for words with parts of "
        "speech. All methods have the same features. The settings of each fit are those with the best F1 on "
        f"validation sentences: testa for CoNLL-2002, and for CoNLL-2000 the last {HELD_OUT} training "
        f"sentences, which are not fitted to. With all labels, fits to {CHOSEN_WITH:,} random sentences "
        "choose the settings of a fit to all. L2 chooses one of five values of l2, CRFsuite (python-"
        "crfsuite, L-BFGS) one of five values of c2, which mean the same. Methods with dropout have "
        "dropout 0.3 or 0.5 and one of two values of l2, smaller ones with few labels; unlabelled sentences "
        "have discount=0.005. The better of both is, for each seed, that with the better F1 on validation "
        "sentences. "
        "Fixed marginals leave out the derivative of the marginals, as CoreNLP does. Next to no penalty "
        "is L2 with l2=0.01. ± is the standard error over seeds, of which there is one with all labels. "
        "Generated sentences are those of a hidden Markov chain."
    )

    def fits(self, quick: bool) -> list[PlannedFit]:
        """Return all fits, split by split."""
        if quick:
            small = {name: self.methods[name] for name in (L2, DROPOUT, UNLABELED) if name in self.methods}
            return self._fits((GENERATED,), (30, 100), 2, small)
        return self._fits(self.sets, self.labels, self.seeds, self.methods)

    def subset(self) -> list[PlannedFit]:
        """Return fits with all labels of L2 and dropout, CRFsuite's to chunks, and those with 300 labels."""
        chosen = {name: self.methods[name] for name in (L2, DROPOUT, UNLABELED) if name in self.methods}
        all_labels = {name: method for name, method in chosen.items() if name != UNLABELED}
        crfsuite = {name: method for name, method in self.methods.items() if name == CRFSUITE}
        whole, few = ([n for n in self.labels if n == number] for number in (None, LABELS[1]))
        return [
            *self._fits(self.sets[:1], whole, 1, all_labels | crfsuite),
            *self._fits(self.sets[1:], whole, 1, all_labels),
            *self._fits(self.sets, few, self.seeds, chosen),
        ]

    def _fits(
        self,
        sets: Sequence[str],
        labels: Sequence[int | None],
        seeds: int,
        methods: Mapping[str, TagMethod],
    ) -> list[PlannedFit]:
        fits = []
        for name, n, seed in product(sets, labels, range(seeds)):
            if n is None and seed:
                continue
            load = partial(tagged_split, self.load, name, n, seed)
            sizes = {"labels": n or 0, "chosen_with": CHOSEN_WITH, "unlabeled": MOST_UNLABELED}
            planned = PlannedData(name, seed, sizes, load)
            for method, one in methods.items():
                one = one if n is None else one._replace(grid={**one.grid, **one.few})
                settings = {key: list(values) for key, values in one.grid.items()}
                cost = len(one.settings()) * (0.5 if name == GENERATED else (n or 9_000) / 50)
                measure = partial(score_tagger, method=one)
                fits.append(planned.fit(method, measure, cost, grid=settings, tol=TOL))
        return fits

    def tabulate(self, lines: Lines) -> list[ResultTable]:
        """Return F1 of each data set, differences from L2, and seconds."""
        tables = []
        for name, own in lines.by("data").items():
            columns = {
                "all labels" if n == 0 else f"{n:,} labels": {"labels": n}
                for n in sorted(own.by("labels"), key=lambda n: n or np.inf)
            }
            methods = own.by("method")
            if UNLABELED in methods:
                tried = own.among(method=(DROPOUT, UNLABELED)).by("labels", "seed").values()
                pairs = [pair for pair in tried if len(pair) == 2]
                methods[BETTER] = Lines(
                    max(pair, key=lambda line: line["result"]["validation_f1"]) for pair in pairs
                )
            tables.append(table(f"{name}: F1 in per cent", ("method", "±"), methods, columns, F1.cells))
            gains = {
                method: group.minus(own.where(method=L2)) for method, group in methods.items() if method != L2
            }
            tables.append(
                table(f"{name}: F1 above that of L2, in points", ("method", "±"), gains, columns, F1.gain)
            )
            cells: Callable[[Lines], list[str]] = lambda found: SECONDS.cells(found)[:1]  # noqa: E731
            tables.append(table(f"{name}: {SECONDS.name}", ("method",), own.by("method"), columns, cells))
        return tables

    def compare(self, lines: Lines) -> list[Comparison]:
        """Return CRFsuite's published F1 of chunks next to that of its model here."""
        found = mean_of(lines.where(data=CHUNKS, method=CRFSUITE, labels=0).values("f1"))
        return [] if found is None else [Comparison("CoNLL-2000, CRFsuite, F1", 93.67, 100.0 * found.value)]
