"""``dropglm train --dask``: tables that workers read, and the model file of a local training."""

import io
import json
import logging
import os
import re

import numpy as np
import polars as pl
import pytest
from dask.distributed import LocalCluster
from numpy.testing import assert_allclose

from dropglm import load_model
from dropglm import text as dropglm_text
from dropglm.base.errors import ClusterError
from dropglm.cli.errors import describe
from dropglm.cli.train import _explaining_workers
from dropglm.core.solvers import LBFGS
from dropglm.dask import collections as dask_tables
from dropglm.dask import engine
from dropglm.tables import Table, TableError
from tests.cli.command import dropglm, error_of, run, run_process, texts, write_csv


@pytest.fixture(scope="module")
def address():
    settings = {"processes": False, "protocol": "tcp", "dashboard_address": ":0"}
    with LocalCluster(n_workers=2, threads_per_worker=1, **settings) as cluster:
        yield cluster.scheduler_address


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with a table, the same table in several files, and unlabelled texts."""
    folder = tmp_path_factory.mktemp("dask")
    X, y = texts(90)
    numbers = [{"good": 1, "bad": 0}[label] for label in y]
    write_csv(folder / "all.csv", zip(X, y, numbers, strict=True), header=("text", "label", "number"))
    (folder / "parts").mkdir()
    for k in range(3):
        part = slice(30 * k, 30 * k + 30)
        write_csv(
            folder / f"part-{k}.csv",
            zip(X[part], y[part], numbers[part], strict=True),
            header=("text", "label", "number"),
        )
        pl.DataFrame({"text": X[part], "label": y[part]}).write_parquet(folder / "parts" / f"{k}.parquet")
    (folder / "more.txt").write_text("\n".join(texts(40, seed=2)[0]))
    dropglm("train", "all.csv", "-u", "more.txt", "--no-tune", "-o", "local.skops", cwd=folder)
    return folder


def assert_same_predictions(path, expected):
    """The models agree up to the tolerance of the fits, 1e-4."""
    model, expected = load_model(path), load_model(expected)
    assert model.vectorizer_.vocabulary_ == expected.vectorizer_.vocabulary_
    assert model.classes_.dtype == expected.classes_.dtype
    assert model.get_params() == expected.get_params()
    new, _ = texts(50, seed=5)
    assert_allclose(model.predict_proba(new), expected.predict_proba(new), atol=1e-3)
    assert (model.text_column_, model.label_column_) == (expected.text_column_, expected.label_column_)


def test_several_files_give_the_model_of_one_table(folder, address, tmp_path):
    out = tmp_path / "m.skops"
    tables = ("part-2.csv", "part-[01].csv")
    options = ("-u", "more.txt", "--no-tune", "--checkpoint", tmp_path / "checkpoint")
    done = run("train", *tables, *options, "--dask", address, "-o", out, "--json", cwd=folder)
    assert done.exit_code == 0, done.stderr
    assert re.search(r"Dask runs with 2 workers, 2 threads; its dashboard is http://\S+/status", done.stderr)
    report = json.loads(done.stdout)
    assert report["texts"] == {"bad": 45, "good": 45}
    assert report["unlabeled"] == 40
    assert_same_predictions(out, folder / "local.skops")


def test_a_checkpoint_stays_until_the_model_is_saved(folder, address, tmp_path, monkeypatch):
    """Otherwise a full disk would cost the whole training."""
    out, checkpoint = tmp_path / "m.skops", tmp_path / "checkpoint"
    command = ("train", "all.csv", "--no-tune", "--dask", address, "-o", out, "--checkpoint", checkpoint)
    with monkeypatch.context() as patch:
        patch.setattr(
            dropglm_text.TextClassifier, "save", lambda *_: (_ for _ in ()).throw(OSError(28, "full"))
        )
        assert run(*command, "--quiet", cwd=folder).exit_code == 1
    assert os.listdir(checkpoint) == ["problem-0.state"]
    passes = []
    monkeypatch.setattr(LBFGS, "minimize", lambda *given: passes.append(given))
    dropglm(*command, "--quiet", cwd=folder)
    assert passes == []  # nothing was left to fit
    assert out.exists()
    assert not checkpoint.exists()


def test_blocks_of_one_file_give_the_same_model(folder, address, tmp_path, monkeypatch):
    monkeypatch.setattr(dask_tables, "SMALLEST", 500)
    monkeypatch.setattr(dask_tables, "LARGEST", 500)
    seen = []
    read = Table.read
    monkeypatch.setattr(Table, "read", lambda table: seen.append(table.part) or read(table))
    out = tmp_path / "m.skops"
    dropglm("train", "all.csv", "-u", "more.txt", "--no-tune", "--dask", address, "-o", out, cwd=folder)
    assert len(seen) > 10
    assert_same_predictions(out, folder / "local.skops")


def test_labels_have_the_types_of_one_table(folder, address, tmp_path):
    options = ("--label", "number", "--l2", "0.1", "--class-weight", "balanced", "--no-tune")
    out, expected = tmp_path / "m.skops", tmp_path / "local.skops"
    dropglm("train", "part-*.csv", *options, "--dask", address, "--quiet", "-o", out, cwd=folder)
    dropglm("train", "all.csv", *options, "-o", expected, cwd=folder)
    assert load_model(out).classes_.tolist() == [0, 1]
    assert_same_predictions(out, expected)


@pytest.mark.slow
def test_local_starts_one_worker_per_core(folder, tmp_path):
    out = tmp_path / "m.skops"
    command = ("train", "parts", "-u", "more.txt", "--no-tune", "--dask", "local", "--out", out)
    done = run_process(*command, cwd=folder, LOKY_MAX_CPU_COUNT="1")
    assert done.returncode == 0, done.stderr.decode()
    assert b"Dask runs with 1 worker, 1 thread; its dashboard is http://" in done.stderr
    assert_same_predictions(out, folder / "local.skops")
    dropglm("predict", out, "all.csv", "--out", tmp_path / "labels.csv", cwd=folder)
    assert np.isin(pl.read_csv(tmp_path / "labels.csv")["predicted"], ["good", "bad"]).all()


def test_settings_are_tuned_as_for_one_table(folder, address, tmp_path):
    """With latent features and rounds of naive Bayes, from the unlabelled texts."""
    options = ("--folds", "3", "--ngram-weight", "0.5", "--ngram-weight", "1", "-u", "more.txt")
    options = (*options, "--latent", "5", "--rounds", "2")
    out, expected = tmp_path / "m.skops", tmp_path / "local.skops"
    dropglm("train", "part-*.csv", *options, "--dask", address, "-o", out, cwd=folder)
    dropglm("train", "all.csv", *options, "-o", expected, cwd=folder)
    ours, theirs = load_model(out).summary_, load_model(expected).summary_
    assert ours.search["folds"] == 3
    assert ours.settings == theirs.settings
    for name in ("n_latent", "rounds"):
        assert ours.unlabeled_effect[name] == theirs.unlabeled_effect[name]
    assert_same_predictions(out, expected)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (("--dask", "local", "--online"), "cannot be used with --online"),
        (("--dask", "local", "--validation", "0.2"), "cannot be used with --dask"),
        (("--dask", "local", "--baseline"), "cannot be used with --dask"),
        (("--dask", "local", "--embeddings", "E.npy"), "cannot be used with --dask"),
        (("--dask", "local", "--epochs", "2"), "can be used only with --online"),
        (("--dask", "local", "--checkpoint", "c"), "unless --no-tune is given"),
        (("--dask", "nowhere"), "must be local or an address such as"),
        (("--dask", "tcp://host"), "must be local or an address such as"),
    ],
)
def test_options_that_cannot_work_are_refused(folder, options, reason):
    said = dropglm("train", "all.csv", *options, "-o", "no.skops", cwd=folder, code=2)
    assert reason in " ".join(said.replace("│", " ").split())


def test_a_cluster_that_does_not_answer_is_a_failure_of_the_machine():
    with pytest.raises(ClusterError) as caught, _explaining_workers():
        raise TimeoutError
    assert describe(caught.value) == (
        "Dask did not answer in time; the machine may be too busy. Try again.",
        1,
    )


def test_standard_input_is_refused(folder):
    assert "standard input" in dropglm("train", "-", "--dask", "local", "-o", "no.skops", cwd=folder, code=2)


def test_errors_are_one_sentence(folder, address, monkeypatch):
    def error(table, *options, where=address):
        return error_of("train", table, "--dask", where, "--quiet", "-o", "no.skops", *options, cwd=folder)

    assert "missing.csv: there is no such file." in error("missing.csv")
    assert "no-*.csv: no file matches this pattern." in error("no-*.csv")
    assert "part-0.csv: there is no column 'body'" in error("part-0.csv", "--text", "body")
    assert "lower --min-df (now 1000)" in error("part-0.csv", "--min-df", "1000")
    write_csv(folder / "one.csv", [("a film", "good"), ("a story", "good")])
    assert "only one class, good" in error("one.csv")
    write_csv(folder / "empty.csv", [])
    assert "No partition has a text with a label" in error("empty.csv")
    write_csv(folder / "gaps.csv", [("a film", ""), ("a story", " ")])
    assert "gaps.csv: no row has a label; the column 'label' is empty." in error("gaps.csv")
    monkeypatch.setattr(engine, "SECONDS", 0.5)
    assert "No Dask scheduler answers at tcp://127.0.0.1:9." in error("all.csv", where="tcp://127.0.0.1:9")


def test_the_log_of_a_client_is_silent_while_it_is_connected(address):
    """A scheduler that goes away is one sentence of ours."""
    stream, logger = io.StringIO(), logging.getLogger("distributed")
    handler = logging.StreamHandler(stream)
    logger.addHandler(handler)
    try:
        with engine.connected(address):
            logging.getLogger("distributed.client").error("lost")
        assert not stream.getvalue()
        logger.error("found")
        assert stream.getvalue() == "found\n"
    finally:
        logger.removeHandler(handler)


def test_workers_that_cannot_see_a_file_say_so():
    with pytest.raises(
        TableError, match=r"^/no/a.csv: a Dask worker on \S+ cannot see this file; files need"
    ):
        dask_tables.check_visible(Table("/no/a.csv"))


def test_without_dask_a_sentence_says_what_to_install(folder):
    without = "import sys; sys.modules['distributed'] = None; from dropglm.cli import main; main()"
    wrapper = ("-c", without)
    said = error_of("train", "all.csv", "--dask", "local", "-o", "no.skops", cwd=folder, wrapper=wrapper)
    assert said == "dropglm: dropglm.dask needs distributed; install it with: pip install 'dropglm[dask]'."
