"""The data of the GPU's benchmarks in one file, since the machine with a GPU may have nothing else."""

import json
import zlib
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy import sparse


class Data(NamedTuple):
    """IMDB's training reviews as bigrams, and 20 newsgroups as texts."""

    X: sparse.csr_array
    y: np.ndarray
    texts: list[str]
    groups: np.ndarray
    test_texts: list[str]
    test_groups: np.ndarray


def prepare(path: Path) -> None:
    """Write the data into one file."""
    from benchmarks.sweep import bigrams
    from benchmarks.text import imdb, read

    X = bigrams(np.float32)
    X.sort_indices()
    steps = np.diff(X.indices, prepend=0).astype(np.int32).view(np.uint8).reshape(-1, 4).T
    news = read("20news")
    is_test = (news["split"].cast(str) == "test").to_numpy()
    texts, labels = news["text"].to_list(), news["group"].cast(str).to_numpy()
    packed = zlib.compress(json.dumps(texts).encode(), 9)
    np.savez_compressed(
        path,
        steps=np.ascontiguousarray(steps),
        indptr=X.indptr,
        shape=X.shape,
        y=imdb(2).y,
        texts=np.frombuffer(packed, np.uint8),
        labels=labels.astype("U"),
        is_test=is_test,
    )


def load(path: Path) -> Data:
    """Return the data of a file."""
    with np.load(path) as file:
        steps = np.ascontiguousarray(file["steps"].T).view(np.int32).ravel()
        indices = np.cumsum(steps, dtype=np.int64).astype(np.int32)
        X = sparse.csr_array(
            (np.ones(len(indices), np.float32), indices, file["indptr"]), tuple(file["shape"])
        )
        texts = json.loads(zlib.decompress(file["texts"].tobytes()))
        labels, is_test = file["labels"], file["is_test"]
        train, test = np.flatnonzero(~is_test), np.flatnonzero(is_test)
        parts = [[texts[k] for k in train], labels[train], [texts[k] for k in test], labels[test]]
        return Data(X, file["y"], *parts)
