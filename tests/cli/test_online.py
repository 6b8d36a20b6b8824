"""dropglm train --online: streams, bad rows, checkpoints."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import fields

import numpy as np
import pytest

from dropglm.cli.errors import BadInputError
from dropglm.cli.train import IN_MEMORY_ONLY, ONLINE_ONLY
from dropglm.cli.training import TrainOptions
from dropglm.text import OnlineTextClassifier, TextClassifier, load_model
from tests.cli.command import dropglm, error_of, run, texts, write_csv

ONLINE = ("train", "--online", "--bits", "12")


def same(one, other):
    """Assert that two model files hold the same model, bit for bit."""
    one, other = load_model(one)._current_model().to_state(), load_model(other)._current_model().to_state()
    for part in ("state", "buckets"):
        for name, array in one[part].items():
            np.testing.assert_array_equal(array, other[part][name])
    for name in ("classes", "counts", "seen"):
        np.testing.assert_array_equal(one[name], other[name])
    assert one["settings"] == other["settings"]
    assert one["n_texts"] == other["n_texts"]


def write_jsonl(path, rows):
    path.write_text("".join(json.dumps({"text": text, "label": label}) + "\n" for text, label in rows))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("online")
    rows = list(zip(*texts(3000), strict=True))
    write_csv(folder / "reviews.csv", rows)
    write_jsonl(folder / "reviews.jsonl", rows)
    write_csv(folder / "test.csv", zip(*texts(200, seed=1), strict=True))
    dropglm(*ONLINE, "reviews.csv", "-o", "m.skops", cwd=folder)
    return folder


def test_a_stream_becomes_a_model_that_the_other_commands_read(folder):
    model = load_model(folder / "m.skops")
    assert isinstance(model, OnlineTextClassifier)
    assert model.t_ == 3000
    found = json.loads(dropglm("evaluate", "m.skops", "test.csv", "--json", cwd=folder))
    assert found["accuracy"] > 0.95
    result = json.loads(
        dropglm("explain", "m.skops", "a lovely film", "--json", "--html", "m.html", cwd=folder)
    )
    assert result["texts"][0]["label"] == "good"
    assert {entry["ngram"] for entry in result["top_features"]["bad"][:5]} <= {
        "dull",
        "boring",
        "long",
        "weak",
        "cold",
    }
    assert "lovely" in (folder / "m.html").read_text()
    assert '"good"' in dropglm("predict", "m.skops", "-", cwd=folder, stdin=b"a lovely film\n")


def test_progressive_figures_are_shown_during_training(folder):
    done = run(*ONLINE, "reviews.csv", "-o", "progress.skops", "--json", cwd=folder)
    assert done.exit_code == 0
    result = json.loads(done.stdout)
    model = load_model(folder / "progress.skops")
    assert result["progressive_accuracy"] == model.progressive_accuracy_
    assert result["texts"] == {"bad": 1500, "good": 1500}
    assert f"{model.progressive_accuracy_:.4f}" in done.stderr.splitlines()[-2]
    assert "since last" in done.stderr


def test_files_pipes_and_the_library_give_the_same_model(folder):
    piped = ("-", "--format", "jsonl", "--classes", "bad,good")
    stream = (folder / "reviews.jsonl").read_bytes()
    dropglm(*ONLINE, *piped, "-o", "piped.skops", "--quiet", cwd=folder, stdin=stream)
    same(folder / "m.skops", folder / "piped.skops")
    library = OnlineTextClassifier(bits=12).partial_fit(*texts(3000), classes=["bad", "good"])
    library.save(folder / "library.skops")
    np.testing.assert_array_equal(load_model(folder / "m.skops").model_.coef_, library.model_.coef_)


def test_integer_labels_stay_integers(tmp_path):
    words, labels = texts(200)
    write_csv(
        tmp_path / "n.csv", [(text, int(label == "good")) for text, label in zip(words, labels, strict=True)]
    )
    dropglm(*ONLINE, "n.csv", "-o", "n.skops", cwd=tmp_path)
    assert load_model(tmp_path / "n.skops").classes_.tolist() == [0, 1]
    assert json.loads(dropglm("evaluate", "n.skops", "n.csv", "--json", cwd=tmp_path))["accuracy"] > 0.9


# Kills the process after the third checkpoint.
KILLED = """
import os, signal, sys
from dropglm.text.online_text_model import OnlineTraining

save, count = OnlineTraining.save, 0

def save_and_die(self, path):
    global count
    save(self, path)
    count += 1
    if count == 3:
        os.kill(os.getpid(), signal.SIGKILL)

OnlineTraining.save = save_and_die
sys.modules["dropglm.tables.reader"].MAX_ROWS = 170
from dropglm.cli import main
main()
"""


@pytest.mark.parametrize("settings", [(), ("--rule", "dropout", "--l2", "0.001"), ("--epochs", "2")], ids=str)
def test_a_killed_training_resumes_bit_for_bit(folder, settings, tmp_path):
    rows = list(zip(*texts(1500), strict=True))
    rows[100] = ("strange", "ugly")
    rows[1200] = ("strange", "ugly")
    write_jsonl(tmp_path / "s.jsonl", rows)
    command = (*ONLINE, "s.jsonl", "--classes", "good,bad", "--bad-rows", "skip", *settings)
    dropglm(*command, "-o", "whole.skops", cwd=tmp_path)
    kept = ("-o", "m.skops", "--checkpoint", "run.checkpoint", "--every", "150")
    dropglm(*command, *kept, cwd=tmp_path, wrapper=("-c", KILLED), code=-signal.SIGKILL)
    assert not (tmp_path / "m.skops").exists()
    result = json.loads(dropglm(*command, *kept, "--json", cwd=tmp_path))
    same(tmp_path / "whole.skops", tmp_path / "m.skops")
    assert result["bad_rows"] == (4 if "--epochs" in settings else 2)
    assert not (tmp_path / "run.checkpoint").exists()


@pytest.mark.parametrize(("epoch", "passes"), [(1, "1 pass;"), (2, "2 passes;")])
def test_a_checkpoint_beyond_the_last_pass_is_refused(tmp_path, monkeypatch, epoch, passes):
    from dropglm.cli.train_online import _resume
    from dropglm.cli.training import TrainOptions
    from dropglm.text.online_text_model import OnlineTextModel, OnlineTraining

    model = OnlineTextModel.new({})
    found = OnlineTraining(model, epoch=epoch)
    monkeypatch.setattr(OnlineTraining, "load", lambda path, trust: found)
    with pytest.raises(BadInputError, match=f"has already completed {passes} raise --epochs"):
        _resume(tmp_path / "run.checkpoint", model, TrainOptions(["s.csv"], epochs=1), {})


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL")
def test_a_training_killed_by_another_process_resumes_bit_for_bit(tmp_path):
    write_csv(tmp_path / "s.csv", list(zip(*texts(40_000), strict=True)))
    command = (
        *ONLINE,
        "s.csv",
        "--classes",
        "good,bad",
        "--every",
        "10000",
        "--checkpoint",
        "run.checkpoint",
    )
    process = subprocess.Popen(
        [sys.executable, "-m", "dropglm", *command, "-o", "m.skops"], cwd=tmp_path, stderr=subprocess.DEVNULL
    )
    until = time.monotonic() + 60
    while not (tmp_path / "run.checkpoint").exists() and time.monotonic() < until:
        time.sleep(0.001)
    process.kill()
    assert process.wait() == -signal.SIGKILL
    assert not (tmp_path / "m.skops").exists()
    dropglm(*command, "-o", "m.skops", cwd=tmp_path)
    dropglm(*ONLINE, "s.csv", "--classes", "good,bad", "-o", "whole.skops", cwd=tmp_path)
    same(tmp_path / "whole.skops", tmp_path / "m.skops")


def test_a_checkpoint_of_another_training_is_refused(folder, tmp_path):
    write_csv(tmp_path / "s.csv", zip(*texts(600), strict=True))
    write_csv(tmp_path / "other.csv", zip(*texts(600, seed=3), strict=True))
    write_csv(tmp_path / "short.csv", list(zip(*texts(600), strict=True))[:400])
    kept = ("-o", "m.skops", "--checkpoint", "run.checkpoint", "--every", "150")
    command = (*ONLINE, "--classes", "good,bad", *kept)
    dropglm(*command, "s.csv", cwd=tmp_path, wrapper=("-c", KILLED), code=-signal.SIGKILL)
    for arguments, expected in [
        ((*command, "other.csv"), "other.csv: row 510, where training stopped, has changed"),
        ((*command, "short.csv"), "short.csv: the table ends before row 510, where training stopped"),
        ((*command, "s.csv", "--rule", "dropout"), "was made with a different --rule; remove run.checkpoint"),
        ((*command, "s.csv", "--ngrams", "1"), "was made with a different --ngrams;"),
        ((*command, "s.csv", "--classes", "a,b"), "was made with the classes bad,good"),
        ((*command, "s.csv", "--text", "other"), "was made with a different --text"),
    ]:
        result = dropglm(*arguments, "--quiet", cwd=tmp_path, code=3)
        assert expected in result, result
    kept = (tmp_path / "run.checkpoint").read_bytes()
    changes = ("--format", "csv", "--delimiter", ",", "--epochs", "2", "--bad-rows", "skip", "--every", "999")
    dropglm(*command, "s.csv", *changes, "--threads", "1", cwd=tmp_path)
    for rubbish in (b"rubbish", b"", kept[: len(kept) // 2], (folder / "m.skops").read_bytes()):
        (tmp_path / "run.checkpoint").write_bytes(rubbish)
        error = error_of(*command, "s.csv", cwd=tmp_path)
        assert re.search("is not a dropglm model file|holds a model of kind 'OnlineTextClassifier'", error)
        assert error.endswith("so it is not a checkpoint; name another file with --checkpoint.")


BAD_LINES = {
    "broken": '{"text": "x", "label',
    "NaN": '{"text": "x", "label": NaN}',
    "list": '{"text": "x", "label": []}',
    "no text": '{"label": "good"}',
    "unknown class": '{"text": "x", "label": "ugly"}',
}


def test_bad_rows_are_skipped_counted_and_reported_with_their_line_numbers(folder, tmp_path):
    good = [json.dumps({"text": t, "label": label}) for t, label in zip(*texts(300), strict=True)]
    lines = good.copy()
    places = dict(zip(BAD_LINES, (0, 50, 100, 200, 304), strict=True))
    for kind, place in places.items():
        lines.insert(place, BAD_LINES[kind])
    (tmp_path / "good.jsonl").write_text("\n".join(good))
    (tmp_path / "bad.jsonl").write_text("\n".join(lines))
    named = ("--classes", "bad,good")
    dropglm(*ONLINE, "good.jsonl", *named, "-o", "good.skops", cwd=tmp_path)
    skipping = ("--bad-rows", "skip", "--json")
    done = run(*ONLINE, "bad.jsonl", *named, *skipping, "-o", "bad.skops", cwd=tmp_path)
    assert done.exit_code == 0
    assert json.loads(done.stdout)["bad_rows"] == len(BAD_LINES)
    for place in places.values():
        assert f"skipped: bad.jsonl: row {place + 1} (line {place + 1}) " in done.stderr
    same(tmp_path / "good.skops", tmp_path / "bad.skops")


@pytest.mark.parametrize("kind", BAD_LINES)
def test_a_bad_row_stops_the_training_by_default(kind, tmp_path):
    good = [json.dumps({"text": t, "label": label}) for t, label in zip(*texts(20), strict=True)]
    (tmp_path / "s.jsonl").write_text("\n".join([*good[:7], BAD_LINES[kind], *good[7:]]))
    expected = error_of(*ONLINE, "s.jsonl", "--classes", "bad,good", "--quiet", "-o", "m.skops", cwd=tmp_path)
    assert "s.jsonl: row 8 (line 8) " in expected
    assert not (tmp_path / "m.skops").exists()


def test_training_continues_from_models_trained_with_and_without_online(folder, place):
    dropglm("train", place / "reviews.csv", "--no-tune", "-o", "first.skops", cwd=folder)
    first = TextClassifier.load(folder / "first.skops")
    result = json.loads(
        dropglm(
            "train",
            "--online",
            "test.csv",
            "--start-from",
            "first.skops",
            "-o",
            "second.skops",
            "--json",
            cwd=folder,
        )
    )
    assert result["features"] == first.model_.n_features_in_
    assert not result["hashed"]
    assert result["progressive_accuracy"] > 0.9
    dropglm("train", "--online", "test.csv", "--start-from", "m.skops", "-o", "more.skops", cwd=folder)
    assert load_model(folder / "more.skops").t_ == 3200


def test_rows_sorted_by_class_give_a_warning(tmp_path):
    words, labels = texts(400)
    write_csv(tmp_path / "s.csv", sorted(zip(words, labels, strict=True), key=lambda row: row[1]))
    done = run(*ONLINE, "s.csv", "-o", "m.skops", cwd=tmp_path)
    assert done.exit_code == 0
    assert "the rows are sorted by class" in done.stderr


# ru_maxrss of a child starts with its parent's value; VmHWM is that of the process itself.
PEAK_MEMORY = """
import sys
from dropglm.cli import main
try:
    main()
finally:
    status = open("/proc/self/status").read()
    open(sys.argv[-1] + ".size", "w").write(status.split("VmHWM:")[1].split()[0])
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="no /proc")
def test_memory_does_not_grow_with_the_stream(tmp_path):
    """Compare the peak memory for a stream of 4 MB with that for one of 40 MB."""
    words, labels = texts(1000)
    rows = [(f"{text} " * 80, label) for text, label in zip(words, labels, strict=True)]
    sizes = []
    for times in (1, 10):
        write_csv(tmp_path / "s.csv", rows * times)
        dropglm(*ONLINE, "s.csv", "--quiet", "-o", f"{times}", cwd=tmp_path, wrapper=("-c", PEAK_MEMORY))
        sizes.append(int((tmp_path / f"{times}.size").read_text()))
    # What threads hold differs by some megabytes from run to run; the longer stream has 36 MB more.
    assert sizes[1] < sizes[0] + 18_000


def test_options_of_a_panel_are_refused_where_they_have_no_effect():
    panels = {}
    for option in fields(TrainOptions):
        shown = option.metadata["typer"][0].rich_help_panel if option.metadata else None
        panels.setdefault(shown, set()).add(option.name)
    assert panels["Tuning"] - {"l2"} <= IN_MEMORY_ONLY
    assert panels["Online"] - {"online"} <= ONLINE_ONLY


@pytest.mark.parametrize(
    ("arguments", "code", "expected"),
    [
        (("--online", "s.csv", "--validation", "0.2"), 2, "cannot be used with --online"),
        (("--online", "s.csv", "--dropout", "0.5"), 2, "cannot be used with --online"),
        (("--online", "s.csv", "--ngram-weight", "0.5"), 2, "cannot be used with --online"),
        (("s.csv", "--rule", "sgd"), 2, "can be used only with --online"),
        (("--online", "s.csv", "--rule", "sgdd"), 2, "did you mean 'sgd'"),
        (("--online", "s.csv", "--bad-rows", "drop"), 2, "known: 'skip', 'stop'"),
        (("--online", "s.csv", "--classes", "a"), 2, "must be two or more different labels"),
        (("--online", "s.csv", "--classes", "a,a"), 2, "must be two or more different labels"),
        (("--online", "s.csv", "--bits", "40"), 2, "Invalid value for '--bits'"),
        (("--online", "s.csv", "--bits", "40"), 2, "30"),  # the limit, which each version words differently
        (("--online", "s.csv", "--rate", "-1"), 2, "must be a finite number above 0"),
        (("--online", "s.csv", "--rate", "1e308"), 3, "s.csv: training has diverged at row"),
        (("--online", "s.csv", "--rate", "1e308", "--json"), 3, "; lower --rate (now 1e+308)."),
        (("--online", "s.csv", "--checkpoint", "m.skops", "-o", "m.skops"), 2, "is also the file of --out"),
        (("--online", "s.csv", "--classes", ""), 2, "must be two or more different labels"),
        (
            ("--online", "s.csv", "--classes", "a,b", "--bad-rows", "skip"),
            3,
            "no row has one of the classes a, b",
        ),
        (("--online", "-", "--classes", "a,b", "--epochs", "2"), 2, "a pipe can be read only once"),
        (("--online", "-", "--format", "csv"), 2, "a pipe can be read only once"),
        (("--online", "s.csv", "--label", "text"), 2, "is the column with the texts"),
        (("--online", "s.csv", "--label", "labels"), 3, "did you mean 'label'"),
        (("--online", "s.csv", "--classes", "a,b"), 3, "'good', which is not one of the classes 'a', 'b'."),
        (("--online", "nowhere.csv"), 3, "there is no such file"),
        (("--online", "one.csv"), 3, "all rows have the label 'good'; at least two classes are needed"),
        (("--online", "s.csv", "--checkpoint", "no/where"), 2, "cannot be written: No such file"),
        (("--online", "s.csv", "--start-from", "s.csv"), 3, "is not a dropglm model file"),
        (("--online", "s.csv", "-o", "s.csv"), 2, "is also an input"),
    ],
    ids=str,
)
def test_options_that_cannot_work_give_a_message(arguments, code, expected, tmp_path):
    write_csv(tmp_path / "s.csv", zip(*texts(20), strict=True))
    write_csv(tmp_path / "one.csv", [("lovely", "good")] * 3)
    done = run("train", *arguments, "--quiet", cwd=tmp_path, stdin="")
    assert done.exit_code == code, done.output
    assert expected in " ".join(done.output.replace("│", " ").split())


def test_scikit_learn_is_not_imported(folder, tmp_path):
    """Its import takes as long as learning from 30,000 reviews."""
    check = "assert 'sklearn' not in sys.modules"
    code = f"import sys\nfrom dropglm.cli import main\ntry: main()\nfinally: {check}"
    command = (sys.executable, "-c", code, *ONLINE, folder / "reviews.csv", "--out", tmp_path / "model.skops")
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert load_model(tmp_path / "model.skops").t_ == 3000
