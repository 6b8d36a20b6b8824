"""No command writes a file that it also reads, or writes one file twice."""

import os
from inspect import signature
from itertools import permutations
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import typer

from dropglm import datasets
from dropglm.base.files import file_identity
from dropglm.cli.app import app
from dropglm.cli.files import file_parameters
from dropglm.cli.options import File
from tests.cli.command import dropglm, run, texts, write_csv

GROUPS = {(): app} | {(group.name,): group.typer_instance for group in app.registered_groups}
COMMANDS = {
    (*group, info.name or info.callback.__name__): info.callback
    for group, commands in GROUPS.items()
    for info in commands.registered_commands
}
PAIRS = [
    (name, output, other)
    for name, command in COMMANDS.items()
    for output, other in permutations(file_parameters(command), 2)
    if file_parameters(command)[output] is File.WRITTEN
]
LINKS = {
    "the same name": lambda file, _: file,
    "another spelling": lambda file, _: Path(os.curdir, file),
    "a symbolic link": lambda file, link: link.symlink_to(file) or link,
    "a hard link": lambda file, link: link.hardlink_to(file) or link,
}


def sentence(error):
    return " ".join(error.replace("│", " ").split())


@pytest.mark.parametrize("name", COMMANDS, ids=" ".join)
def test_every_path_of_a_command_is_declared_as_read_or_written(name):
    declared = file_parameters(COMMANDS[name])
    parameters = signature(COMMANDS[name]).parameters.values()
    paths = {one.name for one in parameters if "Path" in str(one.annotation)}
    assert paths <= declared.keys()
    assert File.WRITTEN not in declared.values() or hasattr(COMMANDS[name], "__wrapped__")


def named(name, files):
    """Return the arguments of a command with these files, and other values where it needs some."""
    command = typer.main.get_command(app)
    for part in name:
        command = command.commands[part]
    arguments = list(name)
    for parameter in command.params:
        if parameter.name in files:
            is_option = parameter.param_type_name == "option"
            arguments += [*parameter.opts[:is_option], files[parameter.name]]
        elif parameter.required:
            arguments.append(f"some-{parameter.name}")
    return arguments


@pytest.mark.parametrize("way", LINKS)
@pytest.mark.parametrize(("name", "output", "other"), PAIRS, ids=str)
def test_an_output_that_another_option_names_is_refused_before_any_work(
    name, output, other, way, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    Path("file.csv").write_text("# mine")
    files = {output: LINKS[way](Path("file.csv"), Path("link.csv")), other: "file.csv"}
    error = sentence(dropglm(*named(name, files), cwd=tmp_path, code=2, stdin=b""))
    assert "is also an input" in error or "is also the file of --" in error
    assert Path("file.csv").read_text() == "# mine"


def test_two_outputs_that_do_not_exist_yet_are_compared_as_well(place, tmp_path):
    (tmp_path / "link.csv").symlink_to("m.csv")
    command = "train", place / "reviews.csv", "--out", "m.csv", "--suspicious-out", "link.csv"
    assert "link.csv is also the file of --out" in sentence(dropglm(*command, cwd=tmp_path, code=2))
    assert os.listdir(tmp_path) == ["link.csv"]


def test_a_device_may_be_named_twice(place):
    done = run("explain", "m.skops", "--html", os.devnull, "--embeddings", os.devnull, cwd=place)
    assert "is also" not in done.stderr


@pytest.mark.skipif(not os.path.exists("/dev/fd"), reason="no /dev/fd")
def test_an_open_file_is_the_file_itself(tmp_path):
    with open(tmp_path / "log.txt", "wb") as log:
        assert file_identity(f"/dev/fd/{log.fileno()}") == file_identity(tmp_path / "log.txt")


def test_tables_of_a_data_set_are_distinct(tmp_path, monkeypatch):
    some, labels = map(np.array, texts(4))
    data = SimpleNamespace(texts=some, y=labels, unlabeled=None, texts_test=some, y_test=labels)
    monkeypatch.setattr(datasets, "load_dataset", lambda name: data)
    monkeypatch.setattr(datasets, "where", lambda name: tmp_path / "stored.parquet")
    (tmp_path / "stored.parquet").write_text("the only copy")
    export = "data", "export", "toy", "--force"
    error = sentence(dropglm(*export, "--out", "stored.parquet", cwd=tmp_path, code=2))
    assert "stored.parquet is also an input" in error
    (tmp_path / "toy_test.csv").symlink_to("toy.csv")
    assert "toy_test.csv is also the file of --out" in sentence(dropglm(*export, cwd=tmp_path, code=2))
    assert (tmp_path / "stored.parquet").read_text() == "the only copy"
    assert not (tmp_path / "toy.csv").exists()


@pytest.mark.parametrize("exported", ["a.labelled.csv", "a.model.skops", "a.predictions.csv"])
def test_files_that_labelling_exports_are_distinct(tmp_path, exported, monkeypatch):
    monkeypatch.setattr("dropglm.web.running.run", lambda app, listener: None)
    write_csv(tmp_path / "a.csv", zip(*texts(20), strict=True))
    command = "label", "a.csv", "--no-browser", "--quiet", "--port", "0"
    for other, why in (("a.csv", "an input"), ("a.labels.jsonl", "the file of --out")):
        (tmp_path / exported).unlink(missing_ok=True)
        (tmp_path / exported).symlink_to(other)
        assert f"{exported} is also {why}" in sentence(dropglm(*command, cwd=tmp_path, code=2))


def test_the_tables_in_a_folder_for_dask_are_inputs(tmp_path):
    pytest.importorskip("distributed")
    (tmp_path / "tables").mkdir()
    write_csv(tmp_path / "tables" / "a.csv", zip(*texts(20), strict=True))
    (tmp_path / "m.skops").symlink_to("tables/a.csv")
    train = "train", "tables", "--dask", "local", "--no-tune"
    error = sentence(dropglm(*train, "--out", "m.skops", cwd=tmp_path, code=2))
    assert "m.skops is also an input" in error
    (tmp_path / "state").mkdir()
    command = *train, "--checkpoint", "state", "--out", "state/m.skops"
    assert "is in the folder of --checkpoint" in sentence(dropglm(*command, cwd=tmp_path, code=2))
