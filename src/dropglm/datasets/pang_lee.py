"""Three data sets by Pang and Lee, as NLTK distributes them.

``rt`` has sentences of film reviews, positive or negative; ``subj`` has subjective and objective sentences;
``imdb2k`` (the Sentiment Polarity Dataset 2.0) has 2,000 film reviews with ten official folds.
"""

import re
from typing import Any

import numpy as np

from dropglm.datasets.dataset import Archive, Entry, Row, StoredTable

# The files are Windows-1252 that was once read as Latin-1 (and in part written as UTF-8), so that dashes and
# quotes became control characters. Five of the 32 have no character in Windows-1252 and stay as they are.
PUNCTUATION = {
    code: meant for code in range(0x80, 0xA0) if (meant := bytes([code]).decode("cp1252", errors="ignore"))
}
# The commit whose index.xml publishes the checksums, which are MD5.
NLTK = "https://raw.githubusercontent.com/nltk/nltk_data/005569f5d91002697c5dfd5bced624209af0b3bb/packages/corpora"
SENTENCE_COLUMNS = {"label": "Int8", "id": "Int32", "text": "String"}


def sentences(content: bytes) -> list[str]:
    r"""Return the sentences of a file, one per line, with repaired punctuation.

    Examples
    --------
    >>> sentences(b"a film \x97 of sorts . \nm\xfcnch's insight\n")
    ['a film — of sorts .', "münch's insight"]
    """
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        text = content.decode("latin-1")
    # Not splitlines: it splits at U+0085, which stands for an ellipsis here.
    lines = [line.strip() for line in text.translate(PUNCTUATION).split("\n")]
    return lines[:-1] if lines[-1] == "" else lines


def sentence_rows(match: re.Match[str], content: bytes) -> list[Row]:
    """Return label, number and text of the sentences of a file."""
    label = int(match["one"] is not None)
    return [(label, number, text) for number, text in enumerate(sentences(content))]


def build_sentences(frame: Any) -> dict[str, Any]:
    """Return the fields of ``Dataset``."""
    return {"texts": frame["text"].to_numpy(), "y": frame["label"].to_numpy().astype(np.int64)}


def review_row(match: re.Match[str], content: bytes) -> list[Row]:
    """Return label, fold, name and text of a review: cv123_45678 belongs to fold 1."""
    folder, name, fold = match.groups()
    return [(int(folder == "pos"), int(fold), name, content.decode("utf-8"))]


def build_reviews(frame: Any) -> dict[str, Any]:
    """Return the fields of ``Dataset``; the folds are the groups."""
    return build_sentences(frame) | {"groups": frame["fold"].to_numpy().astype(np.int64)}


RT = Entry(
    summary="sentences of film reviews, positive or negative",
    rows=10_662,
    classes=("negative", "positive"),
    terms="CC BY 4.0",
    citation="Pang, Lee: Seeing Stars, ACL 2005.",
    note="Tokenised, lower case, without an official split. Rows are ordered by class: shuffle them.",
    build=build_sentences,
    table=StoredTable(
        file="rt.parquet",
        rows=10_662,
        columns=SENTENCE_COLUMNS,
        archive=Archive(
            address=f"{NLTK}/sentence_polarity.zip",
            checksum="md5:5cdc0cae7f558040d050c90eb2b72e97",
            megabytes=0.49,
            pattern=r"sentence_polarity/rt-polarity\.((?P<one>pos)|neg)",
            members=2,
            max_unpacked=3,
            max_member=2,
            rows=sentence_rows,
            order=lambda row: (-row[0], row[1]),  # class 1, then class 0
        ),
    ),
)
SUBJ = Entry(
    summary="sentences of film reviews, subjective or objective",
    rows=10_000,
    classes=("objective", "subjective"),
    terms="CC BY 4.0",
    citation="Pang, Lee: A Sentimental Education, ACL 2004.",
    note=RT.note,
    build=build_sentences,
    table=StoredTable(
        file="subj.parquet",
        rows=10_000,
        columns=SENTENCE_COLUMNS,
        archive=Archive(
            address=f"{NLTK}/subjectivity.zip",
            checksum="md5:a81a44513903ba6bb86f85aeff149561",
            megabytes=0.52,
            pattern=r"subjectivity/((?P<one>quote)|plot)\.tok\.gt9\.5000",
            members=2,
            max_unpacked=3,
            max_member=2,
            rows=sentence_rows,
            order=lambda row: (-row[0], row[1]),  # class 1, then class 0
        ),
    ),
)
IMDB2K = Entry(
    summary="2,000 film reviews, positive or negative",
    rows=2_000,
    classes=("negative", "positive"),
    terms="CC BY 4.0",
    citation="Pang, Lee: A Sentimental Education, ACL 2004.",
    note=(
        "Not the reviews of imdb; tokenised, lower case, one sentence per line. The official folds are the "
        "groups. Rows are ordered by class: shuffle them."
    ),
    build=build_reviews,
    table=StoredTable(
        file="imdb2k.parquet",
        rows=2_000,
        columns={"label": "Int8", "fold": "Int8", "id": "String", "text": "String"},
        archive=Archive(
            address=f"{NLTK}/movie_reviews.zip",
            checksum="md5:155de2b77c6834dd8eea7cbe88e93acb",
            megabytes=4.0,
            pattern=r"movie_reviews/(pos|neg)/(cv(\d)\d\d_\d{1,6})\.txt",
            members=2_000,
            max_unpacked=20,
            max_member=1,
            rows=review_row,
            order=lambda row: (-row[0], row[2]),  # positive before negative, then by name
        ),
    ),
)
