"""Hundreds of reports: against papermill and nbconvert in a loop, against the same loop on all cores, and when cached.

Run with ``python tests/benchmarks/bench_build.py [REPORTS] [CACHED]``; ratios of one run, machines differ.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

BIN = Path(sys.executable).parent
NOTEBOOK = Path(__file__).resolve().parents[2] / "notebooks" / "recipe_card_audit.ipynb"
REPORTS, CACHED = (int(argument) for argument in (*sys.argv[1:3], "40", "500")[:2])
RUNS = "model,budget,seed,score\n" + "".join(f"{m},100,{i},{0.9 - 0.001 * i:.3f}\n" for m in "ab" for i in range(40))


def seconds(command: list[str], folder: Path) -> float:
    start = time.perf_counter()
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - start


def manifest(folder: Path, count: int) -> None:
    """One report per value of delta, every tenth with a file of its own."""
    lines = ["reports:"]
    for number in range(count):
        name = f"own-{number}.csv" if number % 10 == 0 else "runs.csv"
        (folder / name).write_text(RUNS, encoding="utf-8")
        lines.append(f"  r{number}: {{study: recipe-card, data: {name}, params: {{delta: {0.01 + number / 5000}}}}}")
    (folder / "reports.yml").write_text("\n".join(lines) + "\n", encoding="utf-8")


def loop(folder: Path, count: int, processes: int) -> float:
    """What people write: papermill, then nbconvert, one report after the other or ``xargs -P``."""
    for number in range(count):
        values = {"data": {"runs": ["runs.csv"]}, "delta": 0.01 + number / 5000, "out_dir": f"loop/{number}"}
        (folder / f"p{number}.yml").write_text(json.dumps(values), encoding="utf-8")
    (folder / "loop").mkdir()
    shutil.copy(NOTEBOOK, folder / "n.ipynb")
    script = f"{BIN}/papermill n.ipynb loop/$1.ipynb -f p$1.yml -k python3 && {BIN}/jupyter nbconvert --to html loop/$1.ipynb"
    (folder / "one.sh").write_text(script, encoding="utf-8")
    numbers = "\\n".join(map(str, range(count)))
    took = seconds(["sh", "-c", f"printf '{numbers}\\n' | xargs -n 1 -P {processes} sh one.sh"], folder)
    assert len(list((folder / "loop").glob("*.html"))) == count
    shutil.rmtree(folder / "loop")
    return took


def main() -> None:
    build = [str(BIN / "gatebook"), "build", "-q"]
    cores = str(len(os.sched_getaffinity(0)))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        manifest(folder, REPORTS)
        ours = seconds([*build, "-j", cores], folder)
        (folder / "own-0.csv").write_text(RUNS + "a,100,40,0.9\n", encoding="utf-8")
        plan = subprocess.run([*build[:2], "-n", "--json"], cwd=folder, check=True, capture_output=True, text=True)
        counts = json.loads(plan.stdout)["counts"]
        parallel = loop(folder, REPORTS, int(cores))
        serial = loop(folder, REPORTS, 1)
    print(f"{REPORTS} reports cold, {cores} cores: {ours:.1f} s")
    print(f"  papermill + nbconvert, serial:      {serial:.1f} s, {serial / ours:.2f} times as long (asked: 3)")
    print(
        f"  papermill + nbconvert, xargs -P{cores}:   {parallel:.1f} s, {parallel / ours:.2f} times as long (asked: 1)"
    )
    print(f"  one input of {len(range(0, REPORTS, 10)) + 1} changed: {counts}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        manifest(folder, 1)
        seconds(build, folder)
        manifest(folder, CACHED)
        stand_in(folder)
        took = min(seconds(build, folder) for _ in range(3))
        print(f"{CACHED} reports cached: {took:.2f} s (asked: 2)")


def stand_in(folder: Path) -> None:
    """Complete folders for all reports of the manifest without running them: the one that was made, under their keys."""
    code = """
import json, shutil, sys
from dataclasses import replace
from pathlib import Path
from analysis.pipeline import batch, manifest
from analysis.pipeline.state import State
jobs, out = manifest.load(Path("reports.yml")), Path("reports")
with State(out) as state:
    for one in batch.plan(jobs, batch.Settings(out=out), state):
        if one.decision.action == "cached":
            made = one.target
            continue
        shutil.copytree(made, one.target)
        record = json.loads((made / "run.json").read_text())
        record |= {"components": dict(one.want.components), "key": one.want.key}
        (one.target / "run.json").write_text(json.dumps(record))
"""
    subprocess.run([sys.executable, "-c", code], cwd=folder, check=True)
    seconds([str(BIN / "gatebook"), "build", "-q"], folder)  # the site


if __name__ == "__main__":
    main()
