"""Faults at every write of a journal, a model file and a checkpoint, and what is there after a restart.

python -m benchmarks.faults [--quick]

A process labels texts, saves models or trains one, and notes what it has acknowledged. All of its calls that
change files are logged. It is repeated with a fault at the first call, at the second, and so on, and then
started again without a fault: it must find all that was acknowledged, and finish its work. A power cut leaves
what was synchronised, and anything or nothing of the rest; what may be left follows from the log. Without
``--quick`` the results are written into docs/nothing-lost.md.
"""

import argparse
import io
import json
import shutil
import sys
import tempfile
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext, redirect_stdout
from functools import partial, reduce
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np

import dropglm.dask.engine
import dropglm.places.partitions.checkpoint
from benchmarks.failing_disk import EVERY, PLACES, Calls, Fault, Record, Run, Work, after_power_cut, run
from benchmarks.markdown import ROOT, fill, table
from dropglm import TextClassifier, load_model
from dropglm.base import model_files
from dropglm.base.files import replacing
from dropglm.cli.app import app
from dropglm.labelling import Journal, LabellingSession
from dropglm.labelling.journal import KINDS, JournalError, TextReference
from dropglm.places.partitions import Rows, SerialEngine
from dropglm.places.partitions.checkpoint import ProblemCheckpoint
from dropglm.text.online_text_model import OnlineTraining

PAGE = ROOT / "docs" / "nothing-lost.md"
# In words: the kind of a fault, and whether it lasts until the process ends.
KILL = "kill -9 before the call"
FAULTS = {
    "input/output error, once": ("error", False),
    "input/output error, from then on": ("error", True),
    "full disk, once": ("full", False),
    "full disk, from then on": ("full", True),
    "short write": ("short", False),
    KILL: ("kill", False),
    "kill -9 in the middle of a write": ("torn", False),
}
CUT = "power cut"
CUT_LATER = "power cut after one of the faults above"
CUT_AGAIN = "power cut right after the restart from one of them"


# The work: each piece notes what it finds, continues from there to its end, and notes what it acknowledges.


def insist(action: Callable[[], Any], tries: int = 3) -> Any:
    """Try again after an error, as a person would."""
    try:
        return action()
    except (OSError, JournalError):
        if tries == 1:
            raise
    return insist(action, tries - 1)


TEXTS = [f"text number {number}" for number in range(12)]
ACTIONS: list[Callable[[LabellingSession], Any]] = [
    lambda session: session.answer("good", 3),
    lambda session: session.answer("bad", 4),
    lambda session: session.answer("bad", 3),  # a correction
    lambda session: session.answer_all({5: "good", 6: "bad"}),
    lambda session: session.undo(),
    lambda session: session.answer_all({6: "bad", 7: "good"}),
    lambda session: session.skip(8),
    lambda session: session.keep(4),
    lambda session: session.add_class("mixed"),
    lambda session: session.undo(),
    lambda session: session.add_class("odd"),
    lambda session: session.rename_class("odd", "strange"),
    lambda session: session.remove_class("strange"),
    lambda session: session.undo(),
    lambda session: session.answer("strange", 9),
]
START = 4  # entries: two classes, and two labels of the table
VARYING = ("time", "guess", "source")  # fields that depend on when the model has learnt


def label(folder: Path, calls: Calls, expected: list[Any] | None = None) -> None:
    """Label texts with all actions of a session; the number of entries is acknowledged."""
    path, classes, labels = folder / "a.labels.jsonl", ["good", "bad"], {0: "good", 1: "bad"}
    options: dict[str, Any] = {"classes": classes, "labels": labels, "n_jobs": 1, "seed": 0}
    with insist(lambda: LabellingSession(TEXTS, path, **options)) as session:
        calls.note("found", session.version)
        for action in [None, *ACTIONS[session.version - START :]]:
            if action is not None:
                insist(partial(action, session))
            found = entries_of(folder)
            assert found == (expected or found)[: session.version], found
            calls.note("ack", session.version)  # also what was there already, since the page shows it


def entries_of(folder: Path) -> list[Any]:
    """Return the entries of a journal."""
    lines = (folder / "a.labels.jsonl").read_text().splitlines()[1:]
    return [{k: v for k, v in json.loads(line).items() if k not in VARYING} for line in lines]


ONE, OTHER = TextReference(1, "0a"), TextReference(2, "0b")
FIELDS: dict[str, dict[str, Any]] = {
    "label": {"texts": (ONE,), "label": "good"},
    "labels": {"texts": (ONE, OTHER), "labels": ("good", "bad")},
    "skip": {"texts": (ONE,)},
    "keep": {"texts": (OTHER,)},
    "class": {"name": "good"},
    "rename": {"old": "good", "new": "very good"},
    "remove": {"name": "good"},
}
ENTRIES = [kind(**FIELDS.get(name, {})) for name, kind in KINDS.items()]


def write_entries(folder: Path, calls: Calls) -> None:
    """Append an entry of each kind to a journal, and then all of them at once."""
    expected = ENTRIES * 2
    with insist(lambda: Journal(folder / "a.labels.jsonl")) as journal:
        calls.note("found", len(journal.entries))
        for _ in range(len(expected)):
            n = len(journal.entries)
            assert journal.entries == expected[:n], journal.entries
            calls.note("ack", n)
            if n < len(expected):
                more = expected[n : n + 1] if n < len(ENTRIES) else expected[n:]
                insist(partial(journal.append, *more))


EXAMPLES = [("a good film", "good"), ("a dull film", "bad"), ("good music", "good"), ("so dull", "bad")]


def save(folder: Path, calls: Calls, models: list[TextClassifier], contents: list[bytes]) -> None:
    """Save a model where there is none, and then another one in its place."""
    path = folder / "model.skops"
    found = contents.index(path.read_bytes()) + 1 if path.exists() else 0
    if found:
        assert load_model(path).predict(["a good film"]).tolist() == ["good"]
    calls.note("found", found)
    for number in range(found, len(models)):
        insist(partial(models[number].save, path))
        calls.note("ack", number + 1)


class Training(NamedTuple):
    """A command that trains, how to read its checkpoint, and how well it continues."""

    arguments: list[str]
    progress: Callable[[Path], int]
    tolerance: float
    expected: np.ndarray | None = None


DONE = 10**9  # acknowledged when the model is saved


def train(folder: Path, calls: Calls, training: Training) -> None:
    """Train with checkpoints; the command removes the last one when the model is saved."""
    model, checkpoint = folder / "model.skops", folder / "checkpoint"
    found = training.progress(checkpoint) if checkpoint.exists() else 0
    calls.note("found", DONE if model.exists() else found)
    if not model.exists():
        for kind in (OnlineTraining, ProblemCheckpoint):
            kind.save = acknowledging(kind.save, calls, training, checkpoint)  # type: ignore[method-assign]
        insist(lambda: command(*training.arguments, "--out", str(model), "--checkpoint", str(checkpoint)))
        calls.note("ack", DONE)
    if training.expected is not None:
        np.testing.assert_allclose(probabilities(model), training.expected, rtol=training.tolerance)


def acknowledging(save: Any, calls: Calls, training: Training, checkpoint: Path) -> Any:
    """Return the method that saves a checkpoint and acknowledges it."""

    def saved(self: Any, what: Any) -> None:
        save(self, what)
        calls.note("ack", training.progress(checkpoint))

    return saved


def command(*arguments: str) -> None:
    """Run ``dropglm train``, with this process in place of a cluster."""
    dropglm.dask.engine.connected = nullcontext  # type: ignore[assignment]
    dropglm.dask.engine.DaskEngine = lambda client: SerialEngine()  # type: ignore[assignment,misc]
    try:
        app(("train", *arguments), prog_name="dropglm")
    except SystemExit as end:
        if end.code:
            raise OSError(f"dropglm has ended with {end.code}") from end


def probabilities(model: Path) -> np.ndarray:
    """Return what a model predicts for some texts."""
    return load_model(model).predict_proba([text for text, _ in EXAMPLES])


def passes_of(checkpoint: Path) -> int:
    """Return how many passes a fit had made when it wrote its checkpoint, and whether it was the last one."""
    file = checkpoint / "problem-0.state"
    content = model_files.from_archive(file.read_bytes()) if file.exists() else {}
    return DONE // 2 if content.get("finished") else content.get("current", {}).get("passes", 0)


class Scenario(NamedTuple):
    """Some work; ``is_quick`` if it is also done by the tests."""

    name: str
    work: Work
    is_quick: bool


def scenarios(place: Path) -> Iterator[Scenario]:
    """Yield what is tried; a first run without faults says what is expected."""
    yield Scenario("a journal: every kind of entry", write_entries, True)
    place.mkdir()
    assert run(label, place).is_complete
    work: Work = partial(label, expected=entries_of(place))
    yield Scenario("a labelling session: every action", work, False)
    texts, labels = zip(*EXAMPLES, strict=True)
    models = [TextClassifier(tune=False, l2=l2).fit(texts, labels) for l2 in (1.0, 2.0)]
    file, contents = place / "model.skops", []
    for model in models:
        model.save(file)
        contents.append(file.read_bytes())
    yield Scenario("a model file: new, and replaced", partial(save, models=models, contents=contents), True)
    rows = [{"text": f"{text} {k}", "label": name} for k in range(30) for text, name in EXAMPLES]
    data = place.with_suffix(".jsonl")
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    sys.modules["dropglm.tables.reader"].MAX_ROWS = 30  # type: ignore[attr-defined]
    online = [str(data), "--quiet", "--online", "--bits", "8", "--every", "60", "--threads", "1"]
    dask = [str(data), "--quiet", "--dask", "local", "--no-tune", "--ngrams", "1", "--l2", "100"]
    # Here once, so that forked processes have the compiled functions. Polars, with which --dask reads tables,
    # has threads that do not survive a fork.
    with redirect_stdout(io.StringIO()):
        command(*online, "--out", str(file))
    dropglm.dask.TextClassifier(tune=False).fit_parts(SerialEngine(), [Rows(0, texts, np.array(labels))], [])
    for name, training, is_quick in (
        ("online", Training(online, lambda path: OnlineTraining.load(path).row, 0.0), True),
        ("dask", Training(dask, passes_of, 1e-5), False),  # up to rounding in float32
    ):
        file.unlink()
        first = run(partial(train, training=training), place)
        assert first.is_complete, first.why
        work = partial(train, training=training._replace(expected=probabilities(file)))
        yield Scenario(f"`dropglm train --{name} --checkpoint`", work, is_quick)


# What is counted.


class Count(NamedTuple):
    """How many faults were injected, and what was acknowledged before them and there afterwards."""

    faults: int = 0
    acknowledged: int = 0
    there: int = 0
    lost: int = 0

    def plus(self, other: "Count") -> "Count":
        """Return the sum."""
        return Count(*(a + b for a, b in zip(self, other, strict=True)))

    def cells(self) -> list[str]:
        """Return the cells of a table."""
        return [f"{number:,}" for number in self]


class Trial:
    """Some work with faults at its calls.

    Parameters
    ----------
    scenario : Scenario
    faults : iterable of str
        Which of the faults to inject; the power is cut in any case.
    every : int
        They are injected at every so many-th call.
    lies : callable, optional
        Calls that do nothing before a power cut.
    """

    def __init__(
        self,
        scenario: Scenario,
        faults: Iterable[str] = FAULTS,
        every: int = 1,
        lies: Callable[[Record], bool] = lambda record: False,
    ) -> None:
        self.scenario, self.lies = scenario, lies
        self.folder = Path(tempfile.mkdtemp(prefix="faults-")).resolve() / "folder"
        self.counts = dict.fromkeys((*FAULTS, CUT, CUT_LATER, CUT_AGAIN), Count())
        self.losses: list[str] = []
        self.results: dict[Any, Run] = {}  # by what a power cut has left
        clean = self.start({})
        assert clean.is_complete, clean.why
        self.milestones = sorted({record[1] for record in clean.log if record[0] == "ack"} - {0})
        self.calls = [record for record in clean.log if record[0] in EVERY]
        for number in range(len(clean.log) + 1):
            self.cut(CUT, clean.log[:number])
        for name in faults:
            kind, lasts = FAULTS[name]
            for number in range(0, len(self.calls), every):
                if self.calls[number][0] in PLACES[kind]:
                    self.inject(name, Fault(kind, number, lasts))
        shutil.rmtree(self.folder.parent)

    def start(self, files: dict[str, bytes | None], fault: Fault | None = None) -> Run:
        """Do the work in a folder with these files."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir()
        for path, content in sorted(files.items()):
            Path(path).mkdir() if content is None else Path(path).write_bytes(content)
        return run(self.scenario.work, self.folder, fault)

    def inject(self, name: str, fault: Fault) -> None:
        """Do the work with a fault, and start it again."""
        first = self.start({}, fault)
        again = run(self.scenario.work, self.folder)
        self.add(name, first.log, again, f"{fault}")
        is_end = fault.lasts or fault.kind in ("kill", "torn") or self.calls[fault.at][0] == "close"
        if not first.is_complete and not is_end:
            self.losses.append(f"{self.scenario.name}: no recovery from {fault}: {first.why}")
        self.cut(CUT_LATER, first.log)
        shown = next((n for n, record in enumerate(again.log, 1) if record[0] == "found"), 0)
        self.cut(CUT_AGAIN, [*first.log, *again.log[: shown + 1]])

    def cut(self, name: str, log: list[Record]) -> None:
        """Cut the power after these calls, and start the work again with all that may be left."""
        calls = [record for record in log if record[0] in EVERY and not self.lies(record)]
        # Parts of files that were never complete have a random name, and nobody reads them.
        states = {
            frozenset(item for item in files.items() if not item[0].endswith(".part"))
            for files in after_power_cut(calls)
        }
        for state in states:
            if state not in self.results:
                self.results[state] = self.start(dict(state))
            self.add(name, log, self.results[state], f"after {calls[-1:]}")

    def add(self, name: str, log: list[Record], again: Run, where: str) -> None:
        """Compare what was promised with what is there."""
        promised = max((record[1] for record in log if record[0] == "ack"), default=0)
        acknowledged, there = (bisect_right(self.milestones, number) for number in (promised, again.found))
        lost = max(acknowledged - there, int(again.found < 0))
        self.counts[name] = self.counts[name].plus(Count(1, acknowledged, there, lost))
        if lost:
            self.losses.append(
                f"{self.scenario.name}, {name}, {where}: {promised}, {again.found}, {again.why}"
            )

    @property
    def total(self) -> Count:
        """The count of all faults."""
        return reduce(Count.plus, self.counts.values())


# What would be lost without parts of the code: calls that then do nothing, and what else is different.


@contextmanager
def overwriting() -> Iterator[None]:
    """Write model files and checkpoints in place of the old ones."""
    modules: tuple[Any, ...] = (model_files, dropglm.places.partitions.checkpoint)

    def open_old(path: Path) -> IO[bytes]:
        return open(path, "wb")

    for module in modules:
        module.replacing = open_old
    yield
    for module in modules:
        module.replacing = replacing


def is_folder(path: str) -> bool:
    """Return whether this is one of the folders in which the work is done."""
    return Path(path).name in ("folder", "checkpoint")


WITHOUT: dict[str, tuple[Callable[[Record], bool], Any]] = {
    "files were not synchronised": (lambda call: call[0] == "sync" and not is_folder(call[1]), nullcontext),
    "folders were not synchronised": (lambda call: call[0] == "sync" and is_folder(call[1]), nullcontext),
    "model files and checkpoints were overwritten in place": (lambda call: False, overwriting),
}


def report(trials: list[Trial], without: dict[str, int]) -> str:
    """Return the tables of the page."""
    header = ("faults", "acknowledged", "there after the restart", "lost")
    total = reduce(Count.plus, (trial.total for trial in trials))
    done = [[trial.scenario.name, f"{len(trial.calls)}", *trial.total.cells()] for trial in trials]
    kinds = {name: reduce(Count.plus, (trial.counts[name] for trial in trials)) for name in trials[0].counts}
    parts = [
        f"**{total.faults:,} faults, {total.acknowledged:,} acknowledgements, {total.lost:,} lost.**",
        table(("what is done", "calls", *header), done),
        table(("fault", *header), [[name, *count.cells()] for name, count in kinds.items()]),
        "The command also counts what would be lost without parts of the code, to show that it would notice:",
        table(("if", "lost"), [[name, f"{lost:,}"] for name, lost in without.items()]),
    ]
    return "\n\n".join(parts)


def main() -> None:
    """Try all faults, print the results and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="some of the faults; the page is not written")
    quick = parser.parse_args().quick
    trials: list[Trial] = []
    without: dict[str, int] = {}
    with tempfile.TemporaryDirectory() as place:
        for scenario in scenarios(Path(place).resolve() / "first"):
            if quick and not scenario.is_quick:
                continue
            trials.append(Trial(scenario, every=32 if quick else 1))
            for name, (lies, changed) in WITHOUT.items() if scenario.is_quick else ():
                if changed is nullcontext or not quick:
                    with changed():
                        trial = Trial(scenario, [KILL] if changed is overwriting else [], 16, lies)
                    without[name] = without.get(name, 0) + trial.total.lost
            print(scenario.name, *trials[-1].losses, sep="\n", flush=True)
    block = report(trials, without)
    print(block)
    if any(trial.losses for trial in trials) or not all(without.values()):
        sys.exit("Something was lost, or a loss was not noticed.")
    if not quick:
        fill(PAGE, "faults", block)


if __name__ == "__main__":
    main()
