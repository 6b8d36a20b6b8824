"""The requests of the page of dropglm label."""

import re
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from dropglm.labelling import LabellingSession
from dropglm.labelling.output_files import Exports
from dropglm.web.application import application, page_token
from dropglm.web.label_page import CUT, LabelPage
from dropglm.web.running import serving
from tests.cli.command import texts
from tests.web.client import ask

TEXTS, TRUTH = texts(60)
TEXTS = [*TEXTS, "<script>alert(1)</script> \ud800 \u202e مرحبا 🎬", "long " * CUT]
TRUTH = [*TRUTH, "good", "bad"]


@pytest.fixture
def served(tmp_path):
    with LabellingSession(TEXTS, tmp_path / "a.labels.jsonl", classes=["good", "bad"], seed=0) as session:
        exports = Exports(session, tmp_path / "a")
        app = application(LabelPage(session, exports, "a.csv").routes(), token="key", log=False)
        with serving(app, "key") as address:
            yield address, session, exports


def state_of(address):
    return ask(address, "api/state").json


def act(address, action, /, seen=None, **content):
    seen = state_of(address)["version"] if seen is None else seen
    return ask(address, f"api/{action}", {**content, "seen": seen})


def test_a_text_is_labelled_corrected_and_undone(served):
    address, session, _ = served
    first = state_of(address)["current"]
    done = act(address, "answer", label="good", number=first["number"]).json
    assert (done["n_labels"], done["classes"]) == (1, [["good", 1], ["bad", 0]])
    assert done["current"]["number"] != first["number"]
    assert ask(address, "api/answered/0").json["label"] == "good"
    act(address, "answer", label="bad", number=first["number"])
    assert session.answers.labels() == {first["number"]: "bad"}
    act(address, "undo")
    assert session.answers.labels() == {first["number"]: "good"}
    assert act(address, "undo").json["current"]["number"] == first["number"]
    assert act(address, "skip").json["n_skipped"] == 1
    act(address, "add_class", name="odd")
    state = act(address, "rename_class", old="odd", new="even").json
    assert state["classes"] == [["good", 0], ["bad", 0], ["even", 0]]


def test_a_second_tab_is_told_what_it_has_missed(served):
    address, session, _ = served
    seen = state_of(address)["version"]
    act(address, "answer", label="good", seen=seen)
    late = act(address, "answer", label="bad", seen=seen)
    assert late.status == 409
    assert late.json["state"]["version"] == session.version == seen + 1
    assert "another tab" in late.json["error"]


def test_what_cannot_be_stored_is_not_acknowledged(served, monkeypatch):
    address, _, _ = served
    before = state_of(address)

    def full(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("dropglm.labelling.journal.os.write", full)
        answer = act(address, "answer", label="good")
    assert answer.status == 507
    assert "the disk is full; the answer was not stored" in answer.error
    after = state_of(address)
    assert (after["version"], after["current"]) == (before["version"], before["current"])
    assert act(address, "answer", label="good").status == 200


def test_while_the_disk_is_slow_other_requests_are_answered(served, monkeypatch):
    """What is not on the disk is not shown, and the next action waits for its turn."""
    address, session, _ = served
    before = state_of(address)
    is_waiting, is_done = threading.Event(), threading.Event()

    def slow(_):
        is_waiting.set()
        assert is_done.wait(60)

    with ThreadPoolExecutor(5) as threads, monkeypatch.context() as patch:
        patch.setattr("dropglm.labelling.journal.os.fsync", slow)
        try:
            answer = threads.submit(act, address, "answer", before["version"], label="good")
            assert is_waiting.wait(60)
            skip = threads.submit(act, address, "skip", before["version"] + 1)
            looks = [threads.submit(ask, address, path) for path in ("api/state", "api/panels", "")]
            state, *others = (look.result(20) for look in looks)
            assert [other.status for other in others] == [200, 200]
            for name in ("version", "n_labels", "current"):
                assert state.json[name] == before[name]
            assert not answer.done()
        finally:
            is_done.set()
        done = answer.result(60), skip.result(60)
    assert [one.status for one in done] == [200, 200]
    assert done[0].json["version"] == before["version"] + 1
    after = state_of(address)
    assert (after["n_labels"], after["n_skipped"]) == (1, 1)
    assert session.answers.labels() == {before["current"]["number"]: "good"}


@pytest.mark.parametrize(
    ("what", "content", "why"),
    [
        ("answer", {"label": "none"}, "no class “none”"),
        ("answer", {"label": 1}, "label must be a text"),
        ("answer", {"label": "good", "number": 10**6}, "no text 1000000"),
        ("answer", {"label": "good", "number": "0"}, "number of a text"),
        ("answer_all", {"labels": 3}, "list of pairs"),
        ("answer_all", {"labels": []}, "no texts"),
        ("answer_all", {"labels": [[[], "good"]]}, "list of pairs"),
        ("answer_all", {"labels": [[10**6, "good"]]}, "no text 1000000"),
        ("remove_class", {"name": "none"}, "no class “none”"),
        ("keep", {}, "number of a text"),
        ("keep", {"number": 0}, "no label to keep"),
        ("undo", {}, "nothing to undo"),
        ("add_class", {"name": "good"}, "already a class “good”"),
        ("add_class", {"name": " "}, "needs a name"),
        ("export", {"what": "everything"}, "export"),
    ],
)
def test_a_bad_request_is_a_sentence(served, what, content, why):
    address, session, _ = served
    version = session.version
    answer = act(address, what, **content)
    assert answer.status == 400
    assert re.search(why, answer.error)
    assert session.version == version


def test_seen_is_needed_and_bodies_are_objects(served):
    address, _, _ = served
    assert ask(address, "api/skip", {}).status == 400
    assert ask(address, "api/skip", []).status == 400
    assert ask(address, "api/skip", b"{").status == 400
    assert ask(address, "api/skip", b"1" * (2 << 20)).status == 413
    for path in ("api/answered/0", "api/text/62", "api/download/labels", "api/download/x", "static/none.js"):
        assert ask(address, path).status == 404


def test_strange_and_long_texts_arrive_as_they_are(served):
    address, _, _ = served
    strange = ask(address, "api/text/60").json
    assert strange["text"] == TEXTS[60]
    found = ask(address, "api/search?words=long").json["texts"]
    assert len(found[0]["text"]) <= 400
    assert ask(address, "api/text/61").json["length"] == len(TEXTS[61])
    act(address, "answer", label="bad", number=61)
    answered = ask(address, "api/answered/0").json
    assert (len(answered["text"]), answered["length"]) == (CUT, len(TEXTS[61]))


def test_recent_answers_begin_with_the_last_one_also_if_it_is_a_correction(served):
    address, _, _ = served
    for number in range(8):
        act(address, "answer", label="good", number=number)
    state = act(address, "answer", label="bad", number=1).json
    assert [(one["number"], one["place"]) for one in state["recent"]] == [
        (number, number) for number in (1, 7, 6, 5, 4, 3)
    ]
    assert [one["number"] for one in act(address, "undo").json["recent"]] == [7, 6, 5, 4, 3, 2]
    listed = ask(address, "api/listed/1").json
    assert (listed["label"], listed["place"]) == ("good", 1)
    assert ask(address, "api/listed/20").json["place"] is None
    assert ask(address, "api/listed/99").status == 404


def test_panels_and_exports(served, tmp_path):
    address, session, exports = served
    refused = act(address, "answer_all", labels=list(enumerate(TRUTH[:40])))
    assert "when it is known how many are right" in refused.error
    session.answer_all(dict(enumerate(TRUTH[:40])))
    assert session.wait(300)
    panels = ask(address, "api/panels").json
    words = dict(panels["words"])
    assert any(word in ("lovely", "great", "fun", "moving", "warm") for word, _ in words["good"])
    surest = ask(address, "api/surest?label=good").json
    assert len(surest["texts"]) == 20
    assert (surest["right"], surest["why_not_accept"]) == (None, refused.error)
    assert ask(address, "api/suspects").status == 200
    for what in ("labels", "predictions", "model"):
        act(address, "export", what=what)
        exports.wait(300)
        assert state_of(address)["export"] | {"path": ""} == {
            "what": what,
            "path": "",
            "kept": None,
            "is_running": False,
            "problem": None,
        }
        got = ask(address, f"api/download/{what}")
        assert got.body == exports.paths[what].read_bytes()
    assert exports.paths["labels"].read_text(encoding="utf-8").count("\n") == 41
    from dropglm import load_model

    assert load_model(exports.paths["model"]).predict(["lovely and great fun"]) == ["good"]


def test_the_key_of_a_page_is_private_and_stays(tmp_path):
    one = page_token("a", tmp_path)
    key = tmp_path / "page-key"
    assert key.stat().st_mode & 0o077 == 0
    key.chmod(0o644)  # others may have read it
    assert page_token("a", tmp_path) != one
    (tmp_path / "file").write_text("")
    assert page_token("a", tmp_path / "file") != page_token("a", tmp_path / "file")
