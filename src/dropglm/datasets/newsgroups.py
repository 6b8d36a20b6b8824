"""20 Newsgroups, by date, and two pairs of its groups that are hard to tell apart."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from dropglm.datasets.entry import Archive, Columns, Entry, Member, Table

SPLITS = ("train", "test")
GROUPS = (
    "alt.atheism",
    "comp.graphics",
    "comp.os.ms-windows.misc",
    "comp.sys.ibm.pc.hardware",
    "comp.sys.mac.hardware",
    "comp.windows.x",
    "misc.forsale",
    "rec.autos",
    "rec.motorcycles",
    "rec.sport.baseball",
    "rec.sport.hockey",
    "sci.crypt",
    "sci.electronics",
    "sci.med",
    "sci.space",
    "soc.religion.christian",
    "talk.politics.guns",
    "talk.politics.mideast",
    "talk.politics.misc",
    "talk.religion.misc",
)


def parse(members: Iterable[Member]) -> Columns:
    """The messages by split, group and article number."""
    rows = []
    for match, content in members:
        split, group, number = match.groups()
        rows.append((SPLITS.index(split), group, int(number), content.decode("latin-1")))
    rows.sort(key=lambda row: row[:3])
    splits, groups, ids, texts = (list(column) for column in zip(*rows, strict=True))
    return {"split": [SPLITS[split] for split in splits], "group": groups, "id": ids, "text": texts}


def parts(frame: Any) -> dict[str, Any]:
    """The fields of ``Dataset``; labels are the names of the groups."""
    texts, groups = frame["text"].to_numpy(), frame["group"].cast(str).to_numpy().astype(str)
    train = frame["split"].cast(str).to_numpy() == "train"
    return {"texts": texts[train], "y": groups[train], "texts_test": texts[~train], "y_test": groups[~train]}


def pair(zero: str, one: str) -> Callable[[Any], dict[str, Any]]:
    """The fields of ``Dataset`` for two groups, labelled 0 and 1, without the messages' headers."""

    def two_groups(frame: Any) -> dict[str, Any]:
        whole = parts(frame)
        fields = {}
        for end in ("", "_test"):
            mine = np.isin(whole[f"y{end}"], (zero, one))
            bodies = [without_header(text) for text in whole[f"texts{end}"][mine]]
            fields[f"texts{end}"] = np.array(bodies, object)
            fields[f"y{end}"] = (whole[f"y{end}"][mine] == one).astype(np.int64)
        return fields

    return two_groups


def without_header(message: str) -> str:
    r"""What follows the first empty line.

    Examples
    --------
    >>> without_header("From: someone\nSubject: something\n\nHello.\n")
    'Hello.\n'
    """
    return message.partition("\n\n")[2]


TABLE = Table(
    file="20news.parquet",
    rows=18_846,
    columns={"split": "Categorical", "group": "Categorical", "id": "Int32", "text": "String"},
    archive=Archive(
        # Address and checksum are those of scikit-learn (datasets/_twenty_newsgroups.py).
        address="https://ndownloader.figshare.com/files/5975967",
        checksum="sha256:8f1b2514ca22a5ade8fbb9cfa5727df95fa587f4c87b786e15c759fa66d95610",
        megabytes=14.5,
        pattern=rf"20news-bydate-(train|test)/({'|'.join(GROUPS).replace('.', '[.]')})/(\d{{1,6}})",
        members=18_846,
        unpacked=150,
        largest=2,
        parse=parse,
    ),
)
TERMS = "No licence stated."
LANG = "Lang: NewsWeeder: Learning to Filter Netnews, ICML 1995."
PAIRS = f"{LANG} The pair: Wang, Manning: Baselines and Bigrams, ACL 2012."
PAIRS_NOTE = (
    "Headers are removed, which leaves a handful empty; signatures and quotes are not. Split by date, as the "
    "whole is; join both parts for a cross-validation. Rows are ordered by class: shuffle them."
)

NEWSGROUPS = Entry(
    summary="messages of 20 newsgroups",
    rows=18_846,
    classes=GROUPS,
    terms=TERMS,
    citation=LANG,
    note=(
        "11,314 messages to train on and 7,532 later ones to test on, whole: headers, signatures and quotes "
        "give much away. Labels are the groups' names. Rows are ordered by class: shuffle them."
    ),
    parts=parts,
    table=TABLE,
)
XGRAPH = Entry(
    summary="newsgroups comp.windows.x and comp.graphics",
    rows=1_961,
    classes=("comp.graphics", "comp.windows.x"),
    terms=TERMS,
    citation=PAIRS,
    note=PAIRS_NOTE,
    parts=pair("comp.graphics", "comp.windows.x"),
    table=TABLE,
)
BBCRYPT = Entry(
    summary="newsgroups rec.sport.baseball and sci.crypt",
    rows=1_985,
    classes=("sci.crypt", "rec.sport.baseball"),
    terms=TERMS,
    citation=PAIRS,
    note=PAIRS_NOTE,
    parts=pair("sci.crypt", "rec.sport.baseball"),
    table=TABLE,
)
