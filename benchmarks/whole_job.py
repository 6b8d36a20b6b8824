"""From files to a model: ``dropglm train`` compared with CountVectorizer and LogisticRegression.

IMDB's 25,000 labelled reviews are in a CSV file, its 50,000 unlabelled reviews in a JSON Lines file. Both
libraries read the same files and use bigrams and fixed settings; the whole process is timed. scikit-learn's
model cannot learn from unlabelled texts. In one run they contribute to its vocabulary, as they do to ours; in
a second run they are left out.

    DROPGLM_DATA=… python -m benchmarks.whole_job
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.text import read

Rows = list[tuple[str, ...]]
ROUNDS = 2
SETTINGS = ["--no-tune", "--l2", "0.003", "--l2-weights", "naive_bayes", "--ngram-weight", "1"]
HEADER = ("", "time", "dropglm's time / this time", "test accuracy")

THEIRS = """
import sys
import polars as pl
from sklearn.linear_model import LogisticRegression
from benchmarks.text import vectorizer
labelled = pl.read_csv("train.csv")
more = pl.read_ndjson("unlabeled.jsonl")["text"].to_list() if sys.argv[1] == "all" else []
words = vectorizer(2)
X = words.fit_transform(labelled["text"].to_list() + more)[: labelled.height]
model = LogisticRegression(C=0.1, max_iter=1000).fit(X, labelled["label"].to_numpy())
if sys.argv[2] == "score":
    test = pl.read_csv("test.csv")
    print(model.score(words.transform(test["text"].to_list()), test["label"].to_numpy()))
"""


def write_tables(folder: Path) -> None:
    """Write the reviews into files."""
    import polars as pl

    data = read("imdb")
    parts = {name: data.filter(pl.col("split") == name) for name in ("train", "test", "unsup")}
    for name in ("train", "test"):
        parts[name].select("text", "label").write_csv(folder / f"{name}.csv")
    parts["unsup"].select("text").write_ndjson(folder / "unlabeled.jsonl")


def run(command: list[str], folder: Path) -> tuple[float, str]:
    """Return the seconds that the process took, and its output."""
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent)}
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, *command], cwd=folder, check=True, capture_output=True, text=True, env=environment
    )
    return time.perf_counter() - start, done.stdout


def measure() -> Rows:
    """Return the fastest of alternating runs, and the accuracy on IMDB's test reviews."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_tables(folder)
        train = [
            "-m",
            "dropglm",
            "train",
            "train.csv",
            "--unlabeled",
            "unlabeled.jsonl",
            "--quiet",
            *SETTINGS,
        ]
        times: dict[str, list[float]] = {"ours": [], "all": [], "labelled": []}
        for _ in range(ROUNDS):
            times["ours"].append(run(train, folder)[0])
            for texts in ("all", "labelled"):
                times[texts].append(run(["-c", THEIRS, texts, "time"], folder)[0])
        evaluate = ["-m", "dropglm", "evaluate", "model.skops", "test.csv", "--json", "--quiet"]
        accuracy = {"ours": float(json.loads(run(evaluate, folder)[1])["accuracy"])}
        for texts in ("all", "labelled"):
            accuracy[texts] = float(run(["-c", THEIRS, texts, "score"], folder)[1])
    best = {name: min(seconds) for name, seconds in times.items()}
    titles = {
        "ours": f"`dropglm train train.csv --unlabeled unlabeled.jsonl {' '.join(SETTINGS)}`",
        "all": "CountVectorizer on all 75,000 texts, LogisticRegression(C=0.1) on the 25,000 labelled texts",
        "labelled": "CountVectorizer and LogisticRegression(C=0.1) on the 25,000 labelled texts",
    }
    return [
        (titles[key], f"{taken:.1f} s", f"**{best['ours'] / taken:.2f}**", f"{100 * accuracy[key]:.2f}")
        for key, taken in best.items()
    ]


if __name__ == "__main__":
    for row in (HEADER, *measure()):
        print("  " + "".join(f"{cell:<30}" for cell in row))
