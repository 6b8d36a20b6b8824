"""Commands that people who do not know dropglm would type, and how many of them do what was meant.

The hundred commands of guesses.jsonl were written down before any option was changed for their sake, with
scikit-learn, jq, fastText and the shell in mind, but not the help or the documentation of dropglm. Each has
a condition on what the command prints and writes. Every command runs in a folder of its own, with the same
small tables and a model. Needs ``jq``.

    python -m benchmarks.guesses            prints the commands that fail, and the share of those that do not
    python -m benchmarks.guesses TEXT       only the commands with this text in them
"""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from benchmarks.markdown import ROOT

GUESSES = Path(__file__).with_suffix(".jsonl")
SERVING = ("dropglm label", "dropglm serve")  # commands that run until they are stopped
SERVING_SECONDS, MOST_SECONDS = 10, 120
WORDS = {
    "pos": "wonderful lovely great moving fantastic fun excellent charming brilliant warm",
    "neg": "terrible boring awful waste dull bad poor weak horrible annoying",
}
COMMON = [
    "the",
    "a",
    "film",
    "movie",
    "plot",
    "acting",
    "story",
    "was",
    "is",
    "and",
    "very",
    "it",
    "this",
    "with",
    "service",
    "food",
    "music",
    "end",
]
CLASSES = [
    "login",
    "refund",
    "shipping",
    "price",
    "account",
    "card",
    "app",
    "delivery",
    "invoice",
    "password",
    "order",
    "contact",
]
COUNTRIES = ("fr", "de", "us", None)


class Outcome(NamedTuple):
    """What one command did."""

    guess: dict[str, str]
    right: bool
    code: int
    printed: str


def _sentence(own: list[str], random: random.Random) -> str:
    return " ".join(random.choices(COMMON, k=8) + random.choices(own, k=3))


def write_tables(folder: Path) -> None:
    """Write the tables that the commands name."""
    draw = random.Random(0)
    rows = [(_sentence(words.split(), draw), label) for _ in range(110) for label, words in WORDS.items()]
    draw.shuffle(rows)
    both = pl.DataFrame(rows, ["text", "label"], orient="row")
    train, test, others = both[:80], both[80:120], both[120:]
    train.write_csv(folder / "train.csv")
    train.write_csv(folder / "train.tsv", separator="\t")
    train.write_parquet(folder / "train.parquet")
    train.write_ndjson(folder / "reviews.jsonl")
    train[:40].write_csv(folder / "part1.csv")
    train[40:].write_csv(folder / "part2.csv")
    train.rename({"text": "review", "label": "sentiment"}).write_csv(folder / "odd.csv")
    train.with_columns(weight=pl.Series([1.0, 2.0] * 40)).write_csv(folder / "weighted.csv")
    empty = pl.Series("label", [None if row % 4 == 0 else label for row, label in enumerate(train["label"])])
    train.with_columns(empty).write_csv(folder / "mixed.csv")
    test.write_csv(folder / "test.csv")
    others[:100].select("text").write_csv(folder / "unlabeled.csv")
    (folder / "new.txt").write_text("".join(f"{text}\n" for text in others["text"][:12]))
    topics = [(_sentence([name], draw), name) for _ in range(15) for name in CLASSES]
    pl.DataFrame(topics, ["text", "label"], orient="row").write_csv(folder / "classes.csv")
    pairs = [draw.sample(CLASSES[:5], draw.randint(1, 3)) for _ in range(80)]
    tags = [(_sentence(own, draw), ";".join(own)) for own in pairs]
    pl.DataFrame(tags, ["text", "tags"], orient="row").write_csv(folder / "tags.csv")
    names = ["title", "body", "price", "country", "category"]
    sold = [
        (f"{name} {draw.choice(COMMON)}", _sentence([name], draw), price, draw.choice(COUNTRIES), name)
        for price, name in enumerate(30 * CLASSES[:4])
    ]
    shop = pl.DataFrame(sold, names, orient="row")
    shop.write_csv(folder / "shop.csv")
    shop.drop("category").write_csv(folder / "shop_new.csv")


def outcome(guess: dict[str, str], tables: Path) -> Outcome:
    """Run one command in a copy of the folder, and judge it by its condition."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(shutil.copytree(tables, Path(name, "work")))
        serves = guess["command"].startswith(SERVING)
        code, out, err = _run(
            guess["command"], folder, SERVING_SECONDS if serves else MOST_SECONDS, serves=serves
        )
        files = {
            str(path.relative_to(folder)): path.read_bytes()
            for path in folder.rglob("*")
            if path.is_file() and not _is_old(path, tables / path.relative_to(folder))
        }
    # Conditions are code, but our own, in the file beside this one.
    right = bool(eval(guess["check"], {"rc": code, "out": out, "err": err, "files": files}))
    return Outcome(guess, right, code, err or out)


def _run(command: str, folder: Path, seconds: float, *, serves: bool) -> tuple[int, str, str]:
    """Return the status and what was printed; a server that had to be stopped has done its work."""
    environment = os.environ | {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "COLUMNS": "100",
    }
    shell: Any = subprocess.Popen(
        ["bash", "-c", command],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        out, err = shell.communicate(timeout=seconds)
        return shell.returncode, out, err
    except subprocess.TimeoutExpired:
        os.killpg(shell.pid, signal.SIGINT)
        out, err = shell.communicate(timeout=MOST_SECONDS)
        return (0 if serves else 124), out, err


def _is_old(path: Path, before: Path) -> bool:
    return before.is_file() and before.stat().st_mtime_ns == path.stat().st_mtime_ns


def main(part: str = "") -> None:
    """Run the commands that have this text in them, and print those that do not what was meant."""
    guesses = [json.loads(line) for line in GUESSES.read_text(encoding="utf-8").splitlines()]
    chosen = [guess for guess in guesses if part in guess["command"]]
    with tempfile.TemporaryDirectory() as name:
        tables = Path(name)
        write_tables(tables)
        code, _, err = _run(
            "dropglm train train.csv --out model.skops --quiet", tables, MOST_SECONDS, serves=False
        )
        if code:
            raise SystemExit(err)
        outcomes = [outcome(guess, tables) for guess in chosen]
    for one in outcomes:
        if not one.right:
            last = " | ".join(line.strip() for line in one.printed.strip().splitlines()[-2:])
            print(f"{one.guess['command']}\n    {one.guess['task']}\n    {one.code}: {last[:300]}")
    print(f"{sum(one.right for one in outcomes)} of {len(outcomes)} commands did what was meant.")


if __name__ == "__main__":
    os.chdir(ROOT)
    main(*sys.argv[1:])
