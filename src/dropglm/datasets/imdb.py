"""The Large Movie Review Dataset: IMDB reviews, half of them without labels."""

import re
from typing import Any

import numpy as np

from dropglm.datasets.dataset import Archive, Entry, Row, StoredTable

SPLITS = ("train", "test", "unsup")


def review_row(match: re.Match[str], content: bytes) -> list[Row]:
    """Return split, label, number, rating and text of a review; label and rating are -1 if it has none."""
    split, folder, number, rating = match.groups()
    text = content.decode("utf-8")
    if folder == "unsup":
        return [("unsup", -1, int(number), -1, text)]
    return [(split, int(folder == "pos"), int(number), int(rating), text)]


def build(frame: Any) -> dict[str, Any]:
    """Return the fields of ``Dataset``."""
    texts, y = frame["text"].to_numpy(), frame["label"].to_numpy().astype(np.int64)
    split = frame["split"].cast(str).to_numpy()
    train, test, unlabeled = (split == name for name in SPLITS)
    return {
        "texts": texts[train],
        "y": y[train],
        "unlabeled": texts[unlabeled],
        "texts_test": texts[test],
        "y_test": y[test],
    }


IMDB = Entry(
    summary="IMDB reviews, positive or negative",
    rows=100_000,
    classes=("negative", "positive"),
    terms="No licence stated; the authors ask that the paper be cited.",
    citation="Maas, Daly, Pham, Huang, Ng, Potts: Learning Word Vectors for Sentiment Analysis, ACL 2011.",
    note=(
        "25,000 labelled, 25,000 test and 50,000 unlabelled reviews, with their <br /> markup. Rows are "
        "ordered by class: shuffle them. Within a class, reviews of the same film are adjacent. No film is "
        "in both the training set and the test set."
    ),
    build=build,
    table=StoredTable(
        file="imdb.parquet",
        rows=100_000,
        columns={"split": "Categorical", "label": "Int8", "id": "Int32", "rating": "Int8", "text": "String"},
        archive=Archive(
            address="https://ai.stanford.edu/~amaas/data/sentiment/aclImdb_v1.tar.gz",
            # Published by TensorFlow Datasets (url_checksums/imdb_reviews.txt).
            checksum="sha256:c40f74a18d3b61f90feba1e17730e0d38e8b97c05fde7008942e91923d1658fe",
            megabytes=84.1,
            pattern=r"aclImdb/(train|test)/(pos|neg|unsup)/(\d{1,5})_(\d{1,2})\.txt",
            members=100_000,
            max_unpacked=700,
            max_member=1,
            rows=review_row,
            # By split, positive before negative, then by number.
            order=lambda row: (SPLITS.index(row[0]), -row[1], row[2]),
        ),
    ),
)
