"""A client that sends whatever it is told to, and nothing else."""

import json
import socket
from http.client import HTTPConnection
from typing import NamedTuple
from urllib.parse import urlsplit


class Answer(NamedTuple):
    status: int
    headers: dict
    body: bytes

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def error(self):
        """The sentence of an error; there is exactly one."""
        content = self.json
        assert list(content) == ["error"]
        assert content["error"].endswith(".")
        return content["error"]


def ask(address, path, body=None, method=None, headers=None):
    """Send a request to a path below an address; ``body`` is sent as it is if it is bytes, else as JSON."""
    parts = urlsplit(address)
    data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
    connection = HTTPConnection(parts.hostname, parts.port, timeout=60)
    try:
        connection.request(
            method or ("GET" if data is None else "POST"), parts.path + path.lstrip("/"), data, headers or {}
        )
        response = connection.getresponse()
        return Answer(response.status, {k.lower(): v for k, v in response.getheaders()}, response.read())
    finally:
        connection.close()


def connect(address):
    """Return a socket to the server at an address."""
    parts = urlsplit(address)
    return socket.create_connection((parts.hostname, parts.port), timeout=20)


def all_of(connection):
    """Return what the server sends until it closes the connection."""
    parts = []
    while part := connection.recv(1 << 16):
        parts.append(part)
    return b"".join(parts)
