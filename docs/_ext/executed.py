"""The directive ``executed``: a block of Python or of shell commands that runs when the site is built.

The blocks of a page run in the order of the page, in one folder that is empty at first; what they print is
shown below them, and an error in one of them is an error of the build.

:lines: shows only so many lines of what is printed, and …; 0 shows nothing.
:figure: shows the figure that the block has drawn; the argument describes it.
:hide: shows what the block prints, but not the block.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

WORKER = Path(__file__).with_name("page_worker.py")
FIGURES = "_figures"


class Worker:
    """The process that runs the blocks of a page."""

    def __init__(self) -> None:
        self.folder = TemporaryDirectory()
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
        self.process = subprocess.Popen(
            [sys.executable, str(WORKER)],
            cwd=self.folder.name,
            env={**os.environ, "PATH": path},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            encoding="utf-8",
        )
        self.blocks = 0

    def run(self, language: str, code: str, figure: Path | None) -> str:
        """Return what a block prints."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.blocks += 1
        block = {"language": language, "code": code, "figure": figure and str(figure)}
        print(json.dumps(block), file=self.process.stdin, flush=True)
        answer = json.loads(self.process.stdout.readline())
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return str(answer["printed"])

    def close(self) -> None:
        """End the process and remove the folder."""
        self.process.communicate(timeout=30)
        self.folder.cleanup()


workers: dict[str, Worker] = {}  # by page


class Executed(SphinxDirective):
    """Run a block, and show it with what it prints."""

    required_arguments = 1
    has_content = True
    option_spec: ClassVar[Any] = {
        "lines": directives.nonnegative_int,
        "figure": directives.unchanged,
        "hide": directives.flag,
    }

    def run(self) -> list[nodes.Node]:
        """Return the code, what it printed and its figure."""
        docname, language, code = self.env.docname, self.arguments[0], "\n".join(self.content)
        worker = workers.get(docname) or Worker()
        workers[docname] = worker
        name = f"{docname.replace('/', '-')}-{worker.blocks + 1}.svg"
        figure = Path(self.env.srcdir, FIGURES, name) if "figure" in self.options else None
        try:
            printed = worker.run(language, code, figure).rstrip("\n")
        except RuntimeError as error:
            raise self.error(f"A block of this page fails:\n{error}") from None
        found: list[nodes.Node] = []
        if "hide" not in self.options:
            found.append(nodes.literal_block(code, code, language="bash" if language == "sh" else language))
        lines = printed.splitlines()
        shown = lines[: self.options.get("lines", len(lines))]
        if shown:
            text = "\n".join([*shown, *(["…"] if len(shown) < len(lines) else [])])
            found.append(nodes.literal_block(text, text, language="text", classes=["printed"]))
        if figure is not None:
            image = nodes.image(uri=f"/{FIGURES}/{name}", alt=self.options["figure"])
            found.append(image)
        return found


def close_worker(sphinx: Sphinx, document: nodes.document) -> None:
    """End the process of a page that has been read."""
    worker = workers.pop(sphinx.env.docname, None)
    if worker is not None:
        worker.close()


def setup(sphinx: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    sphinx.add_directive("executed", Executed)
    sphinx.connect("doctree-read", close_worker)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
