"""The Sentiment Polarity Dataset 2.0 of Pang and Lee: 2,000 film reviews with ten official folds."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from dropglm.datasets.entry import Archive, Columns, Entry, Member, Table
from dropglm.datasets.sentences import NLTK


def parse(members: Iterable[Member]) -> Columns:
    """The reviews, positive before negative, then by file name: cv123_45678 belongs to fold 1."""
    rows = []
    for match, content in members:
        folder, name, fold = match.groups()
        rows.append((int(folder == "pos"), int(fold), name, content.decode("utf-8")))
    rows.sort(key=lambda row: (-row[0], row[2]))
    labels, folds, ids, texts = (list(column) for column in zip(*rows, strict=True))
    return {"label": labels, "fold": folds, "id": ids, "text": texts}


def parts(frame: Any) -> dict[str, Any]:
    """The fields of ``Dataset``."""
    return {
        "texts": frame["text"].to_numpy(),
        "y": frame["label"].to_numpy().astype(np.int64),
        "groups": frame["fold"].to_numpy().astype(np.int64),
    }


IMDB2K = Entry(
    summary="2,000 film reviews, positive or negative",
    rows=2_000,
    classes=("negative", "positive"),
    terms="CC BY 4.0",
    citation="Pang, Lee: A Sentimental Education, ACL 2004.",
    note=(
        "Other reviews than those of imdb; tokenised, lower case, a sentence a line. The official folds are "
        "the groups. Rows are ordered by class: shuffle them."
    ),
    parts=parts,
    table=Table(
        file="imdb2k.parquet",
        rows=2_000,
        columns={"label": "Int8", "fold": "Int8", "id": "String", "text": "String"},
        archive=Archive(
            address=f"{NLTK}/movie_reviews.zip",
            checksum="md5:155de2b77c6834dd8eea7cbe88e93acb",
            megabytes=4.0,
            pattern=r"movie_reviews/(pos|neg)/(cv(\d)\d\d_\d{1,6})\.txt",
            members=2_000,
            unpacked=20,
            largest=1,
            parse=parse,
        ),
    ),
)
