"""``dropglm serve``: starts, answers, and ends when it is told to."""

import os
import re
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cli.command import dropglm, error_of
from tests.web.client import all_of, ask, connect
from tests.web.conftest import model, model_file  # noqa: F401 (fixtures)

posix = pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")


@contextmanager
def serve(model_file, *options):  # noqa: F811
    """Run the command on a free port; yield the process and the address that it prints."""
    command = [sys.executable, "-m", "dropglm", "serve", model_file, "--port", "0", *options]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process, re.search(r"http://\S+", process.stderr.readline())[0]
        finally:
            process.kill()


def stopped(process, number):
    """Send a signal; return the exit code, the seconds it took and what was printed."""
    start = time.perf_counter()
    process.send_signal(number)
    printed = process.stderr.read()
    return process.wait(20), time.perf_counter() - start, printed


@posix
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_ends_soon_although_connections_are_open(model_file, number):  # noqa: F811
    with serve(model_file) as (process, address):
        assert ask(address, "/predict", {"texts": ["a warm film"]}).json["predictions"][0]["label"] == "good"
        with connect(address), connect(address) as waiting:
            waiting.sendall(b"POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n[")
            time.sleep(0.1)
            code, seconds, printed = stopped(process, number)
            assert all_of(waiting).startswith(b"HTTP/1.1 503")
    assert code == 0
    assert seconds < 5
    answered, cancelled, said = printed.splitlines()
    assert "POST /predict 200" in answered
    assert "POST /predict 503" in cancelled
    assert said == "dropglm: stopped."


@posix
def test_workers_share_the_port_and_are_replaced(model_file):  # noqa: F811
    with serve(model_file, "--workers", "2", "--quiet") as (process, address):
        assert ask(address, "/health").status == 200
        workers = children(process.pid)
        assert len(workers) == 2
        os.kill(workers[0], signal.SIGKILL)
        deadline = time.monotonic() + 30
        while workers[0] in (now := children(process.pid)) or len(now) < 2:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        for _ in range(10):
            assert ask(address, "/predict", {"texts": ["a warm film"]}).status == 200
        code, seconds, printed = stopped(process, signal.SIGINT)
    replaced, said = printed.splitlines()
    assert f"worker {workers[0]} was ended by signal 9 and is replaced by " in replaced
    assert int(replaced.rpartition(" ")[2]) in now
    assert (code, said) == (0, "dropglm: stopped.")
    assert seconds < 8


@posix
def test_workers_end_with_their_parent(model_file):  # noqa: F811
    with serve(model_file, "--workers", "2", "--quiet") as (process, address):
        assert ask(address, "/health").status == 200
        workers = children(process.pid)
        process.kill()
        deadline = time.monotonic() + 30
        while any(Path(f"/proc/{worker}").exists() for worker in workers):
            assert time.monotonic() < deadline
            time.sleep(0.05)


def children(pid):
    """Return the workers of a process, without Python's own tracker of resources."""
    listed = Path(f"/proc/{pid}/task/{pid}/children")
    if not listed.exists():
        pytest.skip("no /proc")
    return [
        int(child) for child in listed.read_text().split()
        if b"spawn_main" in Path(f"/proc/{child}/cmdline").read_bytes()
    ]  # fmt: skip


def test_what_cannot_be_served_is_one_sentence(model_file, tmp_path):  # noqa: F811
    assert "there is no such file" in error_of("serve", "missing.skops", cwd=tmp_path)
    assert ".: this is a folder; name a file in it." in error_of("serve", ".", cwd=tmp_path)
    assert "host must be a name or an address" in error_of("serve", model_file, "--host", "", cwd=tmp_path)
    assert "Cannot listen on 192.0.2.1" in error_of("serve", model_file, "--host", "192.0.2.1", cwd=tmp_path)
    with serve(model_file) as (_, address):
        port = re.search(r":(\d+)/", address)[1]
        err = error_of("serve", model_file, "--port", port, cwd=tmp_path)
        assert f"Port {port} is in use; choose another one with --port" in err
        assert "missing.skops" in error_of("serve", "missing.skops", "--port", port, cwd=tmp_path)
    assert "--workers" in dropglm("serve", model_file, "--workers", "0", cwd=tmp_path, code=2)


def test_without_a_port_the_next_free_one_is_taken(model_file, tmp_path, monkeypatch):  # noqa: F811
    """The server is replaced: it looks at the port and ends."""
    from dropglm.web.running import listen

    seen = []
    monkeypatch.setattr("dropglm.web.running.run", lambda app, at: seen.append(at.getsockname()[1]))
    with listen() as first:
        dropglm("serve", model_file, cwd=tmp_path)
        assert seen[0] != first.getsockname()[1]
