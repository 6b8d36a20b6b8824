"""Exit codes and messages for bad input, for bugs, for outputs that cannot be written, and for signals."""

import errno
import io
import json
import os
import pickle
import re
import signal
import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from typer.main import get_command

import dropglm as package
from dropglm import TextClassifier, cli, datasets
from dropglm.base.errors import InputError, UserError
from dropglm.base.files import FileError, replacing
from dropglm.base.imports import import_extra
from dropglm.base.progress import in_words
from dropglm.base.registry import lookup
from dropglm.cli.app import app
from dropglm.cli.errors import BadInputError, describe, is_about_input, naming_table
from dropglm.tables.errors import TableError
from tests.cli.command import dropglm, error_of, run, run_process, texts, write_csv


def error_from(function):
    with pytest.raises(Exception) as caught:  # noqa: PT011 (of any kind)
        function()
    return caught.value


BUGS = {
    "built-in": lambda: len(5),
    "wrong call": lambda: TextClassifier().fit(),
    "NumPy": lambda: np.zeros(2) @ np.zeros(3),
    "operation in our own code": lambda: in_words(None),
    "another type": lambda: {}["key"],
}
BAD_INPUT = {
    "argument": lambda: lookup({"a": 1}, "b", "name"),
    "type of an argument": lambda: lookup({"a": 1}, 7, "name"),
    "text": lambda: TextClassifier().fit(["a", 1], ["x", "y"]),
    "missing file": lambda: Path("/nowhere").read_bytes(),
}


@pytest.mark.parametrize("name", BUGS)
def test_errors_that_no_check_raised_are_bugs(name):
    error = error_from(BUGS[name])
    assert not is_about_input(error)
    sentence, code = describe(error)
    assert code == 1
    assert sentence.startswith(f"internal error, {type(error).__name__}: ")


def test_checks_raise_no_error_that_a_defect_could_raise():
    """Otherwise a command would report the user's mistake as ours."""
    for path in Path(package.__file__).parent.rglob("*.py"):
        assert not re.search(r"\b(raise|return) (Value|Type|Import)Error\(", path.read_text()), path


@pytest.mark.parametrize("kind", [*UserError.__subclasses__(), TableError])
def test_errors_reach_other_processes_with_their_parameters(kind):
    error = kind("Set encoding to that of the file.", "encoding")
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again)) == (kind, "Set encoding to that of the file.")
    assert again.parameters == error.parameters


@pytest.mark.parametrize("name", BAD_INPUT)
def test_errors_that_a_check_raised_are_about_the_input(name):
    error = error_from(BAD_INPUT[name])
    assert is_about_input(error)
    assert describe(error)[1] == 3


def test_a_bug_in_a_fit_is_reported_as_one_and_debug_shows_the_traceback(place, tmp_path, monkeypatch):
    monkeypatch.setattr(TextClassifier, "fit", lambda *_, **__: len(5))
    command = "train", place / "reviews.csv", "--no-tune", "--quiet"
    sentence = error_of(*command, cwd=tmp_path, code=1)
    assert "internal error, TypeError: object of type 'int' has no len()" in sentence
    done = run("--debug", *command, cwd=tmp_path)
    assert done.exit_code == 1
    assert "Traceback" in done.stderr
    assert done.stderr.endswith(f"{sentence}\n")


def test_debug_shows_where_bad_input_was_found(tmp_path):
    done = run("--debug", "train", "nothing.csv", cwd=tmp_path)
    assert done.exit_code == 3
    assert "Traceback" in done.stderr
    assert "no such file" in done.stderr.splitlines()[-1]


@pytest.fixture
def stdout(monkeypatch):
    """Return a function that gives standard output an encoding, as PYTHONIOENCODING does."""

    def encoded(encoding):
        stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
        monkeypatch.setattr(sys, "stdout", stream)
        cli.prepare_streams()
        return stream

    return encoded


def output_in_place(stream, *arguments):
    """Run the command with the current standard output; return what it wrote there."""
    with pytest.raises(SystemExit) as left:
        app(list(map(str, arguments)), prog_name="dropglm")
    assert left.value.code == 0
    stream.flush()
    return stream.buffer.getvalue().decode(stream.encoding)


def test_characters_that_the_output_cannot_encode_are_replaced(place, stdout):
    model, test = place / "m.skops", place / "test.csv"
    assert " ? 0.0" in output_in_place(stdout("ascii"), "evaluate", model, test, "--quiet")
    assert "great ?" in output_in_place(stdout("cp1252"), "explain", model, "great \N{GRINNING FACE}")


def test_labels_that_the_output_cannot_encode_are_replaced_and_escaped_in_json(tmp_path, stdout):
    some, labels = texts(40)
    emojis = {"good": "\N{GRINNING FACE}", "bad": "\N{CRYING FACE}"}
    write_csv(tmp_path / "emojis.csv", [(t, emojis[y]) for t, y in zip(some, labels, strict=True)])
    train = "train", tmp_path / "emojis.csv", "--no-tune", "--out", tmp_path / "m.skops"
    assert "?" in output_in_place(stdout("cp1252"), *train)
    evaluate = "evaluate", tmp_path / "m.skops", tmp_path / "emojis.csv", "--quiet"
    assert "?" in output_in_place(stdout("cp1252"), *evaluate)
    found = json.loads(output_in_place(stdout("cp1252"), *evaluate, "--json"))
    assert sorted(found["classes"]) == sorted(emojis.values())


def test_a_process_also_replaces_characters(place):
    done = run_process(
        "explain", "m.skops", "great \N{GRINNING FACE}", cwd=place, PYTHONIOENCODING="cp1252", PYTHONUTF8="0"
    )
    assert done.returncode == 0, done.stderr
    assert b"great ?" in done.stdout


@pytest.mark.parametrize("size", ["0", "-5", "", "wide", "²", "99999999999", "9" * 5000])
def test_a_terminal_of_impossible_size_has_the_usual_one(size, monkeypatch):
    for name in ("COLUMNS", "LINES", "TERMINAL_WIDTH"):
        monkeypatch.setenv(name, size)
    cli.ignore_impossible_sizes()
    assert not {"COLUMNS", "LINES", "TERMINAL_WIDTH"} & os.environ.keys()


@pytest.mark.parametrize("size", ["1", "080", "120"])
def test_a_size_of_the_terminal_is_kept(size, monkeypatch):
    monkeypatch.setenv("COLUMNS", size)
    cli.ignore_impossible_sizes()
    assert os.environ["COLUMNS"] == size


@pytest.mark.parametrize("arguments", [("explain", "m.skops"), ("--help",), ("train",)], ids=str)
def test_commands_print_the_same_in_a_terminal_without_columns(place, arguments):
    without = run_process(*arguments, cwd=place, COLUMNS="0")
    usual = run_process(*arguments, cwd=place, COLUMNS="80")
    assert usual.stdout + usual.stderr
    assert (without.stdout, without.stderr) == (usual.stdout, usual.stderr)


def test_a_closed_standard_output_discards_the_output(tmp_path):
    command = f"{sys.executable} -m dropglm data list --json >&-"
    done = subprocess.run(["sh", "-c", command], cwd=tmp_path, stderr=subprocess.PIPE, check=True)
    assert done.stderr == b""


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")
def test_a_full_disk_is_reported_with_the_name_of_the_file(place, tmp_path):
    command = f"{sys.executable} -m dropglm data list --json >/dev/full"
    done = subprocess.run(["sh", "-c", command], cwd=tmp_path, stderr=subprocess.PIPE)
    assert done.stderr == b"dropglm: standard output: No space left on device.\n"
    assert done.returncode == 1
    with pytest.raises(OSError, match="No space left on device: '/dev/full'"), replacing("/dev/full") as file:
        file.write(b"some")
    for command in (("predict", "test.csv", "--out-format", "csv", "--out"), ("explain", "--html")):
        name, *options = command
        error = dropglm(name, "m.skops", *options, "/dev/full", cwd=place, code=1)
        assert error.startswith("dropglm: /dev/full: ")
        assert "No space left on device" in error


FULL = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def disk_is_full(*_):
    raise OSError(*FULL.args)


@pytest.mark.parametrize(
    ("command", "file"),
    [
        (("train", "reviews.csv", "--no-tune", "--quiet", "--out"), "new.skops"),
        (("train", "reviews.csv", "--online", "--quiet", "--out"), "new.skops"),
        (("train", "reviews.csv", "--online", "--quiet", "--every", "1", "--checkpoint"), "state"),
        (("predict", "m.skops", "test.csv", "--out"), "new.csv"),
        (("explain", "m.skops", "--html"), "new.html"),
        (("export", "m.skops", "--json"), "new.json"),
        (("export", "m.skops", "--sklearn"), "new.pkl"),
        (("card", "m.skops", "--out"), "new.md"),
        (("data", "export", "docstrings", "--out"), "new.csv"),
        (("reproduce", "figure-1a", "--quick", "--quiet", "--out"), "new/figure-1a.jsonl"),
    ],
    ids=str,
)
def test_a_full_disk_is_a_failure_that_names_the_file(place, command, file, monkeypatch):
    monkeypatch.setattr(os, "fsync", disk_is_full)
    error = error_of(*command, file.partition("/")[0], cwd=place, code=1)
    assert error.startswith(f"dropglm: {file}")
    assert "No space left on device" in error


def test_a_full_disk_is_a_failure_whichever_error_reports_it():
    hidden = FileError("labels.csv cannot be written.")
    hidden.__context__ = OSError("without a number")
    hidden.__context__.__context__ = FULL
    assert describe(FULL) == ("a file cannot be written: No space left on device.", 1)
    assert describe(hidden) == ("labels.csv cannot be written.", 1)
    assert describe(FileError("labels.csv is not a table.")) == ("labels.csv is not a table.", 3)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")
@pytest.mark.parametrize("option", ["--help", "--version"])
def test_help_that_cannot_be_written_is_reported(option, monkeypatch, capsys):
    with open("/dev/full", "w", buffering=1) as full:
        monkeypatch.setattr(sys, "stdout", full)
        cli.prepare_streams()
        with pytest.raises(SystemExit) as left:
            app([option], prog_name="dropglm")
    assert left.value.code == 1
    assert capsys.readouterr().err == "dropglm: standard output: No space left on device.\n"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")
@pytest.mark.parametrize("buffering", [0, -1], ids=["unbuffered", "buffered"])
@pytest.mark.parametrize(("command", "code"), [("nope", 2), ("train nowhere.csv", 3)])
def test_messages_that_cannot_be_written_do_not_change_the_exit_code(command, code, buffering, monkeypatch):
    with io.TextIOWrapper(open("/dev/full", "wb", buffering), write_through=True) as full:
        monkeypatch.setattr(sys, "stderr", cli.on_file(full, cli.TolerantFile))
        with pytest.raises(SystemExit) as left:
            app(command.split(), prog_name="dropglm")
    assert left.value.code == code


INTERRUPTED_DURING_IMPORT = """
import sys
class Interrupt:
    def find_spec(self, name, path, target=None):
        if name == "typer":
            raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupt())
from dropglm.cli import main
main()
"""


def test_an_interrupt_during_imports_is_reported_in_one_line(tmp_path):
    done = run_process(cwd=tmp_path, wrapper=("-c", INTERRUPTED_DURING_IMPORT))
    assert done.stderr == b"dropglm: interrupted.\n"
    assert done.returncode == 130


INTERRUPTED_MODULE = """
import signal
try:
    signal.raise_signal(signal.SIGINT)
except KeyboardInterrupt:
    error = ImportError("initialization failed")
raise error
"""


def test_an_interrupt_that_an_import_turns_into_another_error_is_still_one(tmp_path, monkeypatch):
    """The error has no cause; the command knows of the signal from its own handler."""
    (tmp_path / "polars.py").write_text(INTERRUPTED_MODULE)
    (tmp_path / "t.parquet").touch()
    monkeypatch.syspath_prepend(tmp_path)
    for name in [name for name in sys.modules if name.partition(".")[0] == "polars"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(cli, "_received", [])
    before = signal.signal(signal.SIGINT, cli._interrupt)
    try:
        assert error_of("train", "t.parquet", "--quiet", cwd=tmp_path, code=130) == "dropglm: interrupted."
    finally:
        signal.signal(signal.SIGINT, before)


def test_import_errors_are_about_the_input_only_if_an_extra_is_missing():
    with pytest.raises(ImportError) as missing:
        import_extra("no_such_module", "tables", "Tables need")
    assert describe(missing.value)[1] == 3
    with pytest.raises(ImportError) as other:
        import_module("no_such_module")
    assert describe(other.value)[1] == 1
    interrupted = ImportError("initialization failed")
    interrupted.__context__ = KeyboardInterrupt()
    assert describe(interrupted) == ("interrupted.", 130)


BROKEN = {
    "import of_its_own": "No module named 'of_its_own'",
    "raise ImportError('libssl.so.3: cannot open shared object file')": "libssl.so.3: cannot open shared",
    "from json import no_such_name": "cannot import name 'no_such_name' from 'json'",
}


@pytest.mark.parametrize("code", BROKEN)
def test_a_package_that_cannot_be_imported_is_not_called_missing(place, tmp_path, monkeypatch, code):
    (tmp_path / "uvicorn.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "uvicorn", raising=False)
    for command in (("serve", "m.skops"), ("label", "reviews.csv")):
        error = error_of(*command, cwd=place, code=1)
        assert f"needs uvicorn, which is installed but cannot be imported ({BROKEN[code]}" in error
        assert "install it with" not in error
        assert error.endswith("pip install 'dropglm[label]' --force-reinstall.")


@pytest.mark.skipif(sys.platform == "win32", reason="other signals")
@pytest.mark.parametrize(
    ("number", "code", "message"),
    [(signal.SIGINT, 130, b"dropglm: interrupted.\n"), (signal.SIGTERM, 143, b"")],
)
def test_a_signal_ends_the_command_and_leaves_no_partial_file(place, tmp_path, number, code, message):
    command = [sys.executable, "-m", "dropglm", "predict", place / "m.skops", "--out", "out.csv"]
    with subprocess.Popen(command, cwd=tmp_path, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdin.write(b"a film\n")
        process.stdin.flush()
        end = time.monotonic() + 60
        while not any(path.stat().st_size for path in tmp_path.iterdir()) and time.monotonic() < end:
            time.sleep(0.01)  # until the first row is written
        process.send_signal(number)
        _, err = process.communicate(timeout=30)
    assert process.returncode == code
    assert err == message
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("command", ["path", "fetch"])
def test_a_data_set_without_a_file_is_refused_with_advice(command, tmp_path):
    error = error_of("data", command, "docstrings", cwd=tmp_path)
    assert "docstrings is generated and has no file; use dropglm data export docstrings" in error
    assert "or load_dataset('docstrings') in Python" in error


def test_export_does_not_overwrite_files_unless_forced(tmp_path, monkeypatch):
    some, labels = map(np.array, texts(4))
    data = SimpleNamespace(texts=some, y=labels, unlabeled=None, texts_test=some, y_test=labels)
    monkeypatch.setattr(datasets, "load_dataset", lambda name: data)
    monkeypatch.setattr(datasets, "where", lambda name: None)
    (tmp_path / "toy_test.csv").write_text("mine")
    (tmp_path / "toy_unlabeled.csv").write_text("also mine, but not to be written")
    assert "toy_test.csv exists" in dropglm("data", "export", "toy", cwd=tmp_path, code=2)
    assert not (tmp_path / "toy.csv").exists()
    assert (tmp_path / "toy_test.csv").read_text() == "mine"
    dropglm("data", "export", "toy", "--force", cwd=tmp_path)
    for name in ("toy.csv", "toy_test.csv"):
        assert (tmp_path / name).read_text().splitlines()[0] == "text,label"
    assert (tmp_path / "toy_unlabeled.csv").read_text() == "also mine, but not to be written"


@pytest.mark.parametrize(
    "out",
    [
        "-",
        "no/m.skops",
        "link.skops",
        "pipe",
        "folder",
        "/dev/stdout/m.skops",
        "/dev/stdout",
        "/proc/self/fd/1",
    ],
)
def test_an_output_that_cannot_be_written_is_refused_before_the_table_is_read(tmp_path, out):
    (tmp_path / "link.skops").symlink_to("no/m.skops")
    (tmp_path / "folder").mkdir()
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
    else:
        (tmp_path / "pipe").mkdir()
    before = sorted(os.listdir(tmp_path))
    for command in (("train", "nothing.csv"), ("train", "nothing.csv", "--online")):
        error = dropglm(*command, "--out", out, cwd=tmp_path, code=2)
        assert "--out" in error
        assert "nothing.csv" not in error
    assert sorted(os.listdir(tmp_path)) == before


def test_the_output_of_predict_is_checked_before_the_model_is_read(tmp_path):
    error = dropglm("predict", "nothing.skops", "--out", "no/out.csv", cwd=tmp_path, code=2, stdin=b"")
    assert "cannot be written" in " ".join(error.replace("│", " ").split())
    error = dropglm("predict", "nothing.skops", "--out", "out.xlsx", cwd=tmp_path, code=2, stdin=b"")
    assert "set --out-format to one of" in " ".join(error.replace("│", " ").split())
    error = dropglm("explain", "nothing.skops", "--html", "no/page.html", cwd=tmp_path, code=2)
    assert "--html" in error


@pytest.mark.skipif(not os.path.exists("/dev/fd"), reason="no /dev/fd")
def test_an_open_file_is_written_to_and_not_replaced(place, tmp_path):
    with open(tmp_path / "log.txt", "ab", buffering=0) as log:
        log.write(b"earlier\n")
        out = f"/dev/fd/{log.fileno()}"
        dropglm("predict", "m.skops", "test.csv", "--out", out, "--out-format", "jsonl", cwd=place)
        dropglm("explain", "m.skops", "--html", out, cwd=place)
    content = (tmp_path / "log.txt").read_text()
    assert content.startswith('earlier\n{"predicted":')
    assert content.endswith("</html>\n")
    error = dropglm("explain", "m.skops", "--html", "/dev/fd/987", cwd=place, code=2)
    assert "Bad file descriptor" in " ".join(error.replace("│", " ").split())


@pytest.mark.parametrize(("fraction", "advice"), [("0.99", "smaller"), ("0.01", "larger")])
def test_a_fraction_that_leaves_too_few_texts_is_refused_with_the_right_advice(place, fraction, advice):
    error = error_of("train", "reviews.csv", "--validation", fraction, "--quiet", cwd=place)
    assert f"Choose a {advice} fraction" in error


@pytest.mark.parametrize("scoring", ["neg_mean_squared_error", "rand_score", "f1_samples"])
def test_scorers_that_are_not_for_classifiers_are_unknown(place, scoring):
    error = dropglm("train", "reviews.csv", "--scoring", scoring, cwd=place, code=2)
    assert "'roc_auc'" in error
    for other in ("'r2'", "'rand_score'", "'explained_variance'"):
        assert other not in error.partition("Known")[2]


def test_a_scorer_that_does_not_suit_the_labels_is_refused(place):
    error = error_of("train", "reviews.csv", "--scoring", "f1", "--quiet", cwd=place)
    assert "--scoring f1 does not suit the 2 labels of the table" in error


@pytest.mark.parametrize("tab", ["\\t", "tab", "\t"])
def test_a_tab_can_be_written_in_several_ways(place, tmp_path, tab):
    (tmp_path / "tabs.csv").write_text("a\ttext\nx\tlovely film\ny\tdull film\n")
    out = dropglm("predict", place / "m.skops", "tabs.csv", "--delimiter", tab, cwd=tmp_path)
    assert [json.loads(line)["predicted"] for line in out.splitlines()] == ["good", "bad"]


@pytest.mark.parametrize(
    ("name", "content"),
    [("empty.csv", ""), ("header.csv", "text,label\n"), ("empty.jsonl", ""), ("empty.txt", "")],
)
def test_a_table_without_rows_has_no_predictions(place, tmp_path, name, content):
    (tmp_path / name).write_text(content)
    done = run("predict", place / "m.skops", name, cwd=tmp_path)
    assert (done.exit_code, done.stdout) == (0, "")
    assert f"dropglm: {name}: this " in done.stderr
    assert done.stderr.endswith(", so there is nothing to predict.\n")
    command = "predict", place / "m.skops", name, "-p", "--keep", "text", "--out", "out.csv"
    dropglm(*command, cwd=tmp_path)
    assert (tmp_path / "out.csv").read_text() == "predicted,probability,p(bad),p(good),text\n"


def test_empty_standard_input_has_no_predictions(place):
    assert dropglm("predict", "m.skops", cwd=place, stdin=b"") == ""


@pytest.mark.parametrize("command", [info.callback.__name__ for info in app.registered_commands])
def test_too_little_memory_comes_with_advice_that_suits_the_command(command):
    sentence, code = describe(MemoryError(), command)
    assert code == 1
    assert sentence.startswith("not enough memory; ")
    known = {name for parameter in get_command(app).commands[command].params for name in parameter.opts}
    assert set(re.findall(r"--[\w-]+", sentence)) <= known


def test_a_command_without_enough_memory_says_so(place, monkeypatch):
    def fails(*_, **__):
        raise MemoryError

    import dropglm.cli.train_online  # noqa: F401 (it would keep the function that fails)

    monkeypatch.setattr("dropglm.text.fitted_model.load_fitted_model", fails)
    error = error_of("predict", "m.skops", "test.csv", cwd=place, code=1)
    assert error == ("dropglm: not enough memory; close other programs, or use a machine with more of it.")
    monkeypatch.setattr("dropglm.cli.train_online.train_online", fails)
    error = error_of("train", "reviews.csv", "--online", cwd=place, code=1)
    assert "--ngrams or --max-features, or smaller --bits with --online." in error


def test_the_error_class_for_tables_is_about_input():
    assert describe(TableError("a.csv: set encoding to 'cp1252'.")) == (
        "a.csv: set --encoding to 'cp1252'.",
        3,
    )


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("There are no texts.", "t.csv: there are no texts."),
        ("A class needs a name.", "t.csv: a class needs a name."),
        ("X is empty; give at least one text.", "t.csv: X is empty; give at least one text."),
        ("NaN is not a label.", "t.csv: NaN is not a label."),
    ],
)
def test_a_sentence_after_the_name_of_its_table_begins_in_lower_case(sentence, expected):
    with pytest.raises(BadInputError) as caught, naming_table("t.csv"):
        raise InputError(sentence)
    assert str(caught.value) == expected
