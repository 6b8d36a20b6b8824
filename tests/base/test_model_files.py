"""Model files contain no code, and are written completely or not at all."""

import errno
import json
import os
import pickle
import stat
import sys
import time
import zipfile
from contextlib import nullcontext
from io import BytesIO

import numpy as np
import pytest
from benchmarks import edited_models, processes
from benchmarks.edited_models import rewrite
from hypothesis import given, settings
from hypothesis import strategies as st
from skops import io

from dropglm import (
    LogisticRegression,
    OnlineTextClassifier,
    TextClassifier,
    load_model,
    save_model,
)
from dropglm.base import model_files
from dropglm.base.model_files import ModelFileError
from dropglm.text.fitted_model import load_fitted_model
from dropglm.text.ngrams.tokens import RUNS


@pytest.fixture
def saved(tmp_path):
    model = TextClassifier(tune=False, min_df=1).fit(["good film", "bad film", "good", "bad"], [1, 0, 1, 0])
    path = tmp_path / "model.skops"
    model.save(path)
    return path, model


def test_loaded_model_equals_the_saved_one(saved):
    path, model = saved
    again = TextClassifier.load(path)
    texts = ["good film", "bad", "other"]
    np.testing.assert_array_equal(again.predict_proba(texts), model.predict_proba(texts))
    assert again.get_params() == model.get_params()
    assert again.summary_ == model.summary_
    assert again.top_features() == model.top_features()
    again.save(path)
    np.testing.assert_array_equal(TextClassifier.load(path).predict_proba(texts), model.predict_proba(texts))


def test_saving_leaves_no_other_file_and_uses_default_permissions(saved):
    path, _ = saved
    assert os.listdir(path.parent) == [path.name]
    plain = path.parent / "plain"
    plain.touch()
    assert path.stat().st_mode == plain.stat().st_mode


class Trap:
    """Creates a folder when its pickle is opened."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


def test_pickle_is_not_run(tmp_path):
    path, sprung = tmp_path / "model.skops", tmp_path / "sprung"
    path.write_bytes(pickle.dumps(Trap(sprung)))
    with pytest.raises(ModelFileError, match="is not a dropglm model file"):
        TextClassifier.load(path)
    assert not sprung.exists()


def test_pickle_inside_an_array_is_not_run(saved, tmp_path):
    path, _ = saved
    sprung = tmp_path / "sprung"
    array = np.empty(1, object)
    array[0] = Trap(sprung)
    evil = path.with_name("evil.skops")
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(evil, "w") as new:
        for name in old.namelist():
            if name.endswith(".npy"):
                with new.open(name, "w") as file:
                    np.save(file, array, allow_pickle=True)
            else:
                new.writestr(name, old.read(name))
    with pytest.raises(ModelFileError, match="damaged model file"):
        TextClassifier.load(evil)
    assert not sprung.exists()


@pytest.mark.parametrize(
    "content",
    [
        {"format": 2, "kind": "TextClassifier", "state": Trap("sprung")},
        {"format": 2, "kind": "TextClassifier", "state": {"run": os.mkdir}},
        {"format": 2, "kind": "TextClassifier", "state": TextClassifier()},
        {"format": 2, "kind": "TextClassifier", "state": {"ufunc": np.exp}},
        {"format": 2, "kind": "TextClassifier", "state": {"list": [1, Trap("sprung")]}},
        {"format": 2, "kind": "TextClassifier", "state": {"number": np.float64(1.0)}},
    ],
    ids=["object", "function", "estimator", "ufunc", "second in a list", "scalar"],
)
def test_types_other_than_plain_data_are_refused(content, tmp_path):
    """This includes types that skops itself trusts."""
    path = tmp_path / "model.skops"
    io.dump(content, path)
    with pytest.raises(ModelFileError, match=r"plain data only\. Nothing in it was loaded or run"):
        TextClassifier.load(path)


def test_changed_names_in_the_schema_are_refused(saved):
    path, _ = saved
    for key, value in (("__loader__", "ObjectNode"), ("__class__", "system"), ("__module__", "os")):
        evil = path.with_name(f"{key}.skops")
        with zipfile.ZipFile(path) as old, zipfile.ZipFile(evil, "w") as new:
            for name in old.namelist():
                content = old.read(name)
                if name == "schema.json":
                    schema = json.loads(content)
                    schema["content"]["state"]["content"]["settings"][key] = value
                    content = json.dumps(schema).encode()
                new.writestr(name, content)
        with pytest.raises(ModelFileError, match="plain data only"):
            TextClassifier.load(evil)


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.99])
def test_truncated_file_is_refused(saved, share):
    path, _ = saved
    whole = path.read_bytes()
    path.write_bytes(whole[: int(share * len(whole))])
    with pytest.raises(ModelFileError, match=r"not a dropglm model file, or it is truncated"):
        TextClassifier.load(path)


def test_flipped_bytes_raise_or_change_nothing(saved, rng):
    """Every member has a checksum; bytes that it does not cover (names, offsets) do not affect the data."""
    path, model = saved
    whole = bytearray(path.read_bytes())
    expected = model.predict_proba(["good film"])
    for place in rng.integers(len(whole), size=200):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :])
        try:
            found = TextClassifier.load(path).predict_proba(["good film"])
        except ModelFileError:
            continue
        np.testing.assert_array_equal(found, expected)


def test_compressed_members_are_refused(saved):
    path, _ = saved
    bomb = path.with_name("bomb.skops")
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            new.writestr(name, old.read(name))
    with pytest.raises(ModelFileError, match="compressed or used twice"):
        TextClassifier.load(bomb)


def test_newer_and_foreign_files_are_refused(tmp_path):
    path = tmp_path / "model.skops"
    io.dump({"format": 9, "dropglm": "9.1", "kind": "TextClassifier", "state": {}}, path)
    with pytest.raises(
        ModelFileError, match=r"written by dropglm 9.1, in format 9\. .* install the newer version"
    ):
        TextClassifier.load(path)
    io.dump({"format": 1, "dropglm": "0.2", "kind": "TextClassifier", "state": {}}, path)
    with pytest.raises(ModelFileError, match=r"in format 1\. .* reads format 2; train the model again"):
        TextClassifier.load(path)
    io.dump({"format": 2, "kind": "Horse", "state": {}}, path)
    with pytest.raises(ModelFileError, match="holds a model of kind 'Horse', not TextClassifier"):
        TextClassifier.load(path)
    io.dump([1, 2], path)
    with pytest.raises(ModelFileError, match="is not a dropglm model file"):
        TextClassifier.load(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("other.txt", "")
    with pytest.raises(ModelFileError, match="is not a dropglm model file"):
        TextClassifier.load(path)
    io.dump({"format": 2, "kind": "TextClassifier", "state": {"settings": {}}}, path)
    with pytest.raises(ModelFileError, match="damaged model file"):
        TextClassifier.load(path)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("vocabulary.ends", lambda a: a + 1),
        ("vocabulary.ends", lambda a: a[::-1].copy()),
        ("vocabulary.ends", lambda a: a[:1]),
        ("vocabulary.spelling", lambda a: a + 1000),
        ("vocabulary.spelling", lambda a: a[:, ::-1].copy()),
        ("vocabulary.spelling", lambda a: a.astype(np.int64)),
        ("vocabulary.letters", lambda a: a[:-1]),
        ("vocabulary.letters", lambda a: a.tolist()),
        ("vocabulary.letters", lambda a: a | 0xF0),
        ("vocabulary.texts", lambda a: a[1:]),
        ("vocabulary.values", lambda a: a * np.nan),
        ("coef", lambda a: a[:, :-1]),
        ("coef", lambda a: a * np.nan),
        ("coef", lambda a: a * 0 + 1e30),
        ("coef", lambda a: a.tolist()),
        ("coef", lambda a: a.astype(complex)),
        ("intercept", lambda a: a[:0]),
        ("intercept", lambda a: a * np.nan),
        ("intercept", lambda a: None),
        ("classes", lambda a: a[:1]),
        ("classes", lambda a: a * 0),
        ("classes", lambda a: a[:, None]),
        ("classes", lambda a: np.array([1.0, np.nan])),
        ("classes", lambda a: np.array([1j, 2j])),
        ("classes", lambda a: np.array(["good", "\ud800"], object)),
        ("classes", lambda a: np.array([1, 10**25], object)),
        ("coef", lambda a: a.astype(">f4")),
        ("summary.features", lambda a: 10**400),
        ("classes", lambda a: np.array(["2020-01-01", "2021-01-01"], "M8[D]")),
        ("multi_class", lambda a: "other"),
        ("summary", lambda a: {"texts": 1}),
        ("summary.iterations", lambda a: "many"),
        ("n_texts", lambda a: "many"),
        ("chosen.l2", lambda a: np.inf),
        ("columns.text", lambda a: 1),
        ("settings.idf_power", lambda a: 1e308),
        ("settings.norm", lambda a: "l3"),
        ("settings.lowercase", lambda a: 1),
        ("settings.ngram_range", lambda a: (1, 100_000)),
        ("settings.ngram_range", lambda a: (2, 1)),
        ("settings.analyzer", lambda a: "os.system"),
        ("settings.input", lambda a: "filename"),
        ("settings.tokenizer", lambda a: None),
    ],
)
@pytest.mark.parametrize("load", [load_model, load_fitted_model])
def test_inconsistent_state_is_refused(saved, name, change, load):
    """The kernels would read beyond the ends of the arrays, or a setting would do harm."""
    path, _ = saved
    *parents, last = name.split(".")

    def edit(state):
        for parent in parents:
            state = state[parent]
        state[last] = change(state.get(last))

    rewrite(path, edit)
    with pytest.raises(ModelFileError, match=r"damaged model file: .*[^.]\.$"):
        load(path)


@pytest.mark.parametrize("change", ["remove", "add", "replace"])
def test_a_refusal_names_the_file_and_the_part(saved, change):
    path, _ = saved

    def edit(state):
        if change == "remove":
            del state["settings"]["idf_power"]
        else:
            state["settings"]["input" if change == "add" else "idf_power"] = "filename"

    rewrite(path, edit)
    reason = {
        "remove": "settings.idf_power is missing",
        "add": "settings.input is not part of such a file",
        "replace": "settings.idf_power must be a number of at least 0, got 'filename'",
    }
    with pytest.raises(ModelFileError) as refused:
        load_model(path)
    assert str(refused.value) == f"{path} is a damaged model file: {reason[change]}."


@pytest.mark.parametrize("load", [load_model, load_fitted_model, TextClassifier.load])
def test_a_pattern_that_may_be_slow_needs_trust(load, saved, tmp_path):
    path, _ = saved
    rewrite(path, lambda state: state["settings"].update(token_pattern=r"(?:(?:\w|\s|a)+)+!!"))
    with pytest.raises(
        ModelFileError, match=r"only if you trust its author: settings.token_pattern .*--trust"
    ):
        load(path)
    assert load(path, trust=True)._fitted_model().vectorizer.token_pattern == r"(?:(?:\w|\s|a)+)+!!"
    rewrite(path, lambda state: state["settings"].update(token_pattern="(("))
    with pytest.raises(ModelFileError, match="is not a regular expression"):
        load(path, trust=True)


@pytest.mark.parametrize("pattern", RUNS)
def test_built_in_patterns_need_no_trust(pattern, tmp_path):
    texts = ["手机很好", "很 good", "不 bad", "不好"]
    model = TextClassifier(tune=False, min_df=1, token_pattern=pattern).fit(texts, [1, 1, 0, 0])
    model.save(tmp_path / "m")
    again = load_model(tmp_path / "m")
    assert again.token_pattern == pattern
    np.testing.assert_array_equal(again.predict_proba(texts), model.predict_proba(texts))


def test_a_model_with_a_pattern_of_the_user_is_saved_and_loaded_with_trust(tmp_path):
    texts, y = ["good film", "bad film", "good", "bad"], [1, 0, 1, 0]
    model = TextClassifier(tune=False, min_df=1, token_pattern=r"\b[a-z]+\b").fit(texts, y)
    model.save(tmp_path / "m")
    again = load_model(tmp_path / "m", trust=True)
    np.testing.assert_array_equal(again.predict_proba(texts), model.predict_proba(texts))


@pytest.mark.parametrize("load", [load_model, load_fitted_model])
def test_a_small_file_that_needs_much_memory_needs_trust(load, tmp_path):
    path = tmp_path / "model.skops"
    OnlineTextClassifier(bits=16, average=True).fit(["good film", "bad film"], [1, 0]).save(path)
    rewrite(path, lambda state: with_classes(state, 1000))
    with pytest.raises(ModelFileError, match=r"it needs 2\.1 GB of memory, far more than its own size"):
        load(path)


def with_classes(state, K):
    """Give an online model K classes that have learnt nothing."""
    state.update(classes=np.arange(K), counts=np.zeros(K, np.int64))
    nothing = np.zeros((K, 0, 2))
    state["state"].update(cells=nothing, past=nothing, used=np.zeros(0, np.int64))


def memory_of_a_prediction(path):
    before = processes.peak_memory()
    model = load_fitted_model(path)
    assert np.isfinite(model.predict_proba(["a good film"])).all()
    model.explain("a good film")
    model.top_features()
    return processes.peak_memory() - before


@pytest.mark.skipif(sys.platform != "linux", reason="measures memory in Linux's way")
def test_columns_that_have_not_occurred_take_no_memory(tmp_path):
    """All 500 classes times 2^20 columns would take 8 GB; a model of many classes opens without trust."""
    path = tmp_path / "model.skops"
    OnlineTextClassifier(bits=20).fit(["good film", "bad film"], [1, 0]).save(path)
    rewrite(path, lambda state: with_classes(state, 500))
    assert processes.in_fresh_process(memory_of_a_prediction, path) < 500e6


def test_an_online_model_of_many_classes_opens_with_default_settings(tmp_path):
    texts = [f"word{k} film" for k in range(20)]
    model = OnlineTextClassifier().partial_fit(texts, range(20), classes=range(20))
    model.save(tmp_path / "m")
    np.testing.assert_array_equal(load_fitted_model(tmp_path / "m").predict(texts), model.predict(texts))


def test_strings_of_length_zero_cannot_declare_any_number_of_classes(saved):
    path, _ = saved
    evil = path.with_name("evil.skops")
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(evil, "w") as new:
        member = json.loads(old.read("schema.json"))["content"]["state"]["content"]["classes"]["file"]
        for name in old.namelist():
            content = old.read(name)
            if name == member:
                header = {"descr": "<U0", "fortran_order": False, "shape": (10**8,)}
                stream = BytesIO()
                np.lib.format.write_array_header_1_0(stream, header)
                content = stream.getvalue()
            new.writestr(name, content)
    with pytest.raises(ModelFileError, match="an array has more entries than bytes"):
        load_model(evil)


@pytest.mark.parametrize("name", ["\x1b[31mX", "a\nb", "x" * 1000])
def test_refusals_are_one_printable_line(saved, name):
    """A terminal acts on control characters."""
    path, _ = saved
    rewrite(path, lambda state: state.update({name: 1}))
    with pytest.raises(ModelFileError, match="is not part of such a file") as refused:
        load_model(path)
    message = str(refused.value)
    assert message.isprintable()
    assert len(message) < 300


def test_settings_whose_model_could_not_be_read_are_refused_before_they_are_saved(tmp_path):
    texts, y = ["good film", "bad film", "good", "bad"], [1, 0, 1, 0]
    with pytest.raises(ValueError, match=r"idf_power=200 and ngram_weight=0\.5 give n-grams weights beyond"):
        TextClassifier(tune=False, min_df=1, idf_power=200.0).fit(texts, y)
    model = TextClassifier(tune=False, min_df=1).fit(texts, y).set_params(tol=np.inf)
    with pytest.raises(ValueError, match=r"The model cannot be saved: settings.tol must be a number"):
        model.save(tmp_path / "m")
    assert not os.listdir(tmp_path)


@pytest.mark.skipif(sys.platform != "linux", reason="measures memory in Linux's way")
def test_edited_files_are_refused_or_predict_finite_numbers():
    """``python -m benchmarks.edited_models`` opens ten times as many."""
    for kind, found in processes.in_fresh_process(edited_models.of_every_kind, 20).items():
        assert found.failures == [], kind
        assert found.other_files == [], kind
        assert found.seconds < 2.0, kind
        assert found.memory < 500e6, kind
        assert min(found.refused, found.opened) > 0, kind


def test_member_that_is_used_twice_is_refused(saved):
    """Otherwise a small file could need any amount of memory."""
    path, _ = saved
    evil = path.with_name("evil.skops")
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(evil, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name == "schema.json":
                schema = json.loads(content)
                state = schema["content"]["state"]["content"]
                state["coef"]["file"] = state["intercept"]["file"]
                content = json.dumps(schema).encode()
            new.writestr(name, content)
    with pytest.raises(ModelFileError, match="compressed or used twice"):
        TextClassifier.load(evil)


def test_saving_keeps_links_permissions_and_devices(saved, tmp_path):
    path, model = saved
    path.chmod(0o600)
    link = tmp_path / "link.skops"
    link.symlink_to(path)
    model.save(link)
    assert link.is_symlink()
    assert path.stat().st_mode & 0o777 == 0o600
    assert TextClassifier.load(link).predict(["good"]) == [1]
    model.save(os.devnull)
    assert not os.path.isfile(os.devnull)


def test_unreadable_and_unwritable_paths_are_named(saved, tmp_path):
    _, model = saved
    with pytest.raises(FileNotFoundError, match=r"nowhere cannot be read: No such file"):
        TextClassifier.load(tmp_path / "nowhere")
    with pytest.raises(FileNotFoundError, match="cannot be written: No such file"):
        model.save(tmp_path / "no" / "model.skops")
    with pytest.raises(OSError, match=r"cannot be read"):
        TextClassifier.load(tmp_path)


def test_failed_save_leaves_only_the_old_file(saved, monkeypatch):
    path, model = saved
    old = path.read_bytes()

    def fail(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match=r"model\.skops cannot be written: No space left on device"):
        model.save(path)
    assert path.read_bytes() == old
    assert os.listdir(path.parent) == [path.name]


@pytest.mark.skipif(os.name != "posix", reason="folders cannot be synchronised")
def test_a_saved_model_survives_a_power_cut(saved, monkeypatch):
    """Its bytes are safe before it gets its name, and its name before the function returns."""
    path, model = saved
    done, fsync, replace = [], os.fsync, os.replace

    def synchronise(file):
        done.append("folder" if stat.S_ISDIR(os.fstat(file).st_mode) else "file")
        fsync(file)

    monkeypatch.setattr(os, "fsync", synchronise)
    monkeypatch.setattr(os, "replace", lambda *names: done.append("name") or replace(*names))
    model.save(path)
    assert done == ["file", "name", "folder"]


@pytest.mark.skipif(os.name != "posix", reason="folders cannot be synchronised")
@pytest.mark.parametrize(("number", "is_error"), [(errno.EINVAL, False), (errno.EIO, True)])
def test_only_a_folder_that_could_be_synchronised_gives_an_error(saved, monkeypatch, number, is_error):
    path, model = saved
    fsync = os.fsync

    def refuse(file):
        if stat.S_ISDIR(os.fstat(file).st_mode):
            raise OSError(number, os.strerror(number))
        fsync(file)

    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(OSError, match="Input/output error") if is_error else nullcontext():
        model.save(path)
    assert os.listdir(path.parent) == [path.name]


def test_save_model_and_load_model_handle_both_kinds_of_text_models(tmp_path):
    texts, y = ["good film", "bad film", "good", "bad"], [1, 0, 1, 0]
    for model in (TextClassifier(tune=False, min_df=1), OnlineTextClassifier(bits=8)):
        save_model(model.fit(texts, y), tmp_path / "model.skops")
        loaded = load_model(tmp_path / "model.skops")
        assert type(loaded) is type(model)
        np.testing.assert_array_equal(loaded.predict_proba(texts), model.predict_proba(texts))


@pytest.mark.parametrize("model", [LogisticRegression(), None, TextClassifier], ids=repr)
def test_save_model_refuses_what_is_not_a_text_model(model, tmp_path):
    with pytest.raises(TypeError, match="model must be a TextClassifier or an OnlineTextClassifier, got"):
        save_model(model, tmp_path / "model.skops")
    assert not os.listdir(tmp_path)


def test_load_model_refuses_other_kinds_of_files(tmp_path):
    model_files.write(tmp_path / "m", "Horse", {}, model_files.Record({}))
    with pytest.raises(ModelFileError, match="kind 'Horse', not OnlineTextClassifier or TextClassifier"):
        load_model(tmp_path / "m")


# Archives of plain data: what we write, skops reads, and the other way round.
NUMBERS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
VALUES = st.recursive(
    NUMBERS,
    lambda values: st.lists(values) | st.lists(values).map(tuple) | st.dictionaries(st.text(), values),
    max_leaves=20,
)
ARRAYS = [
    np.arange(6.0, dtype=np.float32).reshape(2, 3),
    np.asfortranarray(np.arange(6).reshape(2, 3)),
    np.array(["good", "bad"]),
    np.array(["good", 1, None], dtype=object),
    np.array(2.5),
    np.empty(0, np.uint8),
]


@settings(max_examples=50, deadline=None)
@given(VALUES)
def test_skops_and_we_read_what_either_writes(value):
    assert model_files.from_archive(model_files.to_archive(value)) == value
    assert io.loads(model_files.to_archive(value)) == value
    assert model_files.from_archive(io.dumps(value)) == value


@pytest.mark.parametrize("array", ARRAYS, ids=repr)
def test_arrays_keep_type_shape_and_order(array):
    writers, readers = (model_files.to_archive, io.dumps), (model_files.from_archive, io.loads)
    for dumps, loads in zip(writers, readers[::-1], strict=True):
        found = loads(dumps([array]))[0]
        np.testing.assert_array_equal(found, array)
        assert (found.dtype, found.flags.f_contiguous) == (array.dtype, array.flags.f_contiguous)
        assert found.flags.writeable


@pytest.mark.parametrize(
    "change",
    [
        lambda node: node.pop("__loader__"),
        lambda node: node.update(content="[1]"),
        lambda node: node.update(content="{}"),
        lambda node: node.update(content=None),
        lambda node: node.clear(),
    ],
)
def test_changed_nodes_are_refused(change):
    changed = BytesIO()
    with (
        zipfile.ZipFile(BytesIO(model_files.to_archive([1]))) as old,
        zipfile.ZipFile(changed, "w") as new,
    ):
        schema = json.loads(old.read("schema.json"))
        change(schema["content"][0])
        new.writestr("schema.json", json.dumps(schema))
    with pytest.raises((ValueError, KeyError, TypeError)):
        model_files.from_archive(changed.getvalue())


def test_keys_must_be_strings():
    with pytest.raises(model_files.NotPlainError, match=r"builtins\.int"):
        model_files.from_archive(io.dumps({1: 2}))


def test_a_compressed_schema_is_refused_before_it_is_read(monkeypatch):
    buffer = BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(model_files.SCHEMA, " " * 100_000 + "{}")
    monkeypatch.setattr(zipfile.ZipFile, "read", lambda *_: pytest.fail("it was read"))
    with pytest.raises(model_files.NotPlainError, match="compressed"):
        model_files.from_archive(buffer.getvalue())


def test_equal_values_give_equal_bytes_at_any_time(monkeypatch):
    value = {"weights": np.arange(3.0), "names": ["a", "b"]}
    first = model_files.to_archive(value)
    monkeypatch.setattr(time, "time", lambda: 2e9)
    assert model_files.to_archive(value) == first
