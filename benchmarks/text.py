"""IMDB as matrices of n-grams, built once and stored in ``benchmarks/.cache``.

Texts are in lower case without ``<br />``; words keep their apostrophes, and punctuation marks are tokens.
The features are binary. The vocabulary consists of the n-grams that occur in at least two of the labelled and
unlabelled training reviews.
"""

import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from dropglm.experiments.texts import Split

CACHE = Path(__file__).parent / ".cache"
WORDS = {1: "unigrams", 2: "bigrams", 3: "trigrams"}


def imdb(n: int) -> Split:
    """Return IMDB's own split with 1- to n-grams: 25,000 labelled, 50,000 unlabelled and 25,000 test rows."""
    path = CACHE / f"imdb_{WORDS[n]}.npz"
    labels = read("imdb").select("split", "label")
    if not path.exists():
        texts = read("imdb")["text"].to_list()  # train, test, unsup
        vocabulary = vectorizer(n).fit(texts[:25_000] + texts[50_000:]).vocabulary_
        CACHE.mkdir(exist_ok=True)
        sparse.save_npz(path, vectorizer(n, vocabulary).transform(texts), compressed=False)
    X, y = sparse.csr_array(sparse.load_npz(path), dtype=np.float32), labels["label"].to_numpy()
    return Split(X[:25_000], y[:25_000], X[50_000:], X[25_000:50_000], y[25_000:50_000])


def read(name: str) -> Any:
    """Return a data set as a data frame, in the order of the file."""
    import polars as pl

    folder = os.environ.get("DROPGLM_DATA")
    if folder is None:
        sys.exit(f"Set DROPGLM_DATA to the folder that contains {name}.parquet.")
    return pl.read_parquet(Path(folder) / f"{name}.parquet")


def vectorizer(n: int, vocabulary: dict[str, int] | None = None, min_df: int = 2) -> Any:
    """Return scikit-learn's vectorizer with the tokens described above."""
    from sklearn.feature_extraction.text import CountVectorizer

    return CountVectorizer(
        preprocessor=_lower,
        token_pattern=r"[\w']+|[^\w\s]",
        ngram_range=(1, n),
        min_df=min_df if vocabulary is None else 1,
        vocabulary=vocabulary,
        binary=True,
        dtype=np.float32,
    )


def _lower(text: str) -> str:
    return text.lower().replace("<br />", " ")
