"""How fast ``dropglm label`` is in a real browser, with 50,000 texts of 100 words.

python -m benchmarks.labelling            measure, and write the results into docs/labelling.md
python -m benchmarks.labelling --texts 2000 --keys 50 --print

Needs Debian's chromium and chromium-driver, and the data set imdb. A key press counts from the event to the
first frame that has the next text; keys are pressed one after the other, so that models are always being
fitted. The answer is stored on the disk before the next text is shown.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.request import urlopen

import numpy as np
import polars

from benchmarks.chromium import chromium
from benchmarks.markdown import ROOT, fill, table
from dropglm import load_dataset

WORDS = 100
PAUSE = 250  # milliseconds between a new text and the next key, as an annotator in a hurry
ROUNDS = 3  # of starting the command

# Presses keys as the labels say and notes the time until the text has changed and a frame is drawn.
PRESS = """
const [labels, count, pause, done] = arguments;
const place = document.getElementById("place");
const row = () => Number(place.textContent.match(/Row ([\\d,]+)/)[1].replaceAll(",", "")) - 1;
const frame = () => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
(async () => {
  const times = [], learning = [];
  for (let n = 0; n < count; n += 1) {
    const before = row();
    learning.push(document.getElementById("learning").textContent);
    const begin = performance.now();
    const key = labels[before] ? "1" : "2";
    document.body.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
    while (row() === before) {
      await frame();
      if (performance.now() - begin > 20000) throw document.getElementById("message").textContent;
    }
    times.push(performance.now() - begin);
    await new Promise((resolve) => setTimeout(resolve, pause));
    while (document.querySelector("#classes.settling")) await frame(); // after a late answer
  }
  return [times, learning];
})().then(done, (error) => done(String(error)));
"""


class Server:
    """The command, and when it has printed the address of its page."""

    def __init__(self, folder: Path, **environment: str) -> None:
        self.begin = time.perf_counter()
        command = [sys.executable, "-m", "dropglm", "label", "texts.csv", "--classes", "positive,negative"]
        self.process = subprocess.Popen(
            [*command, "--no-browser", "--port", "0"],
            cwd=folder,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | environment,
        )
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.startswith("Open "):
                self.address = line.split()[1]
                break
        self.printed = time.perf_counter() - self.begin

    def first_text(self, driver: Any) -> float:
        """Return the seconds from the start of the command to the first text on the screen."""
        driver.get(self.address)
        driver.set_script_timeout(600)
        script = """
        const done = arguments[0];
        const look = () => document.getElementById("text").textContent ? done() : requestAnimationFrame(look);
        look();
        """
        driver.execute_async_script(script)
        return time.perf_counter() - self.begin

    def state(self) -> dict[str, Any]:
        """Return what the page shows."""
        with urlopen(f"{self.address}api/state") as answer:
            found: dict[str, Any] = json.load(answer)
        return found

    def answer(self, label: str) -> None:
        """Label the current text."""
        state = self.state()
        content = {"label": label, "number": state["current"]["number"], "seen": state["version"]}
        urlopen(f"{self.address}api/answer", json.dumps(content).encode()).close()

    def stop(self) -> None:
        """End the command."""
        self.process.terminate()
        self.process.communicate()


def write_texts(path: Path, n: int) -> list[bool]:
    """Write texts of 100 words, and return which of them are positive."""
    data = load_dataset("imdb")
    assert data.texts is not None
    assert data.texts_test is not None
    assert data.y_test is not None
    every = max(50_000 // n, 1)
    texts, y = [*data.texts, *data.texts_test][::every][:n], [*data.y, *data.y_test][::every][:n]
    polars.DataFrame({"text": [" ".join(text.split()[:WORDS]) for text in texts]}).write_csv(path)
    return [bool(label) for label in y]


def measure(n_texts: int, n_keys: int) -> str:
    """Return the results as a Markdown table."""
    load = os.getloadavg()[0]
    with TemporaryDirectory() as name, chromium() as driver:
        folder = Path(name)
        labels = write_texts(folder / "texts.csv", n_texts)
        printed, first = [], []
        for _ in range(ROUNDS):
            (folder / "texts.labels.jsonl").unlink(missing_ok=True)
            server = Server(folder)
            first.append(server.first_text(driver))
            printed.append(server.printed)
            server.stop()
        server = Server(folder)
        server.first_text(driver)
        time.sleep(8)  # until the features are computed
        result = driver.execute_async_script(PRESS, labels, n_keys, PAUSE)
        if isinstance(result, str):
            raise RuntimeError(result)
        size = (folder / "texts.csv").stat().st_size
        server.stop()
    times, learning = np.array(result[0]), np.mean([bool(line) for line in result[1]])
    low, high, highest, worst = np.percentile(times, [50, 95, 99, 100])
    rows = [
        ("command to address printed", f"{np.median(printed):.2f} s"),
        ("command to first text on screen", f"{np.median(first):.2f} s"),
        ("key press to next text, 50th percentile", f"{low:.0f} ms"),
        ("key press to next text, 95th percentile", f"{high:.0f} ms"),
        ("key press to next text, 99th percentile", f"{highest:.0f} ms"),
        ("key press to next text, slowest", f"{worst:.0f} ms"),
    ]
    note = (
        f"{n_texts:,} reviews of {WORDS} words ({size / 1e6:.0f} MB), {n_keys} keys with {PAUSE} ms between "
        f"a text and the next key, a model being fitted at {learning:.0%} of them; starts are medians "
        f"of {ROUNDS}. "
        f"Chromium without a window on the same {os.cpu_count()} cores ({platform.machine()}); "
        f"load average of other programs before the start: {load:.1f}."
    )
    return f"{table(('', 'time'), rows)}\n\n{note}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--texts", type=int, default=50_000)
    parser.add_argument("--keys", type=int, default=300)
    parser.add_argument("--print", action="store_true", help="print the results only")
    given = parser.parse_args()
    block = measure(given.texts, given.keys)
    print(block)
    if not given.print:
        fill(ROOT / "docs/labelling.md", "measured", block)


if __name__ == "__main__":
    main()
