"""Two data sets of single sentences by Pang and Lee: liked or not (RT), subjective or not (Subj)."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from dropglm.datasets.entry import Archive, Columns, Entry, Member, Table

# The files are Latin-1 (or UTF-8 made from that) that was Windows-1252 once: dashes and quotes came out as
# control characters. Five of the 32 have no character in Windows-1252 and stay.
PUNCTUATION = {
    code: meant for code in range(0x80, 0xA0) if (meant := bytes([code]).decode("cp1252", errors="ignore"))
}
# The commit whose index.xml publishes the checksums; MD5 is what there is.
NLTK = "https://raw.githubusercontent.com/nltk/nltk_data/005569f5d91002697c5dfd5bced624209af0b3bb/packages/corpora"
COLUMNS = {"label": "Int8", "id": "Int32", "text": "String"}


def lines(content: bytes) -> list[str]:
    r"""The sentences of a file, one a line, with the punctuation that was meant.

    Examples
    --------
    >>> lines(b"a film \x97 of sorts . \nm\xfcnch's insight\n")
    ['a film — of sorts .', "münch's insight"]
    """
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        text = content.decode("latin-1")
    # Not splitlines: U+0085 ends a line there, and was a full stop's three dots.
    sentences = [line.strip() for line in text.translate(PUNCTUATION).split("\n")]
    return sentences[:-1] if sentences[-1] == "" else sentences


def parse(members: Iterable[Member]) -> Columns:
    """The sentences of class 1, then those of class 0, in the order of their files."""
    rows = [
        (int(match["one"] is not None), number, text)
        for match, content in members
        for number, text in enumerate(lines(content))
    ]
    rows.sort(key=lambda row: (-row[0], row[1]))
    labels, ids, texts = (list(column) for column in zip(*rows, strict=True))
    return {"label": labels, "id": ids, "text": texts}


def parts(frame: Any) -> dict[str, Any]:
    """The fields of ``Dataset``."""
    return {"texts": frame["text"].to_numpy(), "y": frame["label"].to_numpy().astype(np.int64)}


RT = Entry(
    summary="sentences of film reviews, positive or negative",
    rows=10_662,
    classes=("negative", "positive"),
    terms="CC BY 4.0",
    citation="Pang, Lee: Seeing Stars, ACL 2005.",
    note="Tokenised, lower case, no split of its own. Rows are ordered by class: shuffle them.",
    parts=parts,
    table=Table(
        file="rt.parquet",
        rows=10_662,
        columns=COLUMNS,
        archive=Archive(
            address=f"{NLTK}/sentence_polarity.zip",
            checksum="md5:5cdc0cae7f558040d050c90eb2b72e97",
            megabytes=0.49,
            pattern=r"sentence_polarity/rt-polarity\.((?P<one>pos)|neg)",
            members=2,
            unpacked=3,
            largest=2,
            parse=parse,
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
    parts=parts,
    table=Table(
        file="subj.parquet",
        rows=10_000,
        columns=COLUMNS,
        archive=Archive(
            address=f"{NLTK}/subjectivity.zip",
            checksum="md5:a81a44513903ba6bb86f85aeff149561",
            megabytes=0.52,
            pattern=r"subjectivity/((?P<one>quote)|plot)\.tok\.gt9\.5000",
            members=2,
            unpacked=3,
            largest=2,
            parse=parse,
        ),
    ),
)
