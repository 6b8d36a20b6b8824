"""Model files contain no code, and are written completely or not at all."""

import errno
import json
import os
import pickle
import zipfile

import numpy as np
import pytest
from skops import io

from dropglm import (
    LogisticRegression,
    OnlineTextClassifier,
    TextClassifier,
    load_model,
    model_files,
    save_model,
)
from dropglm.model_files import ModelFileError


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
        {"format": 1, "kind": "TextClassifier", "state": Trap("sprung")},
        {"format": 1, "kind": "TextClassifier", "state": {"run": os.mkdir}},
        {"format": 1, "kind": "TextClassifier", "state": TextClassifier()},
        {"format": 1, "kind": "TextClassifier", "state": {"ufunc": np.exp}},
        {"format": 1, "kind": "TextClassifier", "state": {"list": [1, Trap("sprung")]}},
        {"format": 1, "kind": "TextClassifier", "state": {"number": np.float64(1.0)}},
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
    io.dump({"format": 2, "dropglm": "9.1", "kind": "TextClassifier", "state": {}}, path)
    with pytest.raises(
        ModelFileError, match=r"written by dropglm 9.1, in format 2\. .* install the newer version"
    ):
        TextClassifier.load(path)
    io.dump({"format": 1, "kind": "Horse", "state": {}}, path)
    with pytest.raises(ModelFileError, match="holds a model of kind 'Horse', not TextClassifier"):
        TextClassifier.load(path)
    io.dump([1, 2], path)
    with pytest.raises(ModelFileError, match="is not a dropglm model file"):
        TextClassifier.load(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("other.txt", "")
    with pytest.raises(ModelFileError, match="is not a dropglm model file"):
        TextClassifier.load(path)
    io.dump({"format": 1, "kind": "TextClassifier", "state": {"settings": {}}}, path)
    with pytest.raises(ModelFileError, match="damaged model file"):
        TextClassifier.load(path)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("ends", lambda a: a + 1),
        ("ends", lambda a: a[::-1].copy()),
        ("spelling", lambda a: a + 1000),
        ("spelling", lambda a: a[:, ::-1].copy()),
        ("spelling", lambda a: a.astype(np.int64)),
        ("letters", lambda a: a[:-1]),
        ("coef", lambda a: a[:, :-1]),
        ("coef", lambda a: a * np.nan),
        ("intercept", lambda a: a[:0]),
        ("intercept", lambda a: a * np.nan),
        ("intercept", lambda a: None),
        ("coef", lambda a: a.tolist()),
        ("coef", lambda a: a.astype(complex)),
        ("letters", lambda a: a.tolist()),
        ("letters", lambda a: a | 0xF0),
        ("classes", lambda a: a[:1]),
        ("classes", lambda a: a * 0),
        ("classes", lambda a: a[:, None]),
        ("multi_class", lambda a: "other"),
        ("summary", lambda a: {"texts": 1}),
        ("n_texts", lambda a: "many"),
        ("settings", lambda a: a | {"other": 1}),
    ],
)
def test_inconsistent_state_is_refused(saved, name, change):
    """The kernels would read beyond the ends of the arrays."""
    path, _ = saved
    _, state = model_files.read(path, "TextClassifier")
    state[name] = change(state[name])
    model_files.write(path, "TextClassifier", state)
    with pytest.raises(ModelFileError, match="damaged model file"):
        TextClassifier.load(path)


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
    model_files.write(tmp_path / "m", "Horse", {})
    with pytest.raises(ModelFileError, match="kind 'Horse', not OnlineTextClassifier or TextClassifier"):
        load_model(tmp_path / "m")
