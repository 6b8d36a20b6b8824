"""Faults of the disk: what a power cut leaves, and that nothing is lost."""

import re
import subprocess
import sys

import pytest
from benchmarks.failing_disk import after_power_cut
from benchmarks.markdown import ROOT

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the harness forks processes")

NEW = [("create", "/d/new"), ("write", "/d/new", 0, b"abcd")]


def left(*log):
    """Return what may be left after these calls, as sets of names with contents."""
    return {frozenset(files.items()) for files in after_power_cut(log)}


def test_what_was_not_synchronised_may_be_lost_in_part():
    nothing, parts = frozenset(), (b"", b"ab", b"abcd", b"\0\0cd")
    assert left(*NEW) == {nothing, *(frozenset({("/d/new", part)}) for part in parts)}


def test_bytes_and_names_are_synchronised_each_for_itself():
    nothing, all_of_it = frozenset(), frozenset({("/d/new", b"abcd")})
    file, folder = ("sync", "/d/new"), ("sync", "/d")
    assert left(*NEW, file) == {nothing, all_of_it}
    assert nothing not in left(*NEW, folder)
    assert left(*NEW, file, folder) == {all_of_it}


def test_a_name_has_the_old_file_or_the_new_one():
    old = [("create", "/d/a"), ("write", "/d/a", 0, b"old"), ("sync", "/d/a"), ("sync", "/d")]
    new = [("create", "/d/part"), ("write", "/d/part", 0, b"new"), ("sync", "/d/part")]
    found = left(*old, *new, ("rename", "/d/part", "/d/a"))
    assert {dict(files)["/d/a"] for files in found} == {b"old", b"new"}
    assert left(*old, *new, ("rename", "/d/part", "/d/a"), ("sync", "/d")) == {frozenset({("/d/a", b"new")})}


def test_files_are_gone_with_the_name_of_their_folder():
    log = [("mkdir", "/d/c"), ("create", "/d/c/a"), ("sync", "/d/c/a"), ("sync", "/d/c")]
    assert left(*log) == {frozenset(), frozenset({("/d/c", None), ("/d/c/a", b"")})}


def test_some_faults_lose_nothing_and_losses_would_be_noticed():
    """The command fails if something is lost, or if leaving out synchronisation loses nothing."""
    command = [sys.executable, "-m", "benchmarks.faults", "--quick"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    faults, acknowledged = re.search(
        r"\*\*([\d,]+) faults, ([\d,]+) acknowledgements, 0 lost", done.stdout
    ).groups()
    assert int(faults) > 300
    assert int(acknowledged) > 500
