"""``dropglm serve`` under load, compared with a scikit-learn pipeline behind the same server.

Needs wrk, a load generator (a package of most distributions), and the data set rt. All requests stay on this
computer. Each has one sentence, unless stated. Writes the tables of docs/serving.md. With ``--stops``, which
does not need wrk, it stops the server under load instead, and counts requests that were lost.

python -m benchmarks.serving [--seconds 10] [--stops 20] [--out docs/serving.md]
"""

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

import numpy as np

from benchmarks import sklearn_service
from benchmarks.markdown import ROOT, fill, table
from dropglm import TextClassifier, load_dataset

HEADER = (
    "server", "connections", "requests per second", "median", "99th percentile", "processor time per request",
    "errors",
)  # fmt: skip
MEMORY = ("server", "requests", "errors", "memory after 10,000 requests", "at the end")
N_TRAIN, N_REQUESTS, SETTLED = 5000, 100_000, 10_000
SENTENCES = 500  # different requests
OURS, THEIRS = "dropglm", "scikit-learn"
ROUNDS = 3
STOPS = (
    "processes", "stops", "requests sent before the signal", "unanswered then", "lost",
    "sent after the signal", "of these lost", "slowest stop",
)  # fmt: skip
CLIENTS = 32  # while the server is stopped
MIXED = "dropglm, while another client sends 10,000 texts at a time"

# Sends the bodies of a file in turn, and prints the result in one line.
SCRIPT = """
local bodies, next_body = {}, 0
for line in io.lines("bodies.txt") do bodies[#bodies + 1] = line end
wrk.method, wrk.headers["Content-Type"] = "POST", "application/json"
function request()
  next_body = next_body % #bodies + 1
  return wrk.format(nil, nil, nil, bodies[next_body])
end
function done(summary, latency)
  local e = summary.errors
  local errors = e.connect + e.read + e.write + e.status + e.timeout
  io.write(string.format("RESULT %d %d %d %d %d\\n", summary.requests, summary.duration,
    latency:percentile(50), latency:percentile(99), errors))
end
"""


class Load(NamedTuple):
    """What a run of the load generator reports."""

    requests: int
    seconds: float
    median: float  # seconds
    percentile_99: float
    processor_seconds: float  # of the server
    errors: int

    def cells(self) -> tuple[str, ...]:
        """Return the numbers of a row of the table."""
        return (
            f"{self.requests / self.seconds:,.0f}",
            f"{1e3 * self.median:.2f} ms",
            f"{1e3 * self.percentile_99:.2f} ms",
            f"{1e3 * self.processor_seconds / self.requests:.2f} ms",
            str(self.errors),
        )


class Server(NamedTuple):
    """A server that runs."""

    address: str
    pid: int

    def processor_seconds(self) -> float:
        """Return the processor time that the server has used."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def memory(self) -> float:
        """Return the resident size in MiB."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        return int(re.findall(r"VmRSS:\s+(\d+)", status)[0]) / 1024


@contextmanager
def running(command: Sequence[str], log: Path) -> Iterator[Server]:
    """Run a server; its log is written to a file."""
    with open(log, "w") as stream:
        process = subprocess.Popen([sys.executable, *command], stderr=stream)
    try:
        deadline = time.monotonic() + 60
        while not (found := re.search(r"http://\S+/", log.read_text())):
            if time.monotonic() > deadline or process.poll() is not None:
                raise RuntimeError(f"The server did not start: {log.read_text()}")
            time.sleep(0.1)
        yield Server(found[0], process.pid)
    finally:
        process.terminate()
        process.wait()


def load(server: Server, connections: int, seconds: float, folder: Path) -> Load:
    """Send as many requests as the server answers."""
    command = ["wrk", "--threads", "1", "--connections", str(connections), "--duration", f"{seconds:g}s"]
    command += ["--timeout", "10s", "--script", "post.lua", f"{server.address}predict"]
    before = server.processor_seconds()
    out = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout
    used = server.processor_seconds() - before
    requests, microseconds, median, high, errors = map(int, re.findall(r"RESULT (.*)", out)[0].split())
    return Load(requests, microseconds / 1e6, median / 1e6, high / 1e6, used, errors)


@contextmanager
def large_requests(server: Server, texts: Sequence[str]) -> Iterator[None]:
    """Send requests with all these texts, one after the other."""
    body, stop = json.dumps({"texts": list(texts)}).encode(), threading.Event()

    def send() -> None:
        while not stop.is_set():
            with urlopen(Request(f"{server.address}predict", body)) as answer:
                assert len(json.load(answer)["predictions"]) == len(texts)

    thread = threading.Thread(target=send)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def many(server: Server, name: str, folder: Path) -> tuple[str, ...]:
    """Return the memory that the server uses while it answers many requests."""
    total, errors, settled = 0, 0, 0.0
    while total < N_REQUESTS:
        done = load(server, 64, 2, folder)
        total, errors = total + done.requests, errors + done.errors
        if not settled and total >= SETTLED:
            settled = server.memory()
    return name, f"{total:,}", str(errors), f"{settled:.0f} MiB", f"{server.memory():.0f} MiB"


class Client(threading.Thread):
    """A client that sends requests, one after the other, until the server refuses a connection.

    Attributes
    ----------
    requests : list of (float, float or None)
        Times at which each request had been sent and its answer had arrived; None if no whole answer came.
    """

    def __init__(self, address: str, body: bytes, keeps_connection: bool) -> None:
        super().__init__()
        self.requests: list[tuple[float, float | None]] = []
        self.address, self.body, self.keeps_connection = urlsplit(address), body, keeps_connection
        self.start()

    def run(self) -> None:
        """Send requests."""
        assert self.address.hostname is not None
        connection = HTTPConnection(self.address.hostname, self.address.port, timeout=30)
        while True:
            try:
                if connection.sock is None:
                    connection.connect()
                connection.request("POST", "/predict", self.body)
            except OSError:  # refused, or closed by the server after the last answer
                if connection.sock is None:
                    return
                connection.close()
                continue
            sent = time.monotonic()
            try:
                connection.getresponse().read()
                self.requests.append((sent, time.monotonic()))
            except (OSError, HTTPException):
                self.requests.append((sent, None))
                connection.close()
            if not self.keeps_connection:
                connection.close()


class Stop(NamedTuple):
    """What became of the requests to a server that was told to stop."""

    before: int  # requests that were sent before the signal
    waiting: int  # those of them that were not answered then
    lost: int  # those of them that were never answered
    after: int
    lost_after: int
    seconds: float  # until the server had ended

    @classmethod
    def of(cls, command: Sequence[str], text: str, log: Path) -> "Stop":
        """Run a server, stop it while clients send requests, every other one on a connection of its own."""
        body = json.dumps({"texts": [text]}).encode()
        with running(command, log) as server:
            clients = [Client(server.address, body, bool(number % 2)) for number in range(CLIENTS)]
            while any(client.is_alive() and len(client.requests) < 10 for client in clients):
                time.sleep(0.01)
            signalled = time.monotonic()
            os.kill(server.pid, signal.SIGTERM)
            for client in clients:
                client.join()
        seconds = time.monotonic() - signalled
        sent = [each for client in clients for each in client.requests]
        before = [answered for at, answered in sent if at < signalled]
        after = [answered for at, answered in sent if at >= signalled]
        waiting = sum(answered is None or answered > signalled for answered in before)
        return cls(len(before), waiting, before.count(None), len(after), after.count(None), seconds)


def stops(n: int, folder: Path) -> list[tuple[str, ...]]:
    """Stop servers of one and of two processes under load, and return the rows of the table."""
    data = load_dataset("rt")
    assert data.texts is not None
    texts, y = data.texts.tolist(), [data.class_names[k] for k in data.y]
    TextClassifier(tune=False).fit(texts, y).save(folder / "model.skops")
    rows = []
    for workers in (1, 2):
        command = ["-m", "dropglm", "serve", str(folder / "model.skops"), "--port", "0", "--quiet"]
        command += ["--workers", str(workers)]
        found = [Stop.of(command, texts[0], folder / "stop.log") for _ in range(n)]
        *counts, seconds = zip(*found, strict=True)
        rows.append((str(workers), str(n), *(f"{sum(each):,}" for each in counts), f"{max(seconds):.1f} s"))
        print(*rows[-1], flush=True)
    return rows


def measure(seconds: float, folder: Path) -> tuple[list[tuple[str, ...]], list[tuple[str, ...]]]:
    """Train both models, and return the rows of both tables."""
    data = load_dataset("rt")
    assert data.texts is not None
    order = np.random.default_rng(0).permutation(len(data.y))
    texts, y = data.texts[order].tolist(), [data.class_names[k] for k in data.y[order]]
    TextClassifier(tune=False).fit(texts[:N_TRAIN], y[:N_TRAIN]).save(folder / "model.skops")
    sklearn_service.train(texts[:N_TRAIN], y[:N_TRAIN], folder / "pipeline.joblib")
    (folder / "post.lua").write_text(SCRIPT)
    bodies = [json.dumps({"texts": [text]}) for text in texts[-SENTENCES:]]
    (folder / "bodies.txt").write_text("\n".join(bodies))
    commands = {
        OURS: ["-m", "dropglm", "serve", str(folder / "model.skops"), "--port", "0"],
        THEIRS: ["-m", "benchmarks.sklearn_service", str(folder / "pipeline.joblib")],
    }
    with ExitStack() as stack:
        servers = {
            name: stack.enter_context(running(command, folder / f"{number}.log"))
            for number, (name, command) in enumerate(commands.items())
        }
        rows = fastest(servers, seconds, folder)
        with large_requests(servers[OURS], (texts * 2)[:10_000]):
            rows.append((MIXED, "64", *load(servers[OURS], 64, seconds, folder).cells()))
        print(*rows[-1], flush=True)
        memory = [many(server, name, folder) for name, server in servers.items()]
    return rows, memory


def fastest(servers: Mapping[str, Server], seconds: float, folder: Path) -> list[tuple[str, ...]]:
    """Return the fastest of alternating runs for each server and number of connections."""
    runs: dict[tuple[str, int], list[Load]] = {(name, n): [] for name in servers for n in (1, 64)}
    for number in range(ROUNDS + 1):
        for (name, connections), found in runs.items():
            one = load(servers[name], connections, seconds if number else 1.0, folder)
            if number:  # the first requests load what is loaded on first use
                found.append(one)
                print(name, connections, *one.cells(), flush=True)
    best = {key: max(found, key=lambda one: one.requests / one.seconds) for key, found in runs.items()}
    errors = {key: sum(one.errors for one in found) for key, found in runs.items()}
    return [(name, str(n), *best[name, n].cells()[:-1], str(errors[name, n])) for name, n in best]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seconds", type=float, default=10.0, help="of each measurement")
    parser.add_argument(
        "--stops", type=int, help="stop the server so often under load, and measure nothing else"
    )
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "serving.md")
    options = parser.parse_args()
    if options.stops is not None:
        with tempfile.TemporaryDirectory() as folder:
            fill(options.out, "stops", table(STOPS, stops(options.stops, Path(folder))))
        return
    if shutil.which("wrk") is None:
        sys.exit("wrk is missing; install the package of that name.")
    with tempfile.TemporaryDirectory() as folder:
        rows, memory = measure(options.seconds, Path(folder))
    measured = f"The fastest of {ROUNDS} alternating runs of {options.seconds:g} seconds."
    fill(options.out, "load", f"{measured}\n\n{table(HEADER, rows)}\n\n{table(MEMORY, memory)}")


if __name__ == "__main__":
    main()
