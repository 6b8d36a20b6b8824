"""The training texts and labels of a data set, from a Parquet file or from a file that Python reads alone.

DROPGLM_DATA names a folder with ``NAME.parquet``, or with ``NAME.jsonl.xz`` for machines without polars: one
object with ``text`` and ``label`` per line, in the order of the Parquet file.
"""

import json
import lzma
import os
import sys
from pathlib import Path

import numpy as np

LABELS = {"imdb": "label", "20news": "group"}  # columns


def training_texts(name: str) -> tuple[list[str], np.ndarray]:
    """Return the texts and the labels."""
    folder = os.environ.get("DROPGLM_DATA")
    if folder is None:
        sys.exit(f"Set DROPGLM_DATA to the folder that contains {name}.parquet or {name}.jsonl.xz.")
    lines = Path(folder) / f"{name}.jsonl.xz"
    if lines.exists():
        with lzma.open(lines, "rt", encoding="utf-8") as file:
            rows = [json.loads(line) for line in file]
        return [row["text"] for row in rows], np.array([row["label"] for row in rows])

    import polars as pl

    data = pl.read_parquet(Path(folder) / f"{name}.parquet").filter(pl.col("split") == "train")
    return data["text"].to_list(), data[LABELS[name]].to_numpy()
