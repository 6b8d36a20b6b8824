"""Model files whose content was edited: each is refused in one sentence, or predicts finite numbers.

The edits change what a file says, not its bytes, which checksums protect: settings get values that would do
harm, names are added and removed, and arrays are cut, stretched, retyped and filled. Every edited file is
opened by ``load_model`` and as the commands open it. Models predict and explain texts of up to 20,000
characters, one of which is the path of a file. A hook of Python's notes every file that is opened.

    python -m benchmarks.edited_models          2,000 files, 200 of each kind; fills the table of docs/text.md
    python -m benchmarks.edited_models NUMBER   only print the table, for so many files of each kind
"""

import math
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.markdown import ROOT, fill, table
from benchmarks.processes import in_fresh_process, memory_in_use, peak_memory, reset_peak_memory
from dropglm import OnlineTextClassifier, TextClassifier, load_model
from dropglm.base import model_files
from dropglm.base.model_files import ModelFileError
from dropglm.text.fitted_model import load_fitted_model
from dropglm.text.online_text_model import OnlineTextModel, OnlineTraining

EACH = 200
HEADER = ("kind of file", "edited", "refused", "opened", "slowest", "memory", "other files", "failures")

TEXTS = 3 * ["a lovely film", "great fun, a great cast", "a dull film", "long and dull", "so odd", "odd one"]
CLASSES = 3 * ["good", "good", "bad", "bad", "odd", "odd"]
SECRET = "the combination is 9471"


def embedder(texts: list[str]) -> list[list[float]]:
    return [[len(text), text.count("d"), text.count("o")] for text in texts]


def _of_two(model: Any) -> Any:
    two = [row for row, name in enumerate(CLASSES) if name != "odd"]
    return model.fit([TEXTS[row] for row in two], [CLASSES[row] for row in two])


def _continued() -> Any:
    start = TextClassifier(tune=False, stop_words=["so"]).fit(TEXTS, CLASSES)
    return OnlineTextClassifier().start_from(start).partial_fit(TEXTS, CLASSES)


def _checkpoint() -> OnlineTraining:
    return OnlineTraining.start(OnlineTextModel.new({"bits": 8}), sorted(set(CLASSES)), {"text": "text"})


# What is saved, by its name in the table.
KINDS: dict[str, Callable[[], Any]] = {
    "two classes": lambda: _of_two(TextClassifier(tune=False)),
    "three classes, stop words": lambda: TextClassifier(tune=False, stop_words="english").fit(TEXTS, CLASSES),
    "characters": lambda: TextClassifier((2, 3), analyzer="char", tune=False).fit(TEXTS, CLASSES),
    "tuned, unlabelled texts": lambda: TextClassifier(cv=2).fit(TEXTS, CLASSES, X_unlabeled=TEXTS[:4]),
    "embeddings": lambda: TextClassifier(tune=False, embedder=embedder).fit(TEXTS, CLASSES),
    "online": lambda: OnlineTextClassifier(bits=8).fit(TEXTS, CLASSES),
    "online, l2": lambda: OnlineTextClassifier(bits=8, l2=1e-3, rule="dropout").fit(TEXTS, CLASSES),
    "online, averaged": lambda: _of_two(OnlineTextClassifier(bits=8, average=True, rule="sgd")),
    "online, continued": _continued,
    "checkpoint": _checkpoint,
}

# Settings that would do harm if a file could choose them.
HARMFUL: list[tuple[str, Any]] = [
    ("input", "filename"),
    ("input", "file"),
    ("token_pattern", r"(?:(?:\w|\s|a)+)+!!"),
    ("token_pattern", r"\w+\w+\w+!"),
    ("token_pattern", r"(?s).*?(.+)+$"),
    ("analyzer", "char"),
    ("analyzer", "char_wb"),
    ("ngram_range", (1, 100_000)),
    ("ngram_range", (1, 50)),
    ("idf_power", 1e308),
    ("ngram_weight", 1e308),
    ("encoding", "zlib"),
    ("preprocessor", "eval"),
    ("tokenizer", "os.system"),
    ("vocabulary", ["a"]),
    ("embedder", "/tmp"),
    ("bits", 30),
    ("bits", 20),
    ("rule", {"name": "sgd", "settings": [1e308]}),
    ("rate", math.inf),
    ("l2", 1e308),
    ("n_texts", 0),
    ("classes", np.array(["2020-01-01", "2021-01-01", "2022-01-01"], "M8[D]")),
    ("classes", np.array([1j, 2j, 3j])),
    ("classes", np.array([1.0, math.nan, 2.0])),
    ("stop_words", [""] * 1000),
]
ODD_VALUES: list[Any] = [
    None, True, False, 0, 1, -1, 2, 1 << 31, 1 << 63, -(1 << 63), 10**30, 0.0, 0.5, -1.0, 1e-308, 1e15, 1e308,
    math.nan, math.inf, "", "a", "word", "l1", "sgd", "ovr", "x" * 10_000, [], [1, 2], (1, 2), (2, 1), [None],
    [[[]]], {}, {"name": "sgd", "settings": []}, np.zeros(0), np.zeros((3, 3)), np.array(["a", "b"]),
]  # fmt: skip


def edit(content: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    """Return a copy of what a file holds, with one to three changes; many leave it possible to open it."""
    content = deepcopy(content)
    for _ in range(rng.choice([1, 2, 3], p=[0.6, 0.3, 0.1])):
        places = list(_places(content["state"]))
        parent, name = places[rng.integers(len(places))]
        value, action = parent[name], rng.choice(4, p=[0.3, 0.05, 0.15, 0.5])
        if action == 0:
            setting, value = HARMFUL[rng.integers(len(HARMFUL))]
            known = [parent for parent, key in places if key == setting]
            records = known or [parent for parent, _ in places if isinstance(parent, dict)]
            records[rng.integers(len(records))][setting] = deepcopy(value)
        elif action == 1 and isinstance(parent, dict):
            del parent[name]
        elif isinstance(value, np.ndarray):
            parent[name] = _edited_array(value, rng)
        else:
            alike = [odd for odd in ODD_VALUES if type(odd) is type(value)]
            odd = alike if alike and action == 3 else ODD_VALUES
            parent[name] = deepcopy(odd[rng.integers(len(odd))])
    return content


def rewrite(path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Change what a model file says of its model, in place."""
    content = model_files.from_archive(path.read_bytes())
    change(content["state"])
    path.write_bytes(model_files.to_archive(content))


def _places(part: Any) -> Iterator[tuple[Any, Any]]:
    """Yield every place in nested dictionaries and lists, as its container and its name in it."""
    for name in part if isinstance(part, dict) else range(len(part)):
        yield part, name
        if isinstance(part[name], (dict, list)):
            yield from _places(part[name])


def _edited_array(array: np.ndarray, rng: np.random.Generator) -> Any:
    flat = array.copy()
    values = [0, 1, -1, 7, 255, 1 << 20, 1e15, 1e38, math.inf, math.nan]
    action = rng.integers(9)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        if action < 4 and flat.size and flat.dtype.kind in "iuf":
            value = np.asarray(values[rng.integers(len(values))]).astype(flat.dtype)
            flat[... if action == 3 else tuple(rng.integers(flat.shape))] = value
            return flat
        if action <= 4:
            return flat[: rng.integers(len(flat) + 1)]
        if action == 5:
            return np.concatenate([flat, flat])
        if action == 6:
            kinds = ["float32", "float64", "int32", "int64", "uint8", "complex128", "bool", "M8[s]"]
            return flat.astype(kinds[rng.integers(len(kinds))]) if flat.dtype.kind in "biuf" else flat[::-1]
        if action == 7:
            return flat.T if flat.ndim > 1 else flat[:, None]
        return rng.permutation(flat)


class Outcome(NamedTuple):
    """What became of the edited files of one kind."""

    edited: int
    refused: int
    opened: int
    seconds: float  # that the slowest took, beyond the file as it was
    memory: int  # bytes by which the memory of the process has grown at most
    other_files: list[str]  # that were opened
    failures: list[str]

    def cells(self, kind: str) -> tuple[str, ...]:
        """Return the row of the table."""
        counts = (self.edited, self.refused, self.opened)
        figures = f"{self.seconds:.2f} s", f"{self.memory / 1e6:.0f} MB"
        return kind, *map(str, counts), *figures, str(len(self.other_files)), str(len(self.failures))


def outcomes(kind: str, number: int, seed: int = 0) -> Outcome:
    """Open edited files of one kind; the first 20 failures are described."""
    rng = np.random.default_rng([seed, *kind.encode()])
    opened_files: list[str] = []
    counts, failures, slowest = [0, 0], [], 0.0
    with tempfile.TemporaryDirectory() as folder:
        path, secret = Path(folder, "model.skops"), Path(folder, "secret.txt")
        secret.write_text(SECRET)
        KINDS[kind]().save(path)
        whole = model_files.from_archive(path.read_bytes())
        _use(path, secret)  # what is loaded and compiled on first use
        usual = _seconds(path, secret)
        reset_peak_memory()
        before = memory_in_use()
        noting = _note_opened_files(opened_files, path)
        for case in range(number):
            content = edit(whole, rng)
            path.write_bytes(model_files.to_archive(content))
            begin = time.process_time()
            try:
                counts[_use(path, secret)] += 1
            except Exception as error:
                failures.append(f"{kind}, file {case}: {type(error).__name__}: {error}")
            slowest = max(slowest, time.process_time() - begin - usual)
        noting.clear()
        memory = peak_memory() - before
    return Outcome(number, counts[False], counts[True], slowest, memory, opened_files, failures[:20])


def of_every_kind(number: int) -> dict[str, Outcome]:
    """Return what becomes of so many edited files of each kind."""
    return {kind: outcomes(kind, number) for kind in KINDS}


def _seconds(path: Path, secret: Path) -> float:
    begin = time.process_time()
    _use(path, secret)
    return time.process_time() - begin


def _use(path: Path, secret: Path) -> bool:
    """Return whether a file is opened, or refused; raise an error if it is neither, as it should be."""
    models: list[Any] = []
    for load in (_load_checkpoint, load_model, load_fitted_model):
        try:
            models.append(load(path))
        except ModelFileError as error:
            sentence = str(error)
            if not sentence.startswith(str(path)) or "\n" in sentence or len(sentence) > 1000:
                raise AssertionError(f"the message is not one sentence about the file: {sentence}") from error
    for model in models:
        _predict(model, secret)
    return bool(models)


def _load_checkpoint(path: Path) -> Any:
    return OnlineTraining.load(path).model


def _predict(model: Any, secret: Path) -> None:
    texts = [str(secret), "a lovely dull film!", "", "a" * 20_000, "so <b>odd</b> " * 1500]
    E = np.array(embedder(texts)) if model._fitted_model().head is not None else None
    probabilities = model.predict_proba(texts, E)
    if not np.allclose(probabilities.sum(axis=1), 1.0, atol=1e-5):
        raise AssertionError("probabilities do not sum to 1")
    for row, text in enumerate(texts[:3]):
        why = model.explain(text, None if E is None else E[row])
        weights = [entry.weight for entry in why.contributions]
        numbers = [*why.probabilities.values(), why.difference, why.base_difference, *weights]
        if not np.isfinite(numbers).all():
            raise AssertionError("a number of an explanation is not finite")
        words = {word for entry in why.contributions for word in entry.ngram.split()}
        if words & set(SECRET.split()):
            raise AssertionError("an explanation shows a word of another file")
    for entries in model.top_features(5).values():
        if not np.isfinite([entry.weight for entry in entries]).all():
            raise AssertionError("a weight is not finite")
    str(model.summary_)


def _note_opened_files(found: list[str], expected: Path) -> set[bool]:
    """Note all files that this process opens, but for those of code, until the returned set is cleared."""
    code, noting = (".py", ".pyc", ".so", f".{sys.implementation.cache_tag}"), {True}

    def note(event: str, arguments: tuple[Any, ...]) -> None:
        if noting and event == "open":
            name = str(arguments[0])
            if not name.endswith(code) and Path(name) != expected and "__pycache__" not in name:
                found.append(name)
        elif noting and event in ("os.system", "subprocess.Popen", "socket.connect"):
            found.append(f"{event} {arguments[0]}")

    sys.addaudithook(note)  # for good: hooks cannot be removed
    return noting


def main() -> None:
    number = int(sys.argv[1]) if len(sys.argv) > 1 else EACH
    found = in_fresh_process(of_every_kind, number)
    text = table(HEADER, [outcome.cells(kind) for kind, outcome in found.items()])
    sys.stdout.write(f"{text}\n")
    for outcome in found.values():
        sys.stdout.writelines(f"{line}\n" for line in (*outcome.other_files, *outcome.failures))
    if len(sys.argv) == 1:
        fill(ROOT / "docs" / "text.md", "edited-models", text)


if __name__ == "__main__":
    main()
