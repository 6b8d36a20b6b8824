"""A server that is told to stop answers what was sent, and then ends."""

import asyncio
import os
import re
import signal
import subprocess
import sys
import threading
from contextlib import ExitStack

import pytest
from benchmarks.serving import Stop
from starlette.responses import Response
from starlette.routing import Route

from dropglm.web.application import application
from dropglm.web.running import Server, address_of, listen, server
from tests.web.client import all_of, ask, connect

posix = pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
REQUEST = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"


async def little(request):
    return Response(b"a")


@pytest.fixture
def listener():
    with listen(port=0) as listener:
        yield listener


def test_what_was_sent_before_the_stop_is_answered(listener, monkeypatch):
    """The server stops at the very moment at which the requests have been sent, before it can see them."""
    address = address_of(listener, "127.0.0.1")
    with ExitStack() as stack:
        connections = [stack.enter_context(connect(address))]

        def first_request():
            connections[0].sendall(REQUEST)
            answer = b""
            while not answer.endswith(b"\r\n\r\na"):
                answer += connections[0].recv(1 << 16)

        async def send_and_stop(self):
            await asyncio.to_thread(first_request)
            connections.extend(stack.enter_context(connect(address)) for _ in range(20))
            for connection in connections:
                connection.sendall(REQUEST)

        monkeypatch.setattr(Server, "main_loop", send_and_stop)
        app = application([Route("/", little)], log=False)
        running = threading.Thread(target=server(app).run, kwargs={"sockets": [listener]})
        running.start()
        running.join(20)
        for connection in connections:
            answer = all_of(connection)
            assert answer.startswith(b"HTTP/1.1 200")
            assert b"connection: close" in answer
    with pytest.raises(ConnectionRefusedError):
        connect(address)


@posix
@pytest.mark.parametrize("workers", ["1", "2"])
def test_no_request_is_lost_in_a_stop_under_load(model_file, tmp_path, workers):
    command = ["-m", "dropglm", "serve", str(model_file), "--port", "0", "--quiet", "--workers", workers]
    for _ in range(2):
        stop = Stop.of(command, "a warm film", tmp_path / "log")
        assert stop.waiting > 0
        assert stop.lost == 0


ENDLESS = """
import time
from dropglm.cli import main
from dropglm.web.serving import TextService

TextService.predict = lambda self, content: time.sleep(3600)
main()
"""


@posix
def test_a_computation_without_end_keeps_neither_others_nor_the_stop_waiting(model_file):
    command = [sys.executable, "-c", ENDLESS, "serve", model_file, "--port", "0", "--quiet"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            address = re.search(r"http://\S+", process.stderr.readline())[0]
            with connect(address) as large:
                body = b" " * 10_000 + b"{}"
                head = b"POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(body)
                large.sendall(head + body)
                assert ask(address, "/health").status == 200
                process.send_signal(signal.SIGTERM)
                assert all_of(large).startswith(b"HTTP/1.1 503")
            assert process.wait(20) == 0
            assert process.stderr.read() == "dropglm: stopped.\n"
        finally:
            process.kill()
