"""Film reviews and newsgroups.

``rt`` has sentences of film reviews, positive or negative; ``subj`` has subjective and objective sentences;
``imdb2k`` (the Sentiment Polarity Dataset 2.0) has 2,000 film reviews with ten official folds. They are by
Pang and Lee, as NLTK distributes them. ``imdb``, the Large Movie Review Dataset by Maas and others, has IMDB
reviews, half of them without labels. ``20news`` is 20 Newsgroups, split by date; ``xgraph`` and ``bbcrypt``
are pairs of its groups, and ``athr`` is a third pair as binary features.
"""

import re
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from dropglm.datasets.dataset import Archive, DatasetEntry, DatasetError, Row, StoredTable

# The files are Windows-1252 that was once read as Latin-1 (and in part written as UTF-8), so that dashes and
# quotes became control characters. Five of the 32 have no character in Windows-1252 and stay as they are.
PUNCTUATION = {
    code: meant for code in range(0x80, 0xA0) if (meant := bytes([code]).decode("cp1252", errors="ignore"))
}
# The commit whose index.xml publishes the checksums, which are MD5.
NLTK = "https://raw.githubusercontent.com/nltk/nltk_data/005569f5d91002697c5dfd5bced624209af0b3bb/packages/corpora"
OPINIONS = ("negative", "positive")
SPLITS = ("train", "test", "unsup")  # of imdb


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


def imdb2k_row(match: re.Match[str], content: bytes) -> list[Row]:
    """Return label, fold, name and text of a review: cv123_45678 belongs to fold 1."""
    folder, name, fold = match.groups()
    return [(int(folder == "pos"), int(fold), name, content.decode("utf-8"))]


def build_imdb2k(frame: Any) -> dict[str, Any]:
    """Return the fields of ``Dataset``; the folds are the groups."""
    return build_sentences(frame) | {"groups": frame["fold"].to_numpy().astype(np.int64)}


def imdb_row(match: re.Match[str], content: bytes) -> list[Row]:
    """Return split, label, number, rating and text of a review; label and rating are -1 if it has none."""
    split, folder, number, rating = match.groups()
    text = content.decode("utf-8")
    if folder == "unsup":
        return [("unsup", -1, int(number), -1, text)]
    return [(split, int(folder == "pos"), int(number), int(rating), text)]


def build_imdb(frame: Any) -> dict[str, Any]:
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


def _sentences_entry(
    summary: str, rows: int, classes: tuple[str, str], citation: str, file: str, archive: dict[str, Any]
) -> DatasetEntry:
    """Return a data set of sentences with one file per class."""
    return DatasetEntry(
        summary=summary,
        rows=rows,
        classes=classes,
        terms="CC BY 4.0",
        citation=citation,
        note="Tokenised, lower case, without an official split. Rows are ordered by class: shuffle them.",
        build=build_sentences,
        table=StoredTable(
            file=file,
            rows=rows,
            columns={"label": "Int8", "id": "Int32", "text": "String"},
            archive=Archive(
                **archive,
                members=2,
                max_unpacked=3,
                max_member=2,
                rows=sentence_rows,
                order=lambda row: (-row[0], row[1]),  # class 1, then class 0
            ),
        ),
    )


A_SENTIMENTAL_EDUCATION = "Pang, Lee: A Sentimental Education, ACL 2004."
RT = _sentences_entry(
    "sentences of film reviews, positive or negative",
    10_662,
    OPINIONS,
    "Pang, Lee: Seeing Stars, ACL 2005.",
    "rt.parquet",
    {
        "address": f"{NLTK}/sentence_polarity.zip",
        "checksum": "md5:5cdc0cae7f558040d050c90eb2b72e97",
        "megabytes": 0.49,
        "pattern": r"sentence_polarity/rt-polarity\.((?P<one>pos)|neg)",
    },
)
SUBJ = _sentences_entry(
    "sentences of film reviews, subjective or objective",
    10_000,
    ("objective", "subjective"),
    A_SENTIMENTAL_EDUCATION,
    "subj.parquet",
    {
        "address": f"{NLTK}/subjectivity.zip",
        "checksum": "md5:a81a44513903ba6bb86f85aeff149561",
        "megabytes": 0.52,
        "pattern": r"subjectivity/((?P<one>quote)|plot)\.tok\.gt9\.5000",
    },
)
IMDB2K = DatasetEntry(
    summary="2,000 film reviews, positive or negative",
    rows=2_000,
    classes=OPINIONS,
    terms="CC BY 4.0",
    citation=A_SENTIMENTAL_EDUCATION,
    note=(
        "Not the reviews of imdb; tokenised, lower case, one sentence per line. The official folds are the "
        "groups. Rows are ordered by class: shuffle them."
    ),
    build=build_imdb2k,
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
            rows=imdb2k_row,
            order=lambda row: (-row[0], row[2]),  # positive before negative, then by name
        ),
    ),
)
IMDB = DatasetEntry(
    summary="IMDB reviews, positive or negative",
    rows=100_000,
    classes=OPINIONS,
    terms="No licence stated; the authors ask that the paper be cited.",
    citation="Maas, Daly, Pham, Huang, Ng, Potts: Learning Word Vectors for Sentiment Analysis, ACL 2011.",
    note=(
        "25,000 labelled, 25,000 test and 50,000 unlabelled reviews, with their <br /> markup. Rows are "
        "ordered by class: shuffle them. Within a class, reviews of the same film are adjacent. No film is "
        "in both the training set and the test set."
    ),
    build=build_imdb,
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
            rows=imdb_row,
            # By split, positive before negative, then by number.
            order=lambda row: (SPLITS.index(row[0]), -row[1], row[2]),
        ),
    ),
)


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


def build_newsgroups(frame: Any) -> dict[str, Any]:
    """Return the fields of ``Dataset``; labels are the names of the groups."""
    texts, groups = frame["text"].to_numpy(), frame["group"].cast(str).to_numpy().astype(str)
    train = frame["split"].cast(str).to_numpy() == "train"
    return {"texts": texts[train], "y": groups[train], "texts_test": texts[~train], "y_test": groups[~train]}


def build_pair(frame: Any, *, zero: str, one: str) -> dict[str, Any]:
    """Return the fields of ``Dataset`` with two groups, labelled 0 and 1, without message headers."""
    everything = build_newsgroups(frame)
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


NEWSGROUPS_TABLE = StoredTable(
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
NO_LICENCE = "No licence stated."
LANG = "Lang: NewsWeeder: Learning to Filter Netnews, ICML 1995."

NEWSGROUPS = DatasetEntry(
    summary="messages of 20 newsgroups",
    rows=18_846,
    classes=GROUPS,
    terms=NO_LICENCE,
    citation=LANG,
    note=(
        "11,314 training messages and 7,532 later test messages, with headers, signatures and quotes, which "
        "reveal much about the group. Labels are the names of the groups. Rows are ordered by class: shuffle "
        "them."
    ),
    build=build_newsgroups,
    table=NEWSGROUPS_TABLE,
)


def _pair(zero: str, one: str, rows: int) -> DatasetEntry:
    """Return the data set of two groups, labelled 0 and 1, without message headers."""
    return DatasetEntry(
        summary=f"newsgroups {one} and {zero}",
        rows=rows,
        classes=(zero, one),
        terms=NO_LICENCE,
        citation=f"{LANG} The pair: Wang, Manning: Baselines and Bigrams, ACL 2012.",
        note=(
            "Headers are removed, which leaves a few texts empty; signatures and quotes are kept. Split by "
            "date, as 20news is; join both parts for cross-validation. Rows are ordered by class: shuffle "
            "them."
        ),
        build=partial(build_pair, zero=zero, one=one),
        table=NEWSGROUPS_TABLE,
    )


XGRAPH = _pair("comp.graphics", "comp.windows.x", 1_961)
BBCRYPT = _pair("sci.crypt", "rec.sport.baseball", 1_985)
ATHR = DatasetEntry(
    summary="newsgroups alt.atheism and talk.religion.misc, binary unigrams",
    rows=ATHR_ROWS,
    classes=("talk.religion.misc", "alt.atheism"),
    terms="MIT",
    citation="Wang, Manning: Baselines and Bigrams, ACL 2012; features from github.com/sidaw/fastdropout.",
    note="Without an official split. Rows are ordered by class: shuffle them.",
    build=build_athr,
    # No checksum of the original (example_data.mat) is published.
    table=StoredTable(
        file="athr.parquet",
        rows=ATHR_ROWS,
        columns={"label": "Int8", "features": "List(Int32)"},
        origin="example_data.mat of github.com/sidaw/fastdropout",
    ),
)
