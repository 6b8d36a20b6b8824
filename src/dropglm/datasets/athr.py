"""AthR, two newsgroups on religion, as the binary features that the authors of the paper worked with."""

from typing import Any

import numpy as np
from scipy import sparse

from dropglm.datasets.entry import Entry, Table
from dropglm.datasets.errors import DatasetError

ROWS, FEATURES = 1_427, 22_178


def parts(frame: Any) -> dict[str, Any]:
    """The fields of ``Dataset``: X is a CSR array of ones."""
    lengths = frame["features"].list.len().to_numpy()
    columns = frame["features"].explode().to_numpy()
    if columns.min() < 0 or columns.max() >= FEATURES:
        raise DatasetError(f"athr.parquet has features other than 0 to {FEATURES - 1:,}; replace it.")
    starts = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
    ones = np.ones(len(columns), np.float32)
    X = sparse.csr_array((ones, columns, starts), shape=(len(frame), FEATURES))
    return {"X": X, "y": frame["label"].to_numpy().astype(np.int64)}


ATHR = Entry(
    summary="newsgroups alt.atheism and talk.religion.misc, binary unigrams",
    rows=ROWS,
    classes=("talk.religion.misc", "alt.atheism"),
    terms="MIT",
    citation="Wang, Manning: Baselines and Bigrams, ACL 2012; features from github.com/sidaw/fastdropout.",
    note="No split of its own. Rows are ordered by class: shuffle them.",
    parts=parts,
    # No checksum of the original (example_data.mat) is published.
    table=Table(file="athr.parquet", rows=ROWS, columns={"label": "Int8", "features": "List(Int32)"}),
)
