"""Ports, addresses, and the files of the pages."""

import re
import socket
from importlib.resources import files
from urllib.parse import urlsplit

import pytest

from dropglm.web.application import AllowedHosts, application, page_routes
from dropglm.web.running import address_of, listen, serving
from tests.web.client import ask

FOLDERS = sorted(
    folder.name for folder in (files("dropglm.web") / "static").iterdir() if (folder / "index.html").is_file()
)


def test_without_a_port_the_next_free_one_is_taken():
    with listen() as first, listen() as second:
        assert first.getsockname()[1] != second.getsockname()[1]


def test_a_port_that_is_taken_is_one_sentence():
    with listen(port=0) as listener:
        port = listener.getsockname()[1]
        with pytest.raises(ValueError, match=f"Port {port} is in use; choose another"):
            listen(port=port)


@pytest.mark.parametrize("host", ["192.0.2.1", "no such host", "a" * 300])
def test_a_host_that_is_not_ours_is_one_sentence(host):
    with pytest.raises(ValueError, match="Cannot listen on"):
        listen(host, 0)


def test_addresses_can_be_opened():
    with listen("localhost", 0) as listener:
        port = listener.getsockname()[1]
        assert address_of(listener, "localhost", "secret") == f"http://localhost:{port}/secret/"
        assert address_of(listener, "::1") == f"http://[::1]:{port}/"
        assert "0.0.0.0" not in address_of(listener, "0.0.0.0")


def test_a_public_address_is_in_numbers_which_phones_can_open(monkeypatch):
    numbers = {socket.AF_INET: "192.0.2.44", socket.AF_INET6: "2001:db8::44"}

    class Probe(socket.socket):
        """On a computer with these numbers."""

        def connect(self, address):
            assert self.type == socket.SOCK_DGRAM  # nothing is sent

        def getsockname(self):
            return numbers[self.family], 50000

    with listen(port=0) as listener:
        monkeypatch.setattr(socket, "socket", Probe)
        assert urlsplit(address_of(listener, "0.0.0.0")).hostname == "192.0.2.44"
        assert urlsplit(address_of(listener, "::")).hostname == "2001:db8::44"
        monkeypatch.setattr(socket, "socket", lambda *_: (_ for _ in ()).throw(OSError("no network")))
        assert urlsplit(address_of(listener, "0.0.0.0")).hostname == socket.gethostname().lower()


def test_a_public_server_answers_to_its_own_names():
    """The address that is printed must work."""
    with listen("0.0.0.0", 0) as listener:
        name = address_of(listener, "0.0.0.0").split("/")[2]
    hosts = AllowedHosts("0.0.0.0", ["Example.com"])
    for allowed in (name, "192.0.2.7:80", "[2001:db8::1]", "example.com:443", "localhost"):
        assert allowed in hosts
    for refused in ("example.org", "1.2.3.4.example.org", "192.0.2.7@example.org", ""):
        assert refused not in hosts


@pytest.mark.parametrize("folder", FOLDERS)
def test_pages_refer_to_their_own_files_only(folder):
    """All links are relative and exist; nothing is inline, which the policy would refuse."""
    with serving(application(page_routes(folder), log=False)) as address:
        page = ask(address, "")
        assert page.headers["content-type"] == "text/html; charset=utf-8"
        html = page.body.decode()
        links = re.findall(r'(?:src|href)="([^"#]*)"', html)
        assert any(link.endswith(".js") for link in links)
        for link in links:
            if not link.startswith("data:"):
                answer = ask(address, link)
                assert answer.status == 200, link
                own = re.sub(
                    rb"http://www\.w3\.org/2000/svg|\^https\?:", b"", answer.body
                )  # SVG, and a pattern
                assert b"http" not in own, link
        assert not re.search(r"<style|\sstyle=|\son\w+=|<script(?![^>]*src=)", html)
        for missing in ("static/", "static/nothing.js", "static/../index.html", "static/%2e%2e%2fserving.py"):
            assert ask(address, missing).status == 404
