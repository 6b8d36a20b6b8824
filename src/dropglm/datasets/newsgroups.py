"""20 Newsgroups, split by date, two pairs of its groups, and a third pair (``athr``) as binary features."""

import re
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from dropglm.datasets.dataset import Archive, DatasetError, Entry, Row, StoredTable

SPLITS = ("train", "test")
GROUPS = (
    "alt.atheism", "comp.graphics", "comp.os.ms-windows.misc", "comp.sys.ibm.pc.hardware",
    "comp.sys.mac.hardware", "comp.windows.x", "misc.forsale", "rec.autos", "rec.motorcycles",
    "rec.sport.baseball", "rec.sport.hockey", "sci.crypt", "sci.electronics", "sci.med", "sci.space",
    "soc.religion.christian", "talk.politics.guns", "talk.politics.mideast", "talk.politics.misc",
    "talk.religion.misc",
)  # fmt: skip
ATHR_ROWS, ATHR_FEATURES = 1_427, 22_178


def message_row(match: re.Match[str], content: bytes) -> list[Row]:
    """Return split, group, article number and text of a message."""
    split, group, number = match.groups()
    return [(split, group, int(number), content.decode("latin-1"))]


def build(frame: Any) -> dict[str, Any]:
    """Return the fields of ``Dataset``; labels are the names of the groups."""
    texts, groups = frame["text"].to_numpy(), frame["group"].cast(str).to_numpy().astype(str)
    train = frame["split"].cast(str).to_numpy() == "train"
    return {"texts": texts[train], "y": groups[train], "texts_test": texts[~train], "y_test": groups[~train]}


def build_pair(frame: Any, *, zero: str, one: str) -> dict[str, Any]:
    """Return the fields of ``Dataset`` with two groups, labelled 0 and 1, without message headers."""
    everything = build(frame)
    fields = {}
    for part in ("", "_test"):
        selected = np.isin(everything[f"y{part}"], (zero, one))
        bodies = [without_header(text) for text in everything[f"texts{part}"][selected]]
        fields[f"texts{part}"] = np.array(bodies, object)
        fields[f"y{part}"] = (everything[f"y{part}"][selected] == one).astype(np.int64)
    return fields


def without_header(message: str) -> str:
    r"""Return the part of a message after the first empty line.

    Examples
    --------
    >>> without_header("From: someone\nSubject: something\n\nHello.\n")
    'Hello.\n'
    """
    return message.partition("\n\n")[2]


def build_athr(frame: Any) -> dict[str, Any]:
    """Return the fields of ``Dataset``: X is a CSR array of ones."""
    lengths = frame["features"].list.len().to_numpy()
    columns = frame["features"].explode().to_numpy()
    if columns.min() < 0 or columns.max() >= ATHR_FEATURES:
        raise DatasetError(
            f"athr.parquet has features outside the range 0 to {ATHR_FEATURES - 1:,}; replace the file."
        )
    starts = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
    ones = np.ones(len(columns), np.float32)
    X = sparse.csr_array((ones, columns, starts), shape=(len(frame), ATHR_FEATURES))
    return {"X": X, "y": frame["label"].to_numpy().astype(np.int64)}


TABLE = StoredTable(
    file="20news.parquet",
    rows=18_846,
    columns={"split": "Categorical", "group": "Categorical", "id": "Int32", "text": "String"},
    archive=Archive(
        # Address and checksum are from scikit-learn (datasets/_twenty_newsgroups.py).
        address="https://ndownloader.figshare.com/files/5975967",
        checksum="sha256:8f1b2514ca22a5ade8fbb9cfa5727df95fa587f4c87b786e15c759fa66d95610",
        megabytes=14.5,
        pattern=rf"20news-bydate-(train|test)/({'|'.join(GROUPS).replace('.', '[.]')})/(\d{{1,6}})",
        members=18_846,
        max_unpacked=150,
        max_member=2,
        rows=message_row,
        order=lambda row: (SPLITS.index(row[0]), *row[1:3]),
    ),
)
TERMS = "No licence stated."
LANG = "Lang: NewsWeeder: Learning to Filter Netnews, ICML 1995."

NEWSGROUPS = Entry(
    summary="messages of 20 newsgroups",
    rows=18_846,
    classes=GROUPS,
    terms=TERMS,
    citation=LANG,
    note=(
        "11,314 training messages and 7,532 later test messages, with headers, signatures and quotes, which "
        "reveal much about the group. Labels are the names of the groups. Rows are ordered by class: shuffle "
        "them."
    ),
    build=build,
    table=TABLE,
)


def _pair(zero: str, one: str, rows: int) -> Entry:
    """Return the data set of two groups, labelled 0 and 1, without message headers."""
    return Entry(
        summary=f"newsgroups {one} and {zero}",
        rows=rows,
        classes=(zero, one),
        terms=TERMS,
        citation=f"{LANG} The pair: Wang, Manning: Baselines and Bigrams, ACL 2012.",
        note=(
            "Headers are removed, which leaves a few texts empty; signatures and quotes are kept. Split by "
            "date, as 20news is; join both parts for cross-validation. Rows are ordered by class: shuffle "
            "them."
        ),
        build=partial(build_pair, zero=zero, one=one),
        table=TABLE,
    )


XGRAPH = _pair("comp.graphics", "comp.windows.x", 1_961)
BBCRYPT = _pair("sci.crypt", "rec.sport.baseball", 1_985)
ATHR = Entry(
    summary="newsgroups alt.atheism and talk.religion.misc, binary unigrams",
    rows=ATHR_ROWS,
    classes=("talk.religion.misc", "alt.atheism"),
    terms="MIT",
    citation="Wang, Manning: Baselines and Bigrams, ACL 2012; features from github.com/sidaw/fastdropout.",
    note="Without an official split. Rows are ordered by class: shuffle them.",
    build=build_athr,
    # No checksum of the original (example_data.mat) is published.
    table=StoredTable(
        file="athr.parquet", rows=ATHR_ROWS, columns={"label": "Int8", "features": "List(Int32)"}
    ),
)
