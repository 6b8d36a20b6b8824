"""Connections of slow clients end; those of others go on."""

import socket
import time
from contextlib import suppress

import pytest
from starlette.responses import Response
from starlette.routing import Route

from dropglm.web import running
from dropglm.web.application import application
from dropglm.web.running import serving
from tests.web.client import ask, connect

MUCH = 40 << 20  # bytes; more than the buffers of the system


async def much(request):
    return Response(bytes(MUCH))


async def little(request):
    return Response(b"a")


@pytest.fixture
def address(monkeypatch):
    monkeypatch.setattr(running, "FOR_HEADERS", 0.3)
    monkeypatch.setattr(running, "FOR_READING", 0.3)
    with serving(application([Route("/", little), Route("/much", much)], log=False)) as address:
        yield address


def received_from(connection):
    """Return the number of bytes that arrive until the server closes the connection."""
    received = 0
    with suppress(ConnectionResetError):
        while part := connection.recv(1 << 20):
            received += len(part)
    return received


def closed_after(connection):
    """Return the seconds until the server closes the connection."""
    start = time.perf_counter()
    received_from(connection)
    return time.perf_counter() - start


@pytest.mark.parametrize("sent", [b"", b"GET / HTTP/1.1\r\nHost:"])
def test_headers_are_not_waited_for_longer(address, sent):
    with connect(address) as connection:
        connection.sendall(sent)
        assert 0.1 < closed_after(connection) < 5


def test_a_byte_at_a_time_gains_no_time(address):
    start = time.perf_counter()
    with connect(address) as connection, suppress(OSError):  # broken, or reset
        while time.perf_counter() - start < 10:
            connection.sendall(b"a")
            time.sleep(0.05)
    assert time.perf_counter() - start < 5


def test_the_second_request_of_a_connection_is_limited_as_well(address):
    with connect(address) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert connection.recv(1 << 16).startswith(b"HTTP/1.1 200")
        time.sleep(0.5)  # between requests, there is more time
        connection.sendall(b"GET / HTTP/1.1\r\n")
        assert 0.1 < closed_after(connection) < 5


def test_a_client_that_does_not_read_is_cut_off(address):
    with connect(address) as connection:
        connection.sendall(b"GET /much HTTP/1.1\r\nHost: localhost\r\n\r\n")
        time.sleep(1.0)
        assert received_from(connection) < MUCH


def test_a_client_that_reads_gets_everything_however_slowly(address, monkeypatch):
    monkeypatch.setattr(running, "FOR_READING", 1.0)
    assert len(ask(address, "/much").body) == MUCH
    received = 0
    start = time.perf_counter()
    with connect(address) as connection:
        connection.sendall(b"GET /much HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        while part := connection.recv(1 << 20, socket.MSG_WAITALL):
            received += len(part)
            time.sleep(0.06)
    assert time.perf_counter() - start > 2.0
    assert received > MUCH
