"""Where files are looked for, and what a download leaves behind when something goes wrong."""

import contextlib
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

from dropglm.datasets import DATASETS, DatasetError, fetch, listing, load_dataset, parquet, where
from tests.datasets.archives import served, small, zipped
from tests.datasets.test_parsers import RT

CONTENT = zipped(RT)


@pytest.fixture
def rt(places, monkeypatch):
    """A function that makes an address, and what lies there, the source of rt, with four rows."""

    def at(address, content=CONTENT, **limits):
        monkeypatch.setitem(DATASETS, "rt", small("rt", address, content, 4, 2, **limits))

    at("http://127.0.0.1:9/closed")
    return at


def write_rows(path, texts):
    path.parent.mkdir(exist_ok=True)
    columns = {"label": [1, 1, 0, 0], "id": [0, 1, 0, 1], "text": texts}
    parquet.write(columns, DATASETS["rt"].table, path)


def one_sentence(error):
    """The message, which is one sentence."""
    message = str(error.value)
    assert message.endswith(".")
    assert "\n" not in message
    assert ". " not in message
    return message


def test_the_users_folder_comes_before_the_cache_and_the_cache_before_the_archive(rt, places):
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


def test_data_home_comes_before_the_environment(rt, places, tmp_path):
    write_rows(places[0] / "rt.parquet", list("abcd"))
    write_rows(tmp_path / "other" / "rt.parquet", list("efgh"))
    assert list(load_dataset("rt", data_home=tmp_path / "other").texts) == list("efgh")
    assert {line.name: line.path for line in listing()}["rt"] == places[0] / "rt.parquet"


def test_the_cache_holds_one_file_and_the_users_folder_none(rt, places):
    with served(CONTENT) as (address, _):
        rt(address)
        assert fetch("rt") == places[1] / "rt.parquet"
    assert os.listdir(places[1]) == ["rt.parquet"]
    assert os.listdir(places[0]) == []


def test_a_bar_shows_the_download_and_the_parsing(rt, capfd):
    with served(CONTENT) as (address, _):
        rt(address)
        fetch("rt", verbose=True)
    shown = capfd.readouterr().err
    assert "1/1 MB downloaded" in shown
    assert "2/2 parts read" in shown


def test_a_fetch_is_silent_where_nobody_looks(rt, capfd):
    with served(CONTENT) as (address, _):
        rt(address)
        fetch("rt")
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("server", "complaint"),
    [
        ({"cut_at": 100}, "could not be downloaded"),
        ({"cut_at": 100, "length": 100}, "is not the archive that was expected"),
        ({"status": 404}, "could not be downloaded (the server answers 404)"),
    ],
    ids=["cut off", "cut off unnoticed", "not there"],
)
def test_a_broken_download_leaves_nothing(rt, places, server, complaint):
    with served(CONTENT, **server) as (address, _):
        rt(address)
        with pytest.raises(DatasetError) as error:
            load_dataset("rt")
    message = str(error.value)
    assert complaint in message
    assert address in message
    assert "\n" not in message
    assert os.listdir(places[1]) == []
    assert where("rt") is None


def test_without_a_network_one_line_says_so(rt):
    sentence = r"^http://127.0.0.1:9/closed could not be downloaded \(no connection\); .*DROPGLM_DATA\.$"
    with pytest.raises(DatasetError, match=sentence):
        load_dataset("rt")


def test_another_archive_is_thrown_away(rt, places):
    with served(zipped(RT | {"sentence_polarity/new": b""})) as (address, _):
        rt(address)
        with pytest.raises(DatasetError, match="another sha256"):
            load_dataset("rt")
    assert os.listdir(places[1]) == []


def test_a_server_that_sends_too_much_is_cut_off(rt, places):
    endless = bytes(400_000)
    with served(endless) as (address, _):
        rt(address, megabytes=0.01)
        with pytest.raises(DatasetError, match="sends more than it should"):
            load_dataset("rt")
    assert os.listdir(places[1]) == []


def test_an_archive_with_fewer_rows_is_refused(rt, places):
    short = zipped(RT | {"sentence_polarity/rt-polarity.neg": b"so dull . \n"})
    with served(short) as (address, _):
        rt(address, short)
        with pytest.raises(DatasetError) as error:
            load_dataset("rt")
    assert "has 3 rows instead of 4" in one_sentence(error).replace("127.0.0.1", "")
    assert os.listdir(places[1]) == []


def test_an_interruption_while_writing_leaves_nothing(rt, places, monkeypatch):
    def interrupted(columns, table, path):
        path.write_bytes(b"PAR1 half")
        raise KeyboardInterrupt

    monkeypatch.setattr(parquet, "write", interrupted)
    with served(CONTENT) as (address, _):
        rt(address)
        with pytest.raises(KeyboardInterrupt):
            load_dataset("rt")
    assert os.listdir(places[1]) == []


def test_a_kill_between_writing_and_renaming_leaves_nothing_that_is_taken_for_data(rt, places):
    """A process that ends without a farewell, after the file was written and before it got its name."""
    program = """
        import os, pathlib, sys
        from dropglm.datasets import DATASETS, fetch
        from tests.datasets.archives import small
        from tests.datasets.test_files import CONTENT
        DATASETS["rt"] = small("rt", sys.argv[1], CONTENT, 4, 2)
        pathlib.Path.replace = lambda self, target: os._exit(9)
        fetch("rt")
    """
    with served(CONTENT) as (address, _):
        command = [sys.executable, "-c", textwrap.dedent(program), address]
        assert subprocess.run(command, check=False, cwd=Path(__file__).parents[2]).returncode == 9
        left = list(places[1].rglob("rt.parquet"))
        assert len(left) == 1
        assert left[0].parent != places[1]
        assert where("rt") is None
        rt(address)
        assert load_dataset("rt").texts[3] == "worse"


def test_what_a_killed_process_left_is_cleared_away_after_a_day(rt, places):
    old, young = places[1] / ".rt.parquet-old", places[1] / ".rt.parquet-young"
    for folder in (old, young):
        folder.mkdir(parents=True)
        (folder / "archive").write_bytes(b"half")
    os.utime(old, (0, 0))
    with served(CONTENT) as (address, _):
        rt(address)
        fetch("rt")
    assert sorted(os.listdir(places[1])) == [".rt.parquet-young", "rt.parquet"]


def test_two_may_fetch_at_once(rt, places):
    with served(CONTENT) as (address, _), ThreadPoolExecutor(4) as pool:
        rt(address)
        assert set(pool.map(fetch, ["rt"] * 4)) == {places[1] / "rt.parquet"}
    assert os.listdir(places[1]) == ["rt.parquet"]
    assert load_dataset("rt").texts[3] == "worse"


def test_members_without_text_are_refused(rt, places):
    for texts in (b"", b"\n"):
        empty = zipped(dict.fromkeys(RT, texts))
        with served(empty) as (address, _):
            rt(address, empty)
            with pytest.raises(DatasetError, match=r"has members without text|has 2 rows instead of 4"):
                load_dataset("rt")
    assert os.listdir(places[1]) == []


def test_no_room_is_one_sentence(rt, places, monkeypatch):
    def full(columns, table, path):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(parquet, "write", full)
    with served(CONTENT) as (address, _):
        rt(address)
        with pytest.raises(DatasetError) as error:
            load_dataset("rt")
    assert "no room for rt.parquet" in one_sentence(error)
    assert os.listdir(places[1]) == []


def test_a_cache_that_cannot_be_made_is_one_sentence(rt, places):
    places[1].write_text("a file")
    with pytest.raises(DatasetError) as error:
        load_dataset("rt")
    assert "rt.parquet cannot be written to" in one_sentence(error)


@pytest.mark.parametrize("damage", ["cut", "empty", "garbage", "middle"])
def test_a_damaged_file_is_named_with_what_to_do(rt, places, damage):
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


@given(st.dictionaries(st.integers(0, 10**6), st.integers(0, 255), min_size=1, max_size=30))
def test_no_change_of_bytes_in_a_file_brings_another_error(tmp_path_factory, changes):
    table = small("rt", "http://here", b"", 4, 2).table
    path = tmp_path_factory.mktemp("changed") / "rt.parquet"
    write_rows(path, list("abcd"))
    content = bytearray(path.read_bytes())
    for at, value in changes.items():
        content[at % len(content)] = value
    path.write_bytes(content)
    with contextlib.suppress(DatasetError):
        parquet.read(path, table)


@pytest.mark.parametrize(
    ("columns", "complaint"),
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
def test_a_file_with_other_rows_is_refused(rt, places, columns, complaint):
    pl.DataFrame(columns).write_parquet(places[0] / "rt.parquet")
    with pytest.raises(DatasetError, match=complaint) as error:
        load_dataset("rt")
    assert "\n" not in str(error.value)


def test_a_download_can_be_forbidden(rt, places):
    with pytest.raises(DatasetError, match=r"rt\.parquet was not found; allow its download, or put"):
        load_dataset("rt", download=False)
    assert not places[1].exists()


def test_what_has_no_published_checksum_is_not_downloaded(places):
    assert DATASETS["athr"].table.archive is None
    with pytest.raises(DatasetError) as error:
        fetch("athr")
    assert "no checksum" in one_sentence(error)


def test_features_beyond_the_last_are_refused(places, monkeypatch):
    entry = DATASETS["athr"]
    monkeypatch.setitem(DATASETS, "athr", replace(entry, table=replace(entry.table, rows=1)))
    pl.DataFrame({"label": [1], "features": [[0, 22_178]]}).write_parquet(places[0] / "athr.parquet")
    with pytest.raises(DatasetError, match="features other than 0 to 22,177"):
        load_dataset("athr")


@pytest.mark.parametrize(("variable", "value"), [("DROPGLM_DATA", "nowhere"), (None, "nowhere")])
def test_a_folder_that_is_none_is_refused(places, tmp_path, monkeypatch, variable, value):
    folder = tmp_path / value
    if variable:
        monkeypatch.setenv(variable, str(folder))
    with pytest.raises(DatasetError, match="nowhere', which is not a folder"):
        load_dataset("rt", data_home=None if variable else folder)


@pytest.mark.parametrize("module", ["polars", "pooch"])
def test_a_missing_extra_is_named_before_anything_is_downloaded(rt, places, monkeypatch, module):
    monkeypatch.setitem(sys.modules, module, None)
    if module == "pooch":
        monkeypatch.delenv("DROPGLM_CACHE")
    assert where("rt") is None
    with pytest.raises(
        ImportError, match=rf"needs {module}, which pip install 'dropglm\[data\]' installs\.$"
    ):
        load_dataset("rt")


def test_importing_data_sets_imports_neither_polars_nor_pooch():
    program = "import sys, dropglm.datasets; sys.exit(len({'polars', 'pooch'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
