"""Input and options that the commands refuse, and what a kill leaves behind."""

import json
import os
import pickle
import signal
import subprocess
import sys
import time

import pytest
from benchmarks.edited_models import rewrite
from skops import io

from dropglm import TextClassifier
from tests.cli.command import dropglm, error_of, texts, write_csv


def test_an_input_is_not_overwritten(place):
    old = (place / "test.csv").read_bytes()
    assert "also an input" in dropglm(
        "predict", "m.skops", "test.csv", "--out", "test.csv", cwd=place, code=2
    )
    assert (place / "test.csv").read_bytes() == old
    model = (place / "m.skops").read_bytes()
    command = "predict", "m.skops", "test.csv", "--out", "m.skops", "--out-format", "csv"
    assert "also an input" in dropglm(*command, cwd=place, code=2)
    assert (place / "m.skops").read_bytes() == model


@pytest.mark.parametrize(
    "command",
    [
        ["predict", "slow.skops", "test.csv"],
        ["evaluate", "slow.skops", "test.csv"],
        ["explain", "slow.skops", "a lovely film"],
        ["export", "slow.skops", "--sklearn", "pipeline.skops"],
        ["card", "slow.skops"],
        ["train", "test.csv", "--online", "--start-from", "slow.skops", "--out", "next.skops"],
    ],
    ids=lambda command: command[0],
)
def test_a_model_file_with_a_pattern_that_may_be_slow_needs_trust(command, place, tmp_path):
    for name in ("test.csv", "m.skops"):
        (tmp_path / name.replace("m.", "slow.")).write_bytes((place / name).read_bytes())
    rewrite(tmp_path / "slow.skops", lambda state: state["settings"].update(token_pattern=r"(?:\w+)+|!"))
    error = error_of(*command, cwd=tmp_path)
    assert "slow.skops is safe to open only if you trust its author: settings.token_pattern" in error
    assert "on the command line with --trust." in error
    dropglm(*command, "--trust", cwd=tmp_path)


@pytest.mark.parametrize("command", ["label", "serve"])
def test_servers_also_refuse_a_model_file_that_needs_trust(command, place, tmp_path):
    (tmp_path / "slow.skops").write_bytes((place / "m.skops").read_bytes())
    rewrite(tmp_path / "slow.skops", lambda state: state["settings"].update(token_pattern=r"(?:\w+)+|!"))
    arguments = ["serve", "slow.skops"] if command == "serve" else ["label", "t.csv", "--model", "slow.skops"]
    write_csv(tmp_path / "t.csv", zip(*texts(80), strict=True))
    assert "only if you trust its author" in error_of(*arguments, cwd=tmp_path)


def test_texts_are_never_paths(place, tmp_path):
    """A model file that says so is refused; its explanations would show the words of any file."""
    (tmp_path / "secret.txt").write_text("lovely secret")
    (tmp_path / "m.skops").write_bytes((place / "m.skops").read_bytes())
    rewrite(tmp_path / "m.skops", lambda state: state["settings"].update(input="filename"))
    command = "explain", "m.skops", "secret.txt", "--json", "--trust"
    assert "settings.input is not part of such a file" in error_of(*command, cwd=tmp_path)


KILLED_BEFORE_THE_RENAME = """
import os, signal, sys
from dropglm.cli import main
os.{moment} = lambda *arguments: os.kill(os.getpid(), signal.SIGKILL)
main()
"""


@pytest.mark.parametrize("moment", ["fsync", "replace"])
def test_a_kill_while_saving_leaves_the_old_model(place, tmp_path, moment):
    old = (place / "m.skops").read_bytes()
    (tmp_path / "m.skops").write_bytes(old)
    wrapper = ("-c", KILLED_BEFORE_THE_RENAME.format(moment=moment))
    dropglm(
        "train", place / "test.csv", "--no-tune", "--out", "m.skops",
        cwd=tmp_path, code=-signal.SIGKILL, wrapper=wrapper,
    )  # fmt: skip
    assert (tmp_path / "m.skops").read_bytes() == old
    assert len(os.listdir(tmp_path)) == 2  # and the partial file of the killed process
    assert TextClassifier.load(tmp_path / "m.skops").predict(["lovely"]) == ["good"]


def test_a_kill_at_any_time_leaves_the_old_model(place, tmp_path):
    """The process is killed as soon as the new file appears."""
    old = (place / "m.skops").read_bytes()
    for _ in range(3):
        (tmp_path / "m.skops").write_bytes(old)
        command = [
            sys.executable,
            "-m",
            "dropglm",
            "train",
            place / "test.csv",
            "--no-tune",
            "--out",
            "m.skops",
        ]
        with subprocess.Popen(
            command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        ) as process:
            while process.poll() is None and len(os.listdir(tmp_path)) == 1:
                time.sleep(0)
            process.kill()
        now = (tmp_path / "m.skops").read_bytes()
        assert TextClassifier.load(tmp_path / "m.skops").predict(["lovely"]) == ["good"]
        for left in tmp_path.glob(".*.part"):
            assert now == old
            left.unlink()


def test_a_quoted_newline_is_part_of_a_text_and_row_numbers_are_right(place):
    some, labels = texts(40)
    rows = [('first line\nsecond line, "quoted"', "good"), *zip(some, labels, strict=True)]
    write_csv(place / "newline.csv", rows)
    result = json.loads(dropglm("train", "newline.csv", "--no-tune", "--json", "--out", "n.skops", cwd=place))
    assert result["texts"] == {"bad": 20, "good": 21}
    with open(place / "newline.csv", "a", encoding="utf-8") as file:
        file.write("too short\n")
    assert "row 42 (line 44)" in error_of("train", "newline.csv", "--no-tune", cwd=place)


BAD_TABLES = {
    "unclosed.csv": (b'text,label\ngood,1\n"bad,0\nfun,1\n', "row 2"),
    "ragged.csv": (b"text,label\ngood,1\nbad,0,0\n", "row 2 (line 3) has 3 fields, but the header has 2"),
    "empty.jsonl": (
        b'{"text": "a", "label": " "}\n{"text": "b", "label": null}\n',
        "no row has a label; the column 'label' is empty; name the column to use with --label.",
    ),
    "missing.jsonl": (
        b'{"text": "a", "Label": 1}\n{"text": "b"}\n',
        "there is no column 'label' (did you mean 'Label'?); its columns: 'text', 'Label'; name the column",
    ),
    "misnamed.csv": (b"txt,label\na,1\nb,0\n", "did you mean 'txt'"),
    "latin.csv": ("text,label\nfine,1\ncaf\xe9,0\n".encode("latin-1"), "row 2"),
    "utf16.csv": ("text,label\nfine,1\nbad,0\n".encode("utf-16-le"), "set --encoding to 'utf-16-le'"),
    "line.csv": (b"text,label\nfine,1\n" + b"x" * 50_000_000 + b",0\n", "row 2"),
    "empty.csv": (b"", "empty"),
    "blank.jsonl": (b"\n\n", "empty"),
    "header.csv": (b"text,label\n", "no rows"),
    "one.csv": (
        b"text,label\nfine film,1\nother film,1\n",
        "one.csv: all rows have the label 1; at least two",
    ),
    "wordless.csv": (b'text,label\n" ",1\n" ",0\n', "none of the 2 texts has a token"),
    "array.jsonl": (b'[{"text": "a", "label": 1}]', "each line must be an object"),
    "fake.parquet": (b"text,label\na,1\n", "Parquet"),
    "cut.csv.gz": (b"\x1f\x8b\x08\x00", "truncated"),
    "table.xlsx": (b"PK\x03\x04", "set --format"),
}


@pytest.mark.parametrize("name", BAD_TABLES)
def test_a_bad_table_gives_a_message(name, tmp_path):
    content, expected = BAD_TABLES[name]
    (tmp_path / name).write_bytes(content)
    sentence = error_of("train", name, "--no-tune", cwd=tmp_path)
    assert expected in sentence
    assert os.listdir(tmp_path) == [name]


def test_other_bad_input_gives_a_message(place, tmp_path):
    assert "no such file" in error_of("train", "nothing.csv", cwd=tmp_path)
    error = error_of("train", place / "reviews.csv", "--no-tune", "--min-df", "90", "--quiet", cwd=tmp_path)
    assert "reviews.csv: the fit has an empty vocabulary: no n-gram occurs in at least 90" in error
    assert "; lower --min-df (now 90) or raise --max-df (now 1.0)." in error
    (tmp_path / "pairs.csv").write_text("text,label\na b,x\nc d,y\n", encoding="utf-8")
    error = error_of("train", "pairs.csv", "--no-tune", "--ngrams", "2-2", "--quiet", cwd=tmp_path)
    assert "no n-gram occurs in at least 1 (words) or 2 (longer n-grams) and at most 2 of" in error
    assert "; lower --min-df (now 1, 2 for longer n-grams) or raise --max-df (now 1.0)." in error
    assert "cannot be read: No such file" in error_of("predict", "nothing.skops", cwd=tmp_path, stdin=b"a\n")


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--ngrams", "two"], "--ngrams"),
        (["--drop", "1"], "--drop"),
        (["--expectation", "gausian"], "gaussian"),
        (["--scoring", "acuracy"], "accuracy"),
        (["--dropout", "2"], "--dropout"),
        (["--l2", "-1"], "--l2"),
        (["--folds", "1"], "--folds"),
        (["--validation", "2"], "fraction must be between 0 and 1"),
        (["--out", "no/m.skops"], "--out"),
        (["--out", "reviews.csv"], "also an input"),
        (["--encoding", "utf-9"], "utf-8"),
        (["--format", "cvs"], "csv"),
        (["--delimiter", "ab"], "--delimiter"),
        (["--threads", "0"], "--threads"),
        (["--text", "label"], "--label"),
        (["--no-tune", "--l2", "1", "--l2", "2"], "--no-tune"),
        (["--ngrams", "3-2"], "--ngrams"),
    ],
    ids=repr,
)
def test_a_wrong_option_is_reported_before_any_work(place, options, expected):
    output = dropglm("train", "reviews.csv", *options, cwd=place, code=2)
    assert expected in output
    assert "Usage" in output


class Trap:
    def __reduce__(self):
        return os.mkdir, ("sprung",)


def test_a_malicious_model_is_refused_without_running_it(tmp_path):
    (tmp_path / "pickle.skops").write_bytes(pickle.dumps(Trap()))
    io.dump({"format": 1, "kind": "TextClassifier", "state": Trap()}, tmp_path / "type.skops")
    for name, expected in (
        ("pickle.skops", "is not a dropglm model file"),
        ("type.skops", "Nothing in it was loaded or run"),
    ):
        assert expected in error_of("predict", name, cwd=tmp_path, stdin=b"a film\n")
    assert not (tmp_path / "sprung").exists()
