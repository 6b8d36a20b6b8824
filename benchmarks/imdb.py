"""The IMDB bigram matrix that the benchmarks share, built once and kept in ``benchmarks/.cache``.

25,000 training reviews; lower case, ``<br />`` removed, words with apostrophes whole, punctuation kept as
tokens, uni- and bigrams that occur in at least two of the 50,000 labelled reviews, present or absent.
"""

import os
import sys
from pathlib import Path

import numpy as np
from scipy import sparse

CACHE = Path(__file__).parent / ".cache"
ROWS = 25_000


def bigrams(dtype: type = np.float64) -> sparse.csr_array:
    """The matrix, 25,000 rows in the data set's order."""
    path = CACHE / "imdb_bigrams.npz"
    if not path.exists():
        CACHE.mkdir(exist_ok=True)
        sparse.save_npz(path, _build(), compressed=False)
    return sparse.csr_array(sparse.load_npz(path), dtype=dtype)


def _build() -> sparse.csr_array:
    import polars as pl
    from sklearn.feature_extraction.text import CountVectorizer

    folder = os.environ.get("DROPGLM_DATA")
    if folder is None:
        sys.exit("Set DROPGLM_DATA to the folder that holds imdb.parquet.")
    reviews = pl.read_parquet(Path(folder) / "imdb.parquet", columns=["split", "text"])
    texts = [reviews.filter(pl.col("split") == split)["text"].to_list() for split in ("train", "test")]
    vectorizer = CountVectorizer(
        preprocessor=lambda text: text.lower().replace("<br />", " "),
        token_pattern=r"[\w']+|[^\w\s]",
        ngram_range=(1, 2),
        min_df=2,
        binary=True,
        dtype=np.int8,
    )
    return vectorizer.fit_transform(texts[0] + texts[1])[:ROWS]
