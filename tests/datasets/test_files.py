"""The order in which folders are searched, and what remains after a failed download."""

import errno
import os
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dropglm.datasets import DATASETS, DatasetError, fetch, files, listing, load_dataset, where
from tests.datasets.archives import served, small, zipped
from tests.datasets.test_corpora import RT

CONTENT = zipped(RT)


@pytest.fixture
def rt(places, monkeypatch):
    """Return a function that sets the address and the archive of rt, with four rows."""

    def at(address, content=CONTENT, **limits):
        monkeypatch.setitem(DATASETS, "rt", small("rt", address, content, 4, 2, **limits))

    at("http://127.0.0.1:9/closed")
    return at


def write_rows(path, texts):
    path.parent.mkdir(exist_ok=True)
    rows = list(zip([1, 1, 0, 0], [0, 1, 0, 1], texts, strict=True))
    files.write_parquet(rows, DATASETS["rt"].table, path)


def one_sentence(error):
    """Return the message, which must be one sentence."""
    message = str(error.value)
    assert message.endswith(".")
    assert "\n" not in message
    assert ". " not in message
    return message


def test_the_user_folder_is_searched_before_the_cache_and_the_cache_before_a_download(rt, places):
    home, cache = places
    with served(CONTENT) as (address, server):
        rt(address)
        assert where("rt") is None
        assert load_dataset("rt").texts[3] == "worse"
        assert where("rt") == cache / "rt.parquet"
        assert load_dataset("rt").texts[3] == "worse"
        assert server.requests == 1
        write_rows(cache / "rt.parquet", ["in", "the", "cache", "now"])
        assert load_dataset("rt").texts[3] == "now"
        write_rows(home / "rt.parquet", ["in", "a", "folder", "of mine"])
        assert load_dataset("rt").texts[3] == "of mine"
        assert fetch("rt") == home / "rt.parquet"
        assert server.requests == 1


def test_data_home_overrides_the_environment(rt, places, tmp_path):
    write_rows(places[0] / "rt.parquet", list("abcd"))
    write_rows(tmp_path / "other" / "rt.parquet", list("efgh"))
    assert list(load_dataset("rt", data_home=tmp_path / "other").texts) == list("efgh")
    assert {line.name: line.path for line in listing()}["rt"] == places[0] / "rt.parquet"


def test_a_fetch_adds_one_file_to_the_cache_and_none_to_the_user_folder(rt, places):
    with served(CONTENT) as (address, _):
        rt(address)
        assert fetch("rt") == places[1] / "rt.parquet"
    assert os.listdir(places[1]) == ["rt.parquet"]
    assert os.listdir(places[0]) == []


def test_progress_bars_show_the_download_and_the_parsing(rt, capfd):
    with served(CONTENT) as (address, _):
        rt(address)
        fetch("rt", verbose=True)
    shown = capfd.readouterr().err
    assert "1/1 MB downloaded" in shown
    assert "2/2 members read" in shown


def test_a_fetch_is_silent_without_a_terminal(rt, capfd):
    with served(CONTENT) as (address, _):
        rt(address)
        fetch("rt")
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("server", "expected"),
    [
        ({"cut_at": 100}, "could not be downloaded"),
        ({"cut_at": 100, "length": 100}, "is not the expected archive"),
        ({"status": 404}, "could not be downloaded (the server answers 404)"),
    ],
    ids=["truncated", "truncated with a matching length", "not found"],
)
def test_a_failed_download_leaves_nothing(rt, places, server, expected):
    with served(CONTENT, **server) as (address, _):
        rt(address)
        with pytest.raises(DatasetError) as error:
            load_dataset("rt")
    message = str(error.value)
    assert expected in message
    assert address in message
    assert "\n" not in message
    assert os.listdir(places[1]) == []
    assert where("rt") is None


def test_a_missing_network_is_reported_in_one_line(rt):
    sentence = r"^http://127.0.0.1:9/closed could not be downloaded \(no connection\); .*Parquet file\.$"
    with pytest.raises(DatasetError, match=sentence):
        load_dataset("rt")


def test_an_archive_with_another_checksum_is_deleted(rt, places):
    with served(zipped(RT | {"sentence_polarity/new": b""})) as (address, _):
        rt(address)
        with pytest.raises(DatasetError, match="its sha256 checksum differs"):
            load_dataset("rt")
    assert os.listdir(places[1]) == []


def test_a_download_that_is_too_large_is_stopped(rt, places):
    endless = bytes(400_000)
    with served(endless) as (address, _):
        rt(address, megabytes=0.01)
        with pytest.raises(DatasetError, match="sends more data than expected"):
            load_dataset("rt")
    assert os.listdir(places[1]) == []


def test_an_archive_with_fewer_rows_is_rejected(rt, places):
    short = zipped(RT | {"sentence_polarity/rt-polarity.neg": b"so dull . \n"})
    with served(short) as (address, _):
        rt(address, short)
        with pytest.raises(DatasetError) as error:
            load_dataset("rt")
    assert "has 3 rows instead of 4" in one_sentence(error).replace("127.0.0.1", "")
    assert os.listdir(places[1]) == []


def test_an_interruption_while_writing_leaves_nothing(rt, places, monkeypatch):
    def interrupted(frame, stream, **settings):
        stream.write(b"PAR1 half")
        raise KeyboardInterrupt

    monkeypatch.setattr(pl.DataFrame, "write_parquet", interrupted)
    with served(CONTENT) as (address, _):
        rt(address)
        with pytest.raises(KeyboardInterrupt):
            load_dataset("rt")
    assert os.listdir(places[1]) == []


def test_a_process_killed_before_renaming_leaves_no_file_that_is_read(rt, places):
    """A process that ends abruptly after the file was written and before it was renamed."""
    program = """
        import os, sys
        from dropglm.datasets import DATASETS, fetch
        from tests.datasets.archives import small
        from tests.datasets.test_files import CONTENT
        DATASETS["rt"] = small("rt", sys.argv[1], CONTENT, 4, 2)
        os.replace = lambda unfinished, final: os._exit(9)
        fetch("rt")
    """
    with served(CONTENT) as (address, _):
        command = [sys.executable, "-c", textwrap.dedent(program), address]
        assert subprocess.run(command, check=False, cwd=Path(__file__).parents[2]).returncode == 9
        (left,) = places[1].iterdir()
        assert left.stat().st_size > 0
        assert where("rt") is None
        rt(address)
        assert load_dataset("rt").texts[3] == "worse"


def test_leftovers_of_a_killed_process_are_removed_after_a_day(rt, places):
    for name in ("old", "young"):
        folder, file = places[1] / f".rt.parquet-{name}", places[1] / f".rt.parquet.{name}.part"
        folder.mkdir(parents=True)
        (folder / "archive").write_bytes(b"half")
        file.write_bytes(b"half")
        if name == "old":
            os.utime(folder, (0, 0))
            os.utime(file, (0, 0))
    with served(CONTENT) as (address, _):
        rt(address)
        fetch("rt")
    assert sorted(os.listdir(places[1])) == [".rt.parquet-young", ".rt.parquet.young.part", "rt.parquet"]


def test_concurrent_fetches(rt, places):
    with served(CONTENT) as (address, _), ThreadPoolExecutor(4) as pool:
        rt(address)
        assert set(pool.map(fetch, ["rt"] * 4)) == {places[1] / "rt.parquet"}
    assert os.listdir(places[1]) == ["rt.parquet"]
    assert load_dataset("rt").texts[3] == "worse"


def test_members_that_are_not_text_are_rejected(places, monkeypatch):
    content = zipped({"movie_reviews/neg/cv000_1.txt": b"\xff"})
    with served(content) as (address, _):
        monkeypatch.setitem(DATASETS, "imdb2k", small("imdb2k", address, content, 1))
        with pytest.raises(DatasetError, match="has members without text"):
            load_dataset("imdb2k")
    assert os.listdir(places[1]) == []


def test_archives_without_rows_are_rejected(rt, places):
    for texts in (b"", b"\n"):
        empty = zipped(dict.fromkeys(RT, texts))
        with served(empty) as (address, _):
            rt(address, empty)
            with pytest.raises(DatasetError, match=r"has 0 rows instead of 4|has 2 rows instead of 4"):
                load_dataset("rt")
    assert os.listdir(places[1]) == []


def test_a_full_disk_is_reported_in_one_sentence(rt, places, monkeypatch):
    def full(frame, stream, **settings):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(pl.DataFrame, "write_parquet", full)
    with served(CONTENT) as (address, _):
        rt(address)
        with pytest.raises(DatasetError) as error:
            load_dataset("rt")
    assert "no space for rt.parquet" in one_sentence(error)
    assert os.listdir(places[1]) == []


def test_a_cache_that_cannot_be_created_is_reported_in_one_sentence(rt, places):
    places[1].write_text("a file")
    with pytest.raises(DatasetError) as error:
        load_dataset("rt")
    assert "rt.parquet cannot be written to" in one_sentence(error)


@pytest.mark.parametrize("damage", ["cut", "empty", "garbage", "middle"])
def test_a_damaged_file_is_named_with_a_remedy(rt, places, damage):
    path = places[1] / "rt.parquet"
    write_rows(path, list("abcd"))
    good = path.read_bytes()
    half = len(good) // 2
    path.write_bytes(
        {
            "cut": good[:half],
            "empty": b"",
            "garbage": b"PAR1" + bytes(99) + b"PAR1",
            "middle": good[:4] + bytes(half) + good[half + 4 :],
        }[damage]
    )
    with pytest.raises(DatasetError, match=r"rt.parquet .*; delete it and fetch it again\.$") as error:
        load_dataset("rt")
    assert "\n" not in str(error.value)


def is_read_or_named(path, content, table):
    """Write a damaged file; it must give an error that names it, or a table of the right form."""
    path.write_bytes(content)
    try:
        frame = files.read_parquet(path, table)
    except DatasetError as error:
        message = str(error)
        assert message.startswith(f"{path} ")
        assert message.endswith("; delete it and fetch it again.")
        assert "\n" not in message
        return False
    assert frame.columns == list(table.columns)
    assert frame.height == table.rows
    assert sum(frame.null_count().row(0)) == 0
    return True


@given(st.dictionaries(st.integers(0, 10**6), st.integers(0, 255), min_size=1, max_size=30))
def test_changed_bytes_in_the_footer_are_reported_or_harmless(tmp_path_factory, changes):
    """The footer describes columns and rows. Polars aborts the process on some changes of page headers."""
    table = small("rt", "http://here", b"", 4, 2).table
    path = tmp_path_factory.mktemp("changed") / "rt.parquet"
    write_rows(path, list("abcd"))
    content = bytearray(path.read_bytes())
    assert is_read_or_named(path, content, table)
    length = int.from_bytes(content[-8:-4], "little") + 8
    for at, value in changes.items():
        content[-1 - at % length] = value
    is_read_or_named(path, content, table)


@given(st.integers(0, 10**6))
def test_a_truncated_file_is_reported(tmp_path_factory, length):
    table = small("rt", "http://here", b"", 4, 2).table
    path = tmp_path_factory.mktemp("truncated") / "rt.parquet"
    write_rows(path, list("abcd"))
    content = path.read_bytes()
    assert not is_read_or_named(path, content[: length % len(content)], table)


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ({"label": [1, 1, 0, 0], "id": [0, 1, 0, 1]}, "has no column 'text'"),
        ({"label": [1], "id": [0], "text": ["a"]}, "has 1 rows instead of 4"),
        (
            {"label": [1, None, 0, 0], "id": [0, 1, 0, 1], "text": list("abcd")},
            "missing values in column 'label'",
        ),
        ({"label": list("abcd"), "id": [0, 1, 0, 1], "text": list("abcd")}, "cannot be read"),
    ],
)
def test_a_file_with_other_rows_is_rejected(rt, places, columns, expected):
    pl.DataFrame(columns).write_parquet(places[0] / "rt.parquet")
    with pytest.raises(DatasetError, match=expected) as error:
        load_dataset("rt")
    assert "\n" not in str(error.value)


def test_downloads_can_be_disabled(rt, places):
    with pytest.raises(DatasetError, match=r"rt\.parquet was not found; allow the download, or put"):
        load_dataset("rt", download=False)
    assert not places[1].exists()


@pytest.mark.parametrize("name", ["athr", "banking77", "chnsenti_zh", "emotion6", "tweetsent_fr"])
def test_a_data_set_without_a_published_checksum_is_not_downloaded(places, name):
    table = DATASETS[name].table
    assert table.archive is None
    with pytest.raises(DatasetError) as error:
        fetch(name)
    sentence = one_sentence(error)
    assert "no checksum" in sentence
    assert (
        f"{table.rows:,} rows with the columns {' and '.join(table.columns)} from {table.origin}" in sentence
    )
    assert "github.com/" in table.origin


def test_features_out_of_range_are_rejected(places, monkeypatch):
    entry = DATASETS["athr"]
    monkeypatch.setitem(DATASETS, "athr", replace(entry, table=replace(entry.table, rows=1)))
    pl.DataFrame({"label": [1], "features": [[0, 22_178]]}).write_parquet(places[0] / "athr.parquet")
    with pytest.raises(DatasetError, match="features outside the range 0 to 22,177"):
        load_dataset("athr")


@pytest.mark.parametrize(("variable", "value"), [("DROPGLM_DATA", "nowhere"), (None, "nowhere")])
def test_a_missing_folder_is_reported(places, tmp_path, monkeypatch, variable, value):
    folder = tmp_path / value
    if variable:
        monkeypatch.setenv(variable, str(folder))
    with pytest.raises(DatasetError, match="nowhere', which is not a folder"):
        load_dataset("rt", data_home=None if variable else folder)


@pytest.mark.parametrize("module", ["polars", "pooch"])
def test_a_missing_package_is_reported_before_the_download(rt, places, monkeypatch, module):
    monkeypatch.setitem(sys.modules, module, None)
    if module == "pooch":
        monkeypatch.delenv("DROPGLM_CACHE")
    assert where("rt") is None
    with pytest.raises(
        ImportError, match=rf"needs {module}; install it with: pip install 'dropglm\[data\]'\.$"
    ):
        load_dataset("rt")


def test_importing_datasets_imports_neither_polars_nor_pooch():
    program = "import sys, dropglm.datasets; sys.exit(len({'polars', 'pooch'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
