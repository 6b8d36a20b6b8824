"""Fits on a GPU: passes over IMDB's bigrams, single fits, a search, a tuned text classifier, and rivals.

python -m benchmarks.gpu --prepare data.npz   # anywhere, with DROPGLM_DATA: the data in one file
python -m benchmarks.gpu data.npz             # on a machine with a GPU: writes docs/measured-gpu.md
python -m benchmarks.gpu --quote              # quotes two lines of that page in docs/gpu.md
"""

import argparse
import os
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path

from benchmarks.gpu_data import Data, load, prepare
from benchmarks.gpu_fits import fits, models, newsgroups, search
from benchmarks.gpu_passes import passes
from benchmarks.markdown import Rows, fill, table

PAGE = Path(__file__).parent.parent / "docs" / "measured-gpu.md"


def quote() -> None:
    """Write two lines of the page into docs/gpu.md: the time of a fit, and of a search."""
    cells = [[cell.strip(" *") for cell in line.split("|")] for line in PAGE.read_text().splitlines()]
    rows = [row for row in cells if len(row) > 3]
    fit = {row[1]: row[2] for row in rows}
    search = {row[1]: row[2] for row in rows if row[3].startswith("dropout")}
    gpu = PAGE.read_text().split("on one ")[1].split(" with ")[0]
    line = (
        f"On one {gpu}, a fit to IMDB's bigrams takes {fit['GPU, X in its memory']} with X on the GPU (two "
        f"cores: {fit['two cores of the CPU']}), and a search of 60 settings with 5 folds {search['GPU']} "
        f"(16 cores: {search['16 cores']})."
    )
    fill(PAGE.with_name("gpu.md"), "gpu", line)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path, nargs="?")
    parser.add_argument(
        "--quote", action="store_true", help="quote the page in docs/gpu.md instead of measuring"
    )
    parser.add_argument("--prepare", action="store_true", help="write the data instead of measuring")
    parser.add_argument("--out", type=Path, default=PAGE)
    parser.add_argument(
        "--sections",
        nargs="*",
        default=["passes", "profile", "kernels", "fits", "search", "newsgroups", "models", "rivals"],
    )
    arguments = parser.parse_args()
    if arguments.quote:
        quote()
        return
    if arguments.data is None:
        parser.error("name the file of the data")
    if arguments.prepare:
        prepare(arguments.data)
        return
    import cupy

    from benchmarks.gpu_profile import HEADER, profile
    from benchmarks.gpu_rivals import raw_kernels, rivals

    data = load(arguments.data)
    gpu = cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()
    works: dict[str, tuple[str, tuple[str, ...], Callable[[Data], Rows]]] = {
        "passes": (
            "One pass over IMDB's bigrams",
            ("pass", "problems", "time", "bytes loaded per second", "of a copy's"),
            passes,
        ),
        "profile": (
            "The same passes under Nsight Compute, which lowers the clock",
            HEADER,
            lambda data: profile(arguments.data),
        ),
        "kernels": (
            "Numba and raw kernels",
            ("", "time on the GPU", "time of a call in Python"),
            raw_kernels,
        ),
        "fits": (
            "One fit to IMDB's bigrams, at the default tolerance",
            (
                "",
                "time",
                "iterations",
                "objective, relative to the CPU's",
                "largest difference of a probability",
            ),
            fits,
        ),
        "search": (
            "60 points of a grid, 5 folds, and the final fit",
            ("", "time", "chosen", "accuracy of held-out rows"),
            search,
        ),
        "newsgroups": (
            "A tuned text classifier: 20 newsgroups",
            ("", "whole fit", "counting n-grams", "without counting", "test accuracy"),
            newsgroups,
        ),
        "models": (
            "Other models",
            ("", "GPU", "16 cores", "iterations", "objective, relative to the CPU's"),
            models,
        ),
        "rivals": ("Others", ("", "time", "objective, relative to ours"), rivals),
    }
    parts = [
        "# Measured on a GPU\n",
        f"`make bench-gpu` wrote this page on {date.today():%Y-%m-%d}, on one {gpu} with {os.cpu_count()} "
        f"CPU cores and CuPy {cupy.__version__}. IMDB: {data.X.shape[0]:,} rows, {data.X.shape[1]:,} binary "
        f"features, {data.X.nnz:,} entries, float32.\n",
        "Times of passes are those of CUDA's events, medians of 30. Those of fits include everything from "
        "the call to the model, after a first one that compiles. On the GPU, single fits are medians of 15, "
        "others of 3; on the CPU, they are single ones, and the fit on two cores the mean of two.\n",
        "Bytes loaded count every coefficient or slope of every entry; those that come from a cache make the "
        "rate exceed that of a copy.\n",
    ]
    for name in arguments.sections:
        title, header, measure = works[name]
        start = time.perf_counter()
        rows = measure(data)
        print(title, f"({time.perf_counter() - start:.0f} s)", *rows, sep="\n  ", flush=True)
        parts += [f"## {title}\n", table(header, rows) + "\n"]
        arguments.out.write_text("\n".join(parts))


if __name__ == "__main__":
    main()
