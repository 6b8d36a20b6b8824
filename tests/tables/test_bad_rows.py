"""A stream skips bad rows, reports the position of each, and loses no other row."""

import io
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dropglm import tables
from tests.tables.rows import SlowFile, encoded, gathered, parquet, place, table

# Bad rows of JSON Lines, and a part of the message about each.
BAD_JSON = {
    "broken": (b'{"text": "b', "is not valid JSON: Unterminated string"),
    "two objects": (
        b'{"text": "b", "label": 1} {}',
        "is not valid JSON: there is more after the end of the value",
    ),
    "number": (b"3", "is a number; each line must be an object"),
    "list": (b'["b", "x"]', "is a list; each line must be an object"),
    "key twice": (b'{"text": "b", "text": "b", "label": 1}', "is not valid JSON: a key occurs twice"),
    "NaN": (b'{"text": "b", "label": NaN}', "is not valid JSON: NaN is not allowed in JSON"),
    "no text": (b'{"label": 1}', "has no 'text'"),
    "null text": (b'{"text": null, "label": 1}', "has no text (null in 'text')"),
    "number for a text": (b'{"text": 1, "label": 1}', "has a number as its 'text'"),
    "list for a label": (b'{"text": "b", "label": [1]}', "has a list as its label"),
    "object for a label": (b'{"text": "b", "label": {}}', "has an object as its label"),
    "long": (b'{"text": "' + b"b" * 2000 + b'", "label": 1}', "is longer than 500 characters"),
    "long and not UTF-8": (b"\xff" * 2000, ""),
    "NUL": (b'{"text": "b\0", "label": 1}', "contains a NUL byte"),
    "not UTF-8": (
        b'{"text": "b\xe9", "label": 1}',
        "0xe9; set encoding to that of the file, for example 'cp1252'",
    ),
    "character cut short": (b'{"text": "b", "label": 1}\xe2\x82', "0xe2; set encoding"),
    "half a pair": (b'{"text": "\\ud800", "label": 1}', "contains half of a surrogate pair"),
    "label with half a pair": (b'{"text": "b", "label": "\\udfff"}', "contains half of a surrogate pair"),
}
BAD_CSV = {
    "too many fields": (b"b,c,x", "has 3 fields, but the header has 2"),
    "too few fields": (b"b", "has 1 field, but the header has 2"),
    "text after a quote": (b'"b"c,x', "has more text after a closing quote"),
    "text after a quote lines later": (b'"b\n\n"c,x', "has more text after a closing quote"),
    "carriage return": (b"b\rc,x", "contains a carriage return outside quotes"),
    "long": (b'"' + b"b" * 2000 + b'",x', "is longer than 500 characters"),
    "NUL": (b"b\0,x", "contains a NUL byte"),
    "NUL in lines": (b'"b\n\0\n,",x', "contains a NUL byte"),
    "not UTF-8": (b"b\xe9,x", "0xe9; set encoding to that of the file, for example 'cp1252'"),
    "not UTF-8 in lines": (b'"b\xff\n,\n\xe9",x', "0x"),
}
CASES = [("jsonl", *case) for case in BAD_JSON.values()] + [("csv", *case) for case in BAD_CSV.values()]
IDS = [f"json {name}" for name in BAD_JSON] + [f"csv {name}" for name in BAD_CSV]


@pytest.mark.parametrize("position", [0, 1, 3])
@pytest.mark.parametrize(("format", "bad", "sentence"), CASES, ids=IDS)
@pytest.mark.parametrize("step", [3, 1 << 20])
def test_a_bad_row_is_raised_or_skipped(format, bad, sentence, position, step):
    good = [("one", "x"), ("two,\ttwo", "y"), ("é", "x")]
    rows = encoded(format, good)
    rows.insert(position, bad)
    data, spans = table(format, rows)
    expected = [(i + 1, span[0]) for i, span in enumerate(spans) if i != position]
    found, messages = gathered(SlowFile(data, step), format=format)
    assert found == [(*where, *row) for where, row in zip(expected, good, strict=True)]
    assert len(messages) == 1
    assert messages[0].startswith(place(position + 1, spans[position]))
    assert sentence in messages[0]
    assert messages[0].endswith(".")
    with pytest.raises(tables.TableError) as caught:
        gathered(SlowFile(data, step), format=format, skip_bad=False)
    # In strict reading the first bad line is reported at once, even if the row has more lines.
    assert str(caught.value).startswith(f"the open file: row {position + 1} (line")
    assert sentence in str(caught.value)


TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\r"), max_size=12)
LABELS = st.sampled_from(["x", "y", "é", "1", "true"])
WHOLE_LINES = {"jsonl": [bad for bad, _ in BAD_JSON.values()], "csv": [bad for bad, _ in BAD_CSV.values()]}


@st.composite
def mixtures(draw):
    """Draw a format and rows of it: their bytes, and the text and label, or None for a bad row."""
    format = draw(st.sampled_from(["jsonl", "csv"]))
    good = draw(st.lists(st.tuples(TEXTS, LABELS), min_size=1, max_size=8))
    rows = list(zip(encoded(format, good), good, strict=True))
    for bad in draw(st.lists(st.sampled_from(WHOLE_LINES[format]), max_size=5)):
        rows.insert(draw(st.integers(0, len(rows))), (bad, None))
    return format, rows


@given(
    mixtures(),
    st.integers(1, 60),
    st.integers(0, 14),
    st.sampled_from([1, 2, 7, 1 << 20]),
    st.sampled_from([b"\n", b"\r\n"]),
)
def test_good_rows_are_yielded_and_bad_rows_are_reported(mixture, characters, start, step, end):
    format, rows = mixture
    data, spans = table(format, [row for row, _ in rows], end)
    numbered = list(enumerate(zip(rows, spans, strict=True), start=1))[start:]
    found, messages = gathered(SlowFile(data, step), format=format, characters=characters, start=start)
    assert found == [(n, span[0], *pair) for n, ((_, pair), span) in numbered if pair]
    places = [place(n, span) for n, ((_, pair), span) in numbered if not pair]
    assert len(messages) == len(places)
    assert all(message.startswith(where) for message, where in zip(messages, places, strict=True))


def test_an_unclosed_quote_takes_the_rows_up_to_the_next_quote():
    data = b'text,label\na,x\n"b,y\nc,x\n"d",y\ne,x\n'
    found, bad = gathered(io.BytesIO(data))
    assert found == [(1, 2, "a", "x"), (3, 6, "e", "x")]
    assert bad[0].startswith("the open file: row 2 (lines 3 to 5) has more text after a closing quote")
    found, bad = gathered(io.BytesIO(b'text,label\na,x\n"b,y\nc,x\n'))
    assert found == [(1, 2, "a", "x")]
    assert bad == ["the open file: row 2 (lines 3 to 4) opens a quote that is never closed."]


def test_an_unclosed_quote_takes_at_most_the_maximum_row_length():
    data = b'text,label\n"a,x\n' + b"b,y\n" * 9
    found, bad = gathered(io.BytesIO(data), max_row_length=16)
    assert [row[:2] for row in found] == [(number, number + 4) for number in range(2, 8)]
    assert len(bad) == 1
    assert "row 1 (lines 2 to 5) is longer than 16 characters" in bad[0]


def test_one_very_long_line_is_skipped_in_little_memory(tmp_path):
    for name, good in (("t.csv", b"a,x\n"), ("t.jsonl", b'{"text": "a", "label": "x"}\n')):
        with open(tmp_path / name, "wb") as file:
            file.write(b"text,label\n" * (name == "t.csv") + good)
            for _ in range(30):
                file.write(b"\xff" + b"x" * 1_000_000)
            file.write(b"\n" + good)
        tracemalloc.start()
        found, bad = gathered(tmp_path / name, format=None, max_row_length=3_000_000)
        assert tracemalloc.get_traced_memory()[1] < 60e6
        tracemalloc.stop()
        assert [row[0] for row in found] == [1, 3]
        assert len(bad) == 1


def test_stored_errors_do_not_keep_the_lines_in_memory():
    data = b"text,label\na,x\n" + (b'"' + b"b" * 99_000 + b"\n" + b"b" * 900 + b'"c,x\n') * 100
    gathered(io.BytesIO(data), max_row_length=10**7)  # loads what is compiled
    tracemalloc.start()
    table = tables.Table(io.BytesIO(data), "text", "label", format="csv")
    (batch,) = table.batches(skip_bad=True)
    assert tracemalloc.get_traced_memory()[0] < 1e6
    tracemalloc.stop()
    assert len(batch.bad) == 100


@pytest.mark.parametrize("encoding", ["utf-8-sig", "ascii", "cp1252", "gbk", "shift_jis", "euc_jp"])
@pytest.mark.parametrize("step", [1, 1 << 20])
def test_a_bad_byte_affects_only_its_line_in_other_encodings(encoding, step):
    lines = ["text,label\n".encode(encoding), b"a,x\n", b"b\x81\xff,x\n", b"c,y\n", b"\x81\n", b"d,y\n"]
    found, bad = gathered(SlowFile(b"".join(lines), step), encoding=encoding)
    assert [row[:3] for row in found] == [(1, 2, "a"), (3, 4, "c"), (5, 6, "d")]
    assert len(bad) == 2
    assert f"row 2 (line 3) is not {encoding.upper()}: it contains the byte 0x81;" in bad[0]
    assert f"row 4 (line 5) is not {encoding.upper()}: it contains the byte 0x81;" in bad[1]


def test_a_bad_byte_is_fatal_in_codecs_that_cannot_resume_after_it():
    data = "text,label\na,x\n".encode("utf-16-le") + b"\x00\xdc\n\0" + "b,y\n".encode("utf-16-le")
    with pytest.raises(tables.TableError, match=r"row 2 \(line 3\) is not UTF-16-LE: byte 30 of the file"):
        gathered(io.BytesIO(data), encoding="utf-16-le")


@pytest.mark.parametrize("position", [0, 1, 2500])
def test_bad_rows_in_parquet(position):
    text, label, sentence = None, 1.0, "has no text (null in 'text')."
    texts, labels = [f"text {i}" for i in range(2500)], [1.5] * 2500
    expected = [(i + 1 + (i >= position), None, each, "1.5") for i, each in enumerate(texts)]
    texts.insert(position, text)
    labels.insert(position, label)
    found, bad = gathered(parquet(text=texts, label=labels), format="parquet", characters=100)
    assert found == expected
    assert len(bad) == 1
    assert bad[0].startswith(f"the open file: row {position + 1} {sentence}")
    with pytest.raises(tables.TableError) as caught:
        gathered(parquet(text=texts, label=labels), format="parquet", skip_bad=False)
    assert str(caught.value) == bad[0]
    later, bad = gathered(parquet(text=texts, label=labels), format="parquet", start=position + 1)
    assert later == [row for row in expected if row[0] > position + 1]
    assert bad == []


def test_deeply_nested_brackets_are_a_bad_row():
    deep = b"[" * 100_000
    data = deep + b"\n" + b'{"text": "a", "label": 1}\n' + deep
    found, bad = gathered(io.BytesIO(b"{}\n" + data), format="jsonl", max_row_length=10**6)
    assert found == [(3, 3, "a", "1")]
    assert [sentence[15:20] for sentence in bad] == ["row 1", "row 2", "row 4"]
