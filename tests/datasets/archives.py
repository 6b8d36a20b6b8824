"""Small archives in the layout of the real ones, and a local server for them."""

import gzip
import hashlib
import io
import tarfile
import threading
import zipfile
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from dropglm.datasets import DATASETS


def zipped(files):
    """Return a zip with these files, and the folders and notes that real archives have."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        top = next(iter(files)).partition("/")[0]
        for name, content in {f"{top}/": b"", f"{top}/README": b"Please cite us.", **files}.items():
            # A name alone would add the current time, and no two archives would be the same.
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    return out.getvalue()


def tarred(files):
    """Return a compressed tar with these files, and the folders and notes that real archives have."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz", compresslevel=1) as archive:
        top = next(iter(files)).partition("/")[0]
        folder = tarfile.TarInfo(top)
        folder.type = tarfile.DIRTYPE
        archive.addfile(folder)
        for name, content in {f"{top}/README": b"Please cite us.", **files}.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return out.getvalue()


def with_header(change, content=b"x", **settings):
    """Return a compressed tar of one member whose header is changed."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", **settings) as archive:
        member = tarfile.TarInfo("sentence_polarity/rt-polarity.pos")
        member.size = len(content)
        change(member)
        archive.addfile(member, io.BytesIO(content))
    return gzip.compress(out.getvalue())


@contextmanager
def served(content, *, status=200, cut_at=None, length=None):
    """Run a server that sends the content, or stops after ``cut_at`` bytes; yield its address."""

    class Handler(BaseHTTPRequestHandler):
        requests = 0

        def do_GET(self):
            Handler.requests += 1
            self.send_response(status)
            self.send_header("Content-Length", str(len(content) if length is None else length))
            self.end_headers()
            self.wfile.write(content[:cut_at])

        def log_message(self, *arguments):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/archive", Handler
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def small(name, address, content, rows, members=None, **limits):
    """Return the entry of a data set with a small archive at the given address."""
    entry = DATASETS[name]
    archive = replace(
        entry.table.archive,
        address=address,
        checksum=f"sha256:{hashlib.sha256(content).hexdigest()}",
        members=rows if members is None else members,
        **limits,
    )
    return replace(entry, table=replace(entry.table, rows=rows, archive=archive))
