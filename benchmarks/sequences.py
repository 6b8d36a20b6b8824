"""Conditional random fields on CoNLL-2000, beside CRFsuite: time to the same objective, memory and F1.

Both minimise the same objective, with L2 and the features of CRFsuite's tutorial. The gap is relative to the
minimum, which a fit of ours with a small tolerance finds. A long fit of each tells how many iterations it
needs; the fits that are timed have as many. Times are those of whole fits, the best of two, which alternate;
CRFsuite's training alone, without reading the features, is beside them. Processor time is that of all threads
together, which other work on the machine changes little. Memory is the peak above that of the process with
the features as lists of names. F1 is that of the test set.

    DROPGLM_DATA=… python -m benchmarks.sequences
"""

import time
import warnings
from collections.abc import Callable, Sequence
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple, cast

from sklearn.exceptions import ConvergenceWarning

from benchmarks.markdown import ROOT, fill, table
from benchmarks.processes import in_fresh_process, memory_in_use, peak_memory, reset_peak_memory
from dropglm import SequenceTagger, load_dataset
from dropglm.experiments.sequences import CHUNKS, chunk_features
from dropglm.sequences import entity_scores

L2 = 1.0
GAPS = (1e-3, 1e-4)
EXACT = 5e-4  # tolerance of the fit that finds the minimum, to within about its square
LONG = 300  # iterations
ROUNDS = 2
DROPOUT = (0.3, 0.1)  # and l2
HEADER = ("", "relative gap", "whole fit", "training alone", "processor time", "passes", "memory", "F1")

Sentences = list[list[list[str]]]
Tags = list[list[str]]


class Fit(NamedTuple):
    """A fit: seconds in all, of training alone, of the processor; objectives by iteration, and more."""

    seconds: float
    training: float | None
    processor: float
    objectives: Sequence[float]
    passes: int
    f1: float
    memory: int

    def iterations(self, value: float) -> int:
        """Return how many iterations it took until the objective was at most that value."""
        return next(k for k, objective in enumerate(self.objectives) if objective <= value)


@cache
def sentences() -> tuple[Sentences, Tags, Sentences, Tags]:
    """Return the features and the tags of the training and of the test sentences."""
    data = load_dataset(CHUNKS)
    assert data.texts is not None
    assert data.texts_test is not None
    X, X_test = ([chunk_features(own) for own in texts] for texts in (data.texts, data.texts_test))
    y, y_test = cast(Tags, data.y), cast(Tags, data.y_test)
    return X, list(y), X_test, list(y_test)


def ours(threads: int, tol: float = 0.0, iterations: int = LONG, dropout: float = 0.0, l2: float = L2) -> Fit:
    """Fit our tagger."""
    X, y, X_test, y_test = sentences()
    before = memory_in_use()
    reset_peak_memory()
    start, processor = time.perf_counter(), time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = SequenceTagger(dropout, l2, tol=tol, max_iter=iterations, n_jobs=threads).fit(X, y)
    seconds, processor = time.perf_counter() - start, time.process_time() - processor
    found = model.result_
    memory = peak_memory() - before
    f1 = entity_scores(y_test, model.predict(X_test)).f1
    return Fit(seconds, None, processor, found.history.objective.tolist(), found.passes, f1, memory)


def crfsuite(iterations: int = LONG) -> Fit:
    """Fit CRFsuite."""
    import pycrfsuite

    X, y, X_test, y_test = sentences()
    before = memory_in_use()
    reset_peak_memory()
    start, processor = time.perf_counter(), time.process_time()
    trainer = pycrfsuite.Trainer(algorithm="lbfgs", verbose=False)
    # The defaults stop early; only the number of iterations should.
    trainer.set_params({"c2": L2 / 2, "max_iterations": iterations, "epsilon": 1e-9, "delta": 1e-9})
    for own, tags in zip(X, y, strict=True):
        own = [list(names) for names in own]
        own[0].append("__BOS__")
        own[-1].append("__EOS__")
        trainer.append(own, tags)
    with TemporaryDirectory() as folder:
        path = str(Path(folder, "model"))
        trainer.train(path)
        seconds, processor = time.perf_counter() - start, time.process_time() - processor
        memory = peak_memory() - before
        log = trainer.logparser.iterations
        tagger = pycrfsuite.Tagger()
        tagger.open(path)
        f1 = entity_scores(y_test, [tagger.tag(own) for own in X_test]).f1
    objectives = [float("inf"), *(one["loss"] for one in log)]
    training, passes = sum(one["time"] for one in log), sum(one["linesearch_trials"] for one in log)
    return Fit(seconds, training, processor, objectives, passes, f1, memory)


def best_of(fits: dict[str, Callable[[], Fit]]) -> dict[str, Fit]:
    """Return of alternating fits, by name, the one that took the processor least time."""
    runs = [{name: fit() for name, fit in fits.items()} for _ in range(ROUNDS)]
    return {name: min((run[name] for run in runs), key=lambda fit: fit.processor) for name in fits}


def main() -> None:
    our_path, their_path = in_fresh_process(ours, 2, EXACT), in_fresh_process(crfsuite)
    lowest = our_path.objectives[-1]
    print(f"minima: {lowest:.3f} (ours), {their_path.objectives[-1]:.3f} (CRFsuite)", flush=True)
    rows = []
    for gap in GAPS:
        our_iterations, theirs = (path.iterations((1.0 + gap) * lowest) for path in (our_path, their_path))
        fits = best_of(
            {
                "dropglm, L2, 2 threads": partial(in_fresh_process, ours, 2, 0.0, our_iterations),
                "dropglm, L2, 1 thread": partial(in_fresh_process, ours, 1, 0.0, our_iterations),
                "CRFsuite": partial(in_fresh_process, crfsuite, theirs),
            }
        )
        rows += [_row(name, f"{fit.objectives[-1] / lowest - 1.0:.1e}", fit) for name, fit in fits.items()]
    with_dropout = in_fresh_process(ours, 2, SequenceTagger().tol, LONG, *DROPOUT)
    rows.append(_row("dropglm, dropout, 2 threads", "default tolerance", with_dropout))
    print(table(HEADER, rows))
    fill(ROOT / "docs" / "guides" / "sequences.md", "speed", table(HEADER, rows))


def _row(name: str, gap: str, fit: Fit) -> tuple[str, ...]:
    training = "" if fit.training is None else f"{fit.training:.1f} s"
    memory, f1 = f"{fit.memory / 2**20:,.0f} MiB", f"{100 * fit.f1:.2f}"
    seconds, processor = f"{fit.seconds:.1f} s", f"{fit.processor:.1f} s"
    return name, gap, seconds, training, processor, str(fit.passes), memory, f1


if __name__ == "__main__":
    main()
