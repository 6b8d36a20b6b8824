"""Requests of other sites are refused; pages run our scripts only."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.routing import Route

from dropglm.web.application import AllowedHosts, application, json_answer, read_json
from dropglm.web.running import serving
from tests.web.client import all_of, ask, connect


async def echo(request):
    return json_answer(await read_json(request, max_bytes=1000, max_seconds=0.3))


async def fail(request):
    raise ZeroDivisionError


async def path(request):
    return json_answer(request.url.path)


ROUTES = [
    Route("/echo", echo, methods=["POST"]),
    Route("/fail", fail),
    Route("/", path),
    Route("/a/b", path),
]


@pytest.fixture(scope="module")
def address():
    with serving(application(ROUTES)) as address:
        yield address


@pytest.mark.parametrize("host", ["example.com", "localhost.example.com", "127.0.0.1.example.com", "a b", ""])
def test_other_host_names_are_refused(address, host):
    """With DNS rebinding, the page of another site reaches us under its own name."""
    answer = ask(address, "/", headers={"Host": host})
    assert answer.status == 421
    assert "host name" in answer.error


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:1", "127.0.0.1", "[::1]:8000"])
def test_names_of_this_computer_are_accepted(address, host):
    assert ask(address, "/", headers={"Host": host}).status == 200


@given(st.text(max_size=30))
def test_no_other_name_is_allowed(name):
    assert name.lower() in ("localhost", "127.0.0.1", "[::1]") or name not in AllowedHosts()


@pytest.mark.parametrize("origin", ["https://example.com", "null", "http://localhost", "http://127.0.0.1:1"])
def test_posts_from_other_origins_are_refused(address, origin):
    answer = ask(address, "/echo", {}, headers={"Origin": origin})
    assert answer.status == 403
    assert "other sites" in answer.error


def test_posts_from_our_own_pages_and_from_programs_are_accepted(address):
    own = address.rstrip("/")
    assert ask(address, "/echo", [1], headers={"Origin": own}).json == [1]
    assert ask(address, "/echo", [1]).json == [1]
    assert ask(address, "/echo", [1], headers={"Sec-Fetch-Site": "same-origin"}).json == [1]
    assert ask(address, "/echo", [1], headers={"Sec-Fetch-Site": "cross-site"}).status == 403


@pytest.mark.parametrize("path", ["/", "/nothing", "/fail"])
def test_every_answer_has_the_headers(address, path):
    answer = ask(address, path, headers={"Host": "localhost"})
    policy = answer.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'")
    assert "unsafe" not in policy
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert "server" not in answer.headers
    assert "access-control-allow-origin" not in answer.headers


def test_errors_are_one_sentence_with_the_right_status(address):
    assert ask(address, "/nothing").status == 404
    assert "nothing at this address" in ask(address, "/nothing").error
    answer = ask(address, "/echo")
    assert (answer.status, answer.headers["allow"]) == (405, "POST")
    assert "does not take" in answer.error
    assert ask(address, "/fail").status == 500
    assert "Internal error" in ask(address, "/fail").error


@pytest.mark.parametrize(
    "body",
    [
        b"", b"{", b'{"a": 1,}', b"\xff", b'{"a": NaN}', b"[Infinity]", b"[-Infinity]", b'{"a": 1, "a": 2}',
        b"[" * 990, b"1" * 990, b"[] []",
    ],
)  # fmt: skip
def test_what_is_not_json_is_a_bad_request(address, body):
    answer = ask(address, "/echo", body)
    if body == b"1" * 990:
        assert answer.json == int(body)  # a long number is a number
    else:
        assert answer.status == 400
        assert "not valid JSON" in answer.error


def test_a_body_may_be_as_large_as_the_limit(address):
    body = b'"' + b"a" * 998 + b'"'
    assert ask(address, "/echo", body).status == 200
    answer = ask(address, "/echo", body + b" ")
    assert answer.status == 413
    assert "larger than 1,000 bytes" in answer.error


def test_a_body_without_a_length_is_limited_as_well(address):
    with connect(address) as connection:
        connection.sendall(
            b"POST /echo HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
            b"Transfer-Encoding: chunked\r\n\r\n"
        )
        connection.sendall(b"1000\r\n" + b"a" * 4096 + b"\r\n0\r\n\r\n")
        assert all_of(connection).startswith(b"HTTP/1.1 413")


def test_the_answer_to_a_huge_body_arrives(address):
    """The server reads on, or the client would see a broken connection instead of the answer."""
    assert ask(address, "/echo", b" " * (20 << 20)).status == 413
    assert ask(address, "/", b" " * (1 << 20), method="GET").status == 200


def test_a_body_that_does_not_arrive_is_not_waited_for(address):
    with connect(address) as connection:
        connection.sendall(b"POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n[")
        assert all_of(connection).startswith(b"HTTP/1.1 408")


@pytest.fixture(scope="module")
def with_token():
    with serving(application(ROUTES, token="a-secret"), "a-secret") as address:
        yield address


def test_a_token_is_part_of_every_address(with_token):
    assert with_token.endswith("/a-secret/")
    assert ask(with_token, "").json == "/"
    assert ask(with_token, "a/b").json == "/a/b"
    assert ask(with_token, "echo", [1]).json == [1]
    bare = with_token.removesuffix("a-secret/")
    for wrong in ("", "a", "a-secre/", "a-secret2/a/b", "a/b", "%00", "%ff/"):
        answer = ask(bare, wrong)
        assert answer.status == 403
        assert "Wrong or missing access token" in answer.error
    answer = ask(bare, "a-secret")
    assert (answer.status, answer.headers["location"]) == (307, "a-secret/")


def test_the_log_has_one_line_per_request_without_the_token(with_token, capfd):
    ask(with_token, "a/b%0aGET%20/x?q=1")
    logged = ""
    while "x 404" not in logged:  # the line comes after the answer
        logged += capfd.readouterr().err
    lines = [line for line in logged.splitlines() if "/a/b" in line]
    assert len(lines) == 1
    assert "GET /…/a/b%0AGET%20/x 404" in lines[0]
    assert "secret" not in lines[0]
