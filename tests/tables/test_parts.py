"""Parts of tables: together they have the rows of the whole table."""

import csv

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dropglm import tables
from dropglm.tables import Table, find_files

FIELDS = st.text(st.sampled_from('ab,;"\n\r é京'), max_size=12)


def texts_of(parts):
    """Return the texts and labels of all parts."""
    read = [part.read() for part in parts]
    return [text for one in read for text in one.texts], [y for one in read for y in one.labels]


def cut(path, size, label=None, **settings):
    return Table(str(path), "text", label, **settings).parts(size)


@given(st.lists(st.tuples(FIELDS, st.sampled_from(["1", "0", "é"])), min_size=1), st.integers(1, 60))
def test_pieces_of_a_csv_have_its_rows(tmp_path_factory, rows, size):
    """Quoted line ends and quotes do not mislead the cuts, wherever these are."""
    path = tmp_path_factory.mktemp("tables") / "a.csv"
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("text", "label"), *rows])
    parts = cut(path, size, "label")
    assert texts_of(parts) == ([text for text, _ in rows], [y for _, y in rows])
    assert Table(path, "text", "label").read().texts == [text for text, _ in rows]


def test_large_files_have_several_pieces_of_about_the_same_size(tmp_path):
    texts = [f'row {k}, a "text"\nof two lines' for k in range(1000)]
    path = tmp_path / "a.csv"
    pl.DataFrame({"text": texts, "label": ["x"] * 1000}).write_csv(path)
    parts = cut(path, 5000, "label")
    sizes = [one.part.stop - one.part.start for one in parts]
    assert len(parts) >= 8
    assert max(sizes) < 5100
    assert min(sizes[:-1]) >= 4900
    assert texts_of(parts)[0] == texts


def test_stray_quotes_and_blank_lines_are_read_as_in_a_whole_table(tmp_path):
    path = tmp_path / "a.csv"
    rows = [f'{k},5" screen' if k % 3 else f'{k},"two\nlines, ""quoted"""' for k in range(60)]
    path.write_text("\ufeff\n\nlabel,text\n" + "\n".join(rows), encoding="utf-8")
    expected = Table(path, "text", "label").read().texts
    for size in (7, 100, 500):
        assert texts_of(cut(path, size, "label"))[0] == expected


@pytest.mark.parametrize("name", ["a.jsonl", "a.parquet", "a.txt", "a.tsv", "a.csv.gz"])
def test_pieces_of_other_formats(tmp_path, name):
    texts = [f"text {k} é" for k in range(500)]
    path = tmp_path / name
    tables.write(pl.DataFrame({"text": texts}), path)
    parts = cut(path, 300)
    assert (len(parts) > 1) == (name != "a.csv.gz")
    assert texts_of(parts)[0] == texts


def test_files_in_wide_encodings_are_one_piece(tmp_path):
    path, texts = tmp_path / "a.csv", [f"text {k} Ċ" for k in range(500)]  # Ċ has the byte of a line end
    for encoding, given_encoding in (("utf-16", None), ("utf-16-le", "utf-16-le")):
        path.write_text("text\n" + "\n".join(texts), encoding=encoding)
        parts = cut(path, 100, encoding=given_encoding)
        assert len(parts) == 1
        assert texts_of(parts)[0] == texts
    path.write_text("text\n" + "\n".join(["été"] * 500), encoding="cp1252")
    parts = cut(path, 100, encoding="cp1252")
    assert len(parts) > 10
    assert texts_of(parts)[0] == ["été"] * 500


def test_errors_name_the_bytes_of_the_piece(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("text,label\n" + "good,1\n" * 100 + "bad \n", encoding="utf-8")
    with pytest.raises(
        tables.TableError, match=r"a.csv \(bytes 642 to 716\): row 11 \(line 12\) has 1 field"
    ):
        texts_of(cut(path, 100, "label"))
    with pytest.raises(tables.TableError, match=r"a.csv \(bytes 12 to 116\): there is no column 'body'"):
        Table(str(path), "body", "label").parts(100)[0].read()


def test_a_table_without_rows_is_one_part(tmp_path):
    path = tmp_path / "a.csv"
    for content in ("", "text,label\n", "text,label"):
        path.write_text(content)
        (part,) = cut(path, 5, "label")
        with pytest.raises(tables.EmptyTableError):
            part.read()


def test_files_are_found_by_name_pattern_and_folder(tmp_path):
    folder = tmp_path / "parts"
    folder.mkdir()
    for name in ("b.csv", "a.csv", "_SUCCESS", ".hidden"):
        (folder / name).touch()
    a, b = str(folder / "a.csv"), str(folder / "b.csv")
    assert find_files([str(folder)]) == find_files([str(folder / "*.csv")]) == [a, b]
    assert find_files([b, a]) == [b, a]
    (folder / "c[1].csv").touch()
    assert find_files([str(folder / "c[1].csv")]) == [str(folder / "c[1].csv")]
    (tmp_path / "empty").mkdir()
    for pattern, reason in (("x.csv", "no such file"), ("*.tsv", "no file matches"), ("empty", "no files")):
        with pytest.raises(tables.TableError, match=reason):
            find_files([str(tmp_path / pattern)])
