"""What limits the passes of ``benchmarks.gpu``, by Nsight Compute (``ncu``): time, bytes, shares of peaks."""

import csv
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks.markdown import Rows

HEADER = (
    "kernel",
    "problems",
    "time",
    "bytes from or to memory",
    "of its peak",
    "second-level cache",
    "first-level cache",
    "instructions",
)
TIME, BYTES = "gpu__time_duration.sum", "dram__bytes.sum"
SHARES = [
    "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed",
    "lts__throughput.avg.pct_of_peak_sustained_elapsed",
    "l1tex__throughput.avg.pct_of_peak_sustained_active",
    "sm__throughput.avg.pct_of_peak_sustained_elapsed",
]
KERNELS = "ray|backward|backward_chunks|add_chunks|evaluate"
PROBLEMS = (1, 64)
# Factors of the units in which ncu writes times and bytes.
UNITS = {"ns": 1e-3, "us": 1.0, "ms": 1e3, "byte": 1e-6, "Kbyte": 1e-3, "Mbyte": 1.0, "Gbyte": 1e3}


def profile(path: Path) -> Rows:
    """Run the passes under Nsight Compute; return a row for each kernel."""
    if shutil.which("ncu") is None:
        return [("ncu is not installed", *[""] * (len(HEADER) - 1))]
    command = ["ncu", "--metrics", ",".join([TIME, BYTES, *SHARES]), "--csv", "--kernel-name"]
    command += [f"regex:{KERNELS}", sys.executable, "-W", "ignore", "-m", "benchmarks.gpu_profile", str(path)]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return _table(csv.DictReader(line for line in output.splitlines() if line.startswith('"')))


def _table(lines: Any) -> Rows:
    """Return a row for each kernel, from lines with one metric of one call each."""
    calls: dict[str, dict[str, Any]] = {}
    for line in lines:
        call = calls.setdefault(line["ID"], {"name": line["Kernel Name"].split("::")[-1].split("[")[0]})
        value = float(line["Metric Value"].replace(",", "").replace("n/a", "nan"))
        call[line["Metric Name"]] = value * UNITS.get(line["Metric Unit"], 1.0)
    rows: Rows = []
    names = [call["name"] for call in calls.values()]
    per_problem = len(names) // len(PROBLEMS)
    for place, call in enumerate(calls.values()):
        shares = [f"{call[share]:.0f} %" for share in SHARES]
        P = PROBLEMS[min(place // per_problem, len(PROBLEMS) - 1)]
        rows.append((call["name"], str(P), f"{call[TIME]:.0f} µs", f"{call[BYTES]:.0f} MB", *shares))
    return rows


def main() -> None:
    """Call each pass once, which is what Nsight Compute observes."""
    from benchmarks.gpu_data import load
    from benchmarks.gpu_passes import objective_of
    from dropglm.places.gpu.runtime import Group, Stream

    data = load(Path(sys.argv[1]))
    for P in PROBLEMS:
        objective = objective_of(data, P)
        with Stream() as stream:
            group = Group(P, stream)
            objective.aim(group)
            objective.evaluate(group)
            objective.move(group)


if __name__ == "__main__":
    main()
