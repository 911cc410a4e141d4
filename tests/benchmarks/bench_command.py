"""What the command line costs: python tests/benchmarks/bench_command.py prints ratios, medians of five."""

from __future__ import annotations

import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "data" / "examples" / "recipe_card"
ROUNDS = 5
IMPORTS = "import numpy, pandas, scipy.special, pydantic, scipy.stats"


def seconds(command: list[str]) -> float:
    """Median wall time of a command, output thrown away."""
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def main() -> None:
    gatebook = shutil.which("gatebook", path=str(Path(sys.executable).parent)) or "gatebook"
    data = ["--data", str(EXAMPLE / "synthetic_runs.csv"), "--data", f"counts={EXAMPLE / 'published_counts.csv'}"]
    python = seconds([sys.executable, "-c", "pass"])
    imports = seconds([sys.executable, "-c", IMPORTS])
    help_text = seconds([gatebook, "--help"])
    gate = seconds([gatebook, "gate", "recipe-card", *data])
    print(f"gatebook --help: {help_text:.3f} s, {help_text / python:.1f} × an empty Python; goal under .3 s")
    print(f"gatebook gate on the example: {gate:.2f} s, {gate / imports:.2f} × the imports it needs ({imports:.2f} s)")


if __name__ == "__main__":
    main()
