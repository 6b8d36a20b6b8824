"""Every bad table gives one sentence that names the file and, where it helps, the row and the line."""

import bz2
import gzip
import io
import lzma
import re
import subprocess
import sys
import textwrap
import tracemalloc

import pytest

from dropglm import tables
from tests.tables.rows import SlowFile, parquet, read_frame, read_frames

GOOD = b"text,label\na,x\nb,y\n"


def parquet_bytes(**columns):
    return parquet(**columns).getvalue()


PARQUET = parquet_bytes(text=["a", "b"], label=["x", "y"])

# File name, bytes, and a part of the message after the file's name.
TABLES = {
    "unclosed quote": (
        "t.csv",
        b'text,label\na,x\n"b,y\nc,x\n',
        "row 2 (lines 3 to 4) opens a quote that is never",
    ),
    "text after a quote": (
        "t.csv",
        b'text,label\n"a"b,x\n',
        "row 1 (line 2) has more text after a closing quote",
    ),
    "quote closed rows later": (
        "t.csv",
        b'text,label\n"a,x\nb,y\n"c",x\n',
        "row 1 (lines 2 to 4) has more text",
    ),
    "too many fields": (
        "t.csv",
        b"text,label\na,x\nb,c,y\n",
        "row 2 (line 3) has 3 fields, but the header has 2",
    ),
    "too few fields": (
        "t.csv",
        b'text,label\n"a\nb",x\nc\n',
        "row 2 (line 4) has 1 field, but the header has 2",
    ),
    "rows after quoted newlines": (
        "t.csv",
        b'text,label\r\n"a\r\n\r\nb",x\r\n\r\nc,y\r\nd\r\n',
        "row 3 (line 7) has 1 field, but the header has 2",
    ),
    "carriage returns": (
        "t.csv",
        b"text,label\ra,x\rb,y\r",
        "the header (line 1) contains a carriage return",
    ),
    "column twice": ("t.csv", b"text,label,text\na,x,b\n", "2 columns are named 'text'; rename all but one."),
    "other column": (
        "t.csv",
        b"Txt,label\na,x\n",
        "there is no column 'text' (did you mean 'Txt'?); its columns: 'Txt', 'label'.",
    ),
    "case of a column": ("t.csv", b"TEXT,label\na,x\n", "(did you mean 'TEXT'?)"),
    "many columns": ("t.csv", b",".join([b"c%d" % i for i in range(40)]), "'c11' and 28 more."),
    "semicolons": (
        "t.csv",
        b"text;label\na;x\n",
        "is a single column with the delimiter ','; set delimiter to ';'.",
    ),
    "tabs": ("t.csv", b"text\tlabel\na\tx\n", "set format to 'tsv'."),
    "commas": ("t.tsv", b"text,label\na,x\n", "set delimiter to ','."),
    "header only": ("t.csv", b"text,label\n", "this table has a header but no rows."),
    "empty csv": ("t.csv", b"", "this file is empty."),
    "blank csv": ("t.csv", b"\xef\xbb\xbf \n\r\n\t\n", "this file is empty."),
    "empty json": ("t.jsonl", b"", "this file is empty."),
    "blank json": ("t.jsonl", b"\xef\xbb\xbf\n \n", "this file is empty."),
    "empty parquet": ("t.parquet", b"", "this file is empty."),
    "empty gzip": ("t.csv.gz", b"", "this file is empty."),
    "parquet without rows": (
        "t.parquet",
        parquet_bytes(text=[], label=[]),
        "this table has columns but no rows.",
    ),
    "latin-1": (
        "t.csv",
        b'text,label\n"a\nb",x\nn\xe9,y\n',
        "row 2 (line 4) is not UTF-8: byte 20 of the file is 0xe9; set encoding to that of the file, "
        "for example 'cp1252'.",
    ),
    "character cut short": (
        "t.csv",
        GOOD + b"\xe2\x82",
        "row 3 (line 4) is not UTF-8: byte 19 of the file is 0xe2",
    ),
    "latin-1 json": (
        "t.jsonl",
        b'{"text": "\xff"}',
        "row 1 (line 1) is not UTF-8: byte 10 of the file is 0xff",
    ),
    "nul": (
        "t.csv",
        b"text,label\na,x\nb\0,y\n",
        "row 2 (line 3) contains a NUL byte (line 3, character 2); remove it.",
    ),
    "utf-16 without a mark": (
        "t.csv",
        GOOD.decode().encode("utf-16-le"),
        "the header (line 1) contains NUL bytes because the file looks like UTF-16; "
        "set encoding to 'utf-16-le'.",
    ),
    "two objects": (
        "t.jsonl",
        b'{"text": "a", "label": 1} {}',
        "is not valid JSON: there is more after the end of the value, at character 26.",
    ),
    "not json": (
        "t.jsonl",
        b'{"text": "a", "label": 1}\n\n{"text" "b"}\n',
        "row 2 (line 3) is not valid JSON: Expecting ':' delimiter at character 9.",
    ),
    "cut json": (
        "t.jsonl",
        b'{"text": "a", "label": 1}\n{"text": "b',
        "row 2 (line 2) is not valid JSON: Unterminated",
    ),
    "list": ("t.jsonl", b'["a", 1]\n', "row 1 (line 1) is a list; each line must be an object"),
    "array": (
        "t.jsonl",
        b'[\n{"text": "a", "label": 1}\n]',
        "row 1 (line 1) starts a JSON array; JSON Lines has one",
    ),
    "word": ("t.jsonl", b'"a"\n', "row 1 (line 1) is a string; each line"),
    "nan": (
        "t.jsonl",
        b'{"text": "a", "label": NaN}\n',
        "row 1 (line 1) is not valid JSON: NaN is not allowed in JSON",
    ),
    "key twice": (
        "t.jsonl",
        b'{"text": "a", "text": "b", "label": 1}\n',
        "row 1 (line 1) is not valid JSON: a key occurs twice",
    ),
    "deep": (
        "t.jsonl",
        b"[" * 100_000 + b"\n",
        "row 1 (line 1) is not valid JSON: maximum recursion",
    ),
    "digits": (
        "t.jsonl",
        b'{"text": "a", "label": ' + b"9" * 5000 + b"}",
        "row 1 (line 1) is not valid JSON: ",
    ),
    "lacks the text": (
        "t.jsonl",
        b'{"text": "a", "label": 1}\n{"txt": "b", "label": 1}\n',
        "row 2 (line 2) has no 'text' (did you mean 'txt'?); its keys: 'txt', 'label'.",
    ),
    "null text": ("t.jsonl", b'{"text": null, "label": 1}\n', "row 1 (line 1) has no text (null in 'text')."),
    "number for a text": (
        "t.jsonl",
        b'{"text": 1, "label": 1}\n',
        "row 1 (line 1) has a number as its 'text'; a text must",
    ),
    "list for a label": (
        "t.jsonl",
        b'{"text": "a", "label": [1]}\n',
        "row 1 (line 1) has a list as its label",
    ),
    "half a pair": (
        "t.jsonl",
        b'{"text": "\\ud800", "label": 1}\n',
        "row 1 (line 1) contains half of a surrogate pair",
    ),
    "cut parquet": ("t.parquet", PARQUET[:-20], "this Parquet file is truncated."),
    "short parquet": ("t.parquet", PARQUET[:5], "this Parquet file is truncated."),
    "no parquet": ("t.parquet", GOOD, "this is not a Parquet file; set format to its actual format."),
    "broken parquet": ("t.parquet", b"PAR1abcdPAR1", "this Parquet file is damaged ("),
    "numbers in parquet": (
        "t.parquet",
        parquet_bytes(text=[1], label=[1]),
        "column 'text' has the type Int64; texts must",
    ),
    "lists in parquet": (
        "t.parquet",
        parquet_bytes(text=["a"], label=[[1]]),
        "column 'label' has the type List(Int64), which is not valid for labels",
    ),
    "nulls in parquet": (
        "t.parquet",
        parquet_bytes(text=["a", None], label=[1, 1]),
        "row 2 has no text (null in 'text').",
    ),
    "other column in parquet": ("t.parquet", parquet_bytes(txt=["a"], label=[1]), "(did you mean 'txt'?)"),
    "cut gzip": ("t.csv.gz", gzip.compress(GOOD * 99)[:-20], "the compressed data ends too early"),
    "cut bzip2": ("t.csv.bz2", bz2.compress(GOOD * 99)[:-20], "the compressed data ends too early"),
    "cut xz": ("t.csv.xz", lzma.compress(GOOD * 99)[:-20], "the compressed data ends too early"),
    "no gzip": ("t.csv.gz", GOOD, "this file cannot be read (Not a gzipped file"),
    "no bzip2": ("t.csv.bz2", GOOD, "this file cannot be read (Invalid data stream"),
    "no xz": ("t.csv.xz", GOOD, "this file cannot be read (Input format not supported"),
    "gzip by its bytes": (
        "t.csv",
        gzip.compress(GOOD),
        "this is compressed with gzip; set format to 'csv.gz'.",
    ),
    "bzip2 by its bytes": ("t.jsonl", bz2.compress(GOOD), "bzip2; set format to 'jsonl.bz2'."),
    "xz by its bytes": ("t.tsv", lzma.compress(GOOD), "xz; set format to 'tsv.xz'."),
    "parquet by its bytes": ("t.csv", PARQUET, "this is a Parquet file; set format to 'parquet'."),
    "workbook": ("t.csv", b"PK\x03\x04\x14\x00", "this is a zip archive or a workbook"),
    "long field": (
        "t.csv",
        b'text,label\na,x\n"' + b"b" * 2000 + b'",y\n',
        "row 2 (line 3) is longer than 1,000 char",
    ),
    "long row": ("t.csv", b'text,label\n"' + b"b\n" * 2000, "row 1 (lines 2 to "),
    "long json": ("t.jsonl", b'{"text": "' + b"b" * 2000, "row 1 (line 1) is longer than 1,000 characters"),
    "unknown suffix": (
        "t.xlsx",
        b"",
        "cannot determine the format from the name; set format to one of 'csv', 'jsonl', 'parquet', 'ts",
    ),
    "no suffix": ("t", b"", "cannot determine the format from the name"),
    "only a compression": ("t.gz", b"", "cannot determine the format from the name"),
}


def first_bad_byte(data, encoding):
    try:
        data.decode(encoding)
    except UnicodeDecodeError as error:
        return error.start
    return None


def message(path, **settings):
    """Return the message, without the file's name before it."""
    with pytest.raises(tables.TableError) as caught:
        read_frame(path, "text", "label", **settings)
    found = str(caught.value)
    assert "\n" not in found
    assert found.endswith(".")
    assert found.startswith(f"{path}: ")
    return found.removeprefix(f"{path}: ")


@pytest.mark.parametrize(("name", "data", "sentence"), TABLES.values(), ids=TABLES)
def test_a_bad_table_is_reported_in_one_sentence(tmp_path, name, data, sentence):
    path = tmp_path / name
    path.write_bytes(data)
    max_row_length = 1000 if b"b" * 99 in data or b"b\n" * 99 in data else 10_000_000
    assert sentence in message(path, max_row_length=max_row_length)
    with pytest.raises(tables.TableError):
        list(read_frames(path, "text", "label", max_row_length=max_row_length))


@pytest.mark.parametrize("name", ["header only", "empty csv", "empty json", "parquet without rows"])
def test_a_table_without_rows_has_an_error_of_its_own(tmp_path, name):
    file, data, _ = TABLES[name]
    (tmp_path / file).write_bytes(data)
    with pytest.raises(tables.EmptyTableError):
        read_frame(tmp_path / file, "text", "label")
    (tmp_path / file).write_bytes(GOOD[:8])
    with pytest.raises(tables.TableError) as caught:
        read_frame(tmp_path / file, "text", "label")
    assert type(caught.value) is not tables.EmptyTableError


def test_a_file_that_cannot_be_opened(tmp_path, monkeypatch):
    assert message(tmp_path / "none.csv") == "there is no such file."
    (tmp_path / "folder.csv").mkdir()
    assert message(tmp_path / "folder.csv") == "this is a folder; name a file in it."
    (tmp_path / "t.csv").write_bytes(GOOD)
    assert message(tmp_path / "t.csv" / "u.csv") == "there is no such file."

    def refuse(*_):
        raise PermissionError

    monkeypatch.setattr("builtins.open", refuse)  # root may read all
    assert message(tmp_path / "t.csv") == "you may not read this file (permission denied)."


def test_invalid_settings(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(GOOD)
    for error, sentence, settings in (
        (
            ValueError,
            "format 'cvs' is unknown (did you mean 'csv'?); known: 'csv', 'jsonl'",
            {"format": "cvs"},
        ),
        (ValueError, "format 'x.csv' is unknown", {"format": "x.csv"}),
        (TypeError, "format must be a name, got 1", {"format": 1}),
        (ValueError, "encoding 'lattin-1' is unknown (did you mean 'latin-1'?).", {"encoding": "lattin-1"}),
        (ValueError, "encoding 'base64' is unknown", {"encoding": "base64"}),
        (ValueError, "encoding 'punycode' is unknown", {"encoding": "punycode"}),
        (ValueError, "max_row_length must be a positive integer, got 0.", {"max_row_length": 0}),
        (ValueError, "encoding '?' is unknown; for example 'utf-8', 'utf-16'", {"encoding": "?"}),
        (ValueError, "delimiter must be one character", {"delimiter": "::"}),
        (ValueError, "Column 'text' is requested twice.", {"label": "text"}),
        (TypeError, "A column must be a name, got 3.", {"label": 3}),
    ):
        with pytest.raises(error) as caught:
            read_frame(path, "text", **settings)
        assert sentence in str(caught.value)
    with pytest.raises(ValueError, match="max_rows must be a positive integer, got 0"):
        list(read_frames(path, "text", size=0))
    with pytest.raises(TypeError, match="open in text mode; open it in binary mode"):
        read_frame(io.StringIO("text\na\n"), "text", format="csv")
    with pytest.raises(TypeError, match="A table must be a path, '-' or an open binary file, got 3"):
        read_frame(3, "text", format="csv")


def test_the_given_encoding_is_used(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes("text,label\né,x\n".encode("cp1252"))
    assert read_frame(path, "text", encoding="cp1252")["text"].to_list() == ["é"]
    path.write_bytes("text,label\né,x\n".encode("cp500"))
    assert read_frame(path, "text", encoding="cp500")["text"].to_list() == ["é"]
    path.write_bytes("text,label\na,x\n".encode("utf-16-le") + b"\x00\xdc\n\0")
    assert "row 2 (line 3) is not UTF-16-LE: byte 30 of the file is 0x00" in message(
        path, encoding="utf-16-le"
    )


@pytest.mark.parametrize("missing", [1, 2, 3])
@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be", "utf-32", "utf-32-le"])
def test_a_file_in_a_wide_encoding_that_ends_within_a_character_is_incomplete(encoding, missing):
    data = "text,label\nfine,1\nbad,\N{GRINNING FACE}".encode(encoding)[:-missing]
    with pytest.raises(tables.TableError) as caught:
        read_frame(io.BytesIO(data), "text", "label", format="csv", encoding=encoding)
    sentence = str(caught.value)
    assert "row 2 (line 3) ends in the middle of a character of UTF-" in sentence
    assert f"at byte {len(data) - 4 + missing} of the file, so the file is incomplete" in sentence
    assert "cp1252" not in sentence


def test_the_bad_byte_is_found_after_the_first_chunk(tmp_path):
    path = tmp_path / "t.csv"
    row = '"é\nü",x\n'.encode()
    path.write_bytes(b"text,label\n" + row * 300_000 + b"\xff,y\n" + row * 300_000)
    assert message(path) == (
        f"row 300001 (line 600002) is not UTF-8: byte {11 + 300_000 * len(row):,} of the file is 0xff; "
        "set encoding to that of the file, for example 'cp1252'."
    )


@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf-16", "utf-32-be", "gbk", "euc_jp", "shift_jis", "iso2022_jp"]
)
def test_the_bad_byte_is_found_in_every_encoding(encoding, rng):
    """A random byte in a text that arrives in pieces: the error has the position that the codec reports."""
    reported = 0
    for _ in range(100):
        data = bytearray('text,label\n"日\n本",x\n語,y\n'.encode(encoding))
        data.insert(rng.integers(4, len(data)), rng.integers(256))
        file = SlowFile(bytes(data), int(rng.integers(1, 40)))
        start = first_bad_byte(data, encoding)
        if start is not None:
            with pytest.raises(tables.TableError) as caught:
                read_frame(file, "text", "label", format="csv", encoding=encoding)
            if "of the file" in str(caught.value):
                reported += 1
                within, at_the_end = f"is 0x{data[start]:02x};", "so the file is incomplete"
                assert re.search(rf" byte {start} of the file(, {at_the_end}| {within})", str(caught.value))
    assert reported > 5


def test_one_very_long_line_takes_little_memory(tmp_path):
    for name, start in (("t.csv", b'text,label\n"'), ("t.jsonl", b'{"text": "'), ("u.csv", b"")):
        path = tmp_path / name
        with open(path, "wb") as file:
            file.write(start)
            for _ in range(50):
                file.write(b"x" * 1_000_000)
        tracemalloc.start()
        assert "is longer than 10,000,000 characters" in message(path)
        assert tracemalloc.get_traced_memory()[1] < 40e6
        tracemalloc.stop()


def test_zstandard_works_or_names_the_python_version_it_needs(tmp_path):
    path = tmp_path / "t.csv.zst"
    path.write_bytes(b"\x28\xb5\x2f\xfd")
    with pytest.raises(tables.TableError, match=r"needs Python 3\.14|ends too early"):
        read_frame(path, "text")


def test_missing_polars_is_reported_in_one_sentence(monkeypatch):
    """Only Parquet needs it."""
    monkeypatch.setitem(sys.modules, "polars", None)
    assert tables.Table(io.BytesIO(GOOD), format="csv").read().texts == ["a", "b"]
    with pytest.raises(
        ImportError, match=r"Tables need polars; install it with: pip install 'dropglm\[tables\]'\."
    ):
        tables.Table(io.BytesIO(PARQUET), format="parquet").read()


def test_texts_in_memory_need_no_polars():
    """Block the import of polars in a new process; fit and predict with texts in lists."""
    program = """
        import sys

        class NoPolars:
            def find_spec(self, name, path=None, target=None):
                if name.partition(".")[0] == "polars":
                    raise ImportError("polars is blocked")

        sys.meta_path.insert(0, NoPolars())
        import dropglm.datasets, dropglm.tables, dropglm.text
        texts, y = ["good film", "bad film"] * 5, [1, 0] * 5
        for classifier in (dropglm.TextClassifier(tune=False), dropglm.OnlineTextClassifier()):
            assert classifier.fit(texts, y).predict(["good"]).tolist() == [1]
    """
    command = [sys.executable, "-c", textwrap.dedent(program)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
@pytest.mark.parametrize("step", [1, 3, 1 << 20])
def test_wide_encodings_without_a_byte_order_mark_are_suggested(encoding, step):
    file = SlowFile('{"text": "a good film", "label": 1}\n'.encode(encoding), step)
    with pytest.raises(tables.TableError) as caught:
        read_frame(file, "text", "label", format="jsonl")
    assert f"looks like {encoding[:6].upper()}; set encoding to {encoding!r}." in str(caught.value)
    file = SlowFile('{"text": "a good film", "label": 1}\n'.encode(encoding), step)
    frame = read_frame(file, "text", "label", format="jsonl", encoding=encoding)
    assert frame.rows() == [("a good film", "1")]


@pytest.mark.parametrize("at", [0, 1, 3, 17, 18])
def test_a_single_nul_byte_is_located(at):
    data = b"text,label\na,x\nb,y\n"
    data = data[:at] + b"\0" + data[at:]
    line, character = data[:at].count(b"\n") + 1, at - (data[:at].rfind(b"\n") + 1) + 1
    with pytest.raises(tables.TableError) as caught:
        read_frame(io.BytesIO(data), "text", "label", format="csv")
    assert f"contains a NUL byte (line {line}, character {character}); remove it." in str(caught.value)
    assert "UTF-16" not in str(caught.value)


def test_damaged_parquet_is_reported_or_read_completely(tmp_path, rng):
    """After a flipped bit there is an error that names the file, or there are as many rows as before."""
    path = tmp_path / "t.parquet"
    data = bytearray(parquet_bytes(text=[f"text {i}" for i in range(100)], label=list(range(100))))
    reported = 0
    for _ in range(200):
        broken = data.copy()
        broken[rng.integers(4, len(data) - 4)] ^= 1 << rng.integers(8)
        path.write_bytes(broken)
        try:
            assert read_frame(path, "text", "label").height == 100
        except tables.TableError as error:
            found = str(error)
            assert found.startswith(f"{path}: ")
            assert "\n" not in found
            reported += 1
    assert 0 < reported < 200
