"""Pages: weight and speed against nbconvert, and against Quarto where it is; a site of two thousand reports.

Run with ``python tests/benchmarks/bench_pages.py [REPORTS]``; ratios of one run, machines differ.
"""

from __future__ import annotations

import json
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import nbformat

from analysis.pipeline import quarto
from analysis.pipeline.html import render_html
from analysis.pipeline.pdf import render_pdf
from analysis.pipeline.site import assemble

BIN = Path(sys.executable).parent
ROOT = Path(__file__).resolve().parents[2]
REPORTS = int(sys.argv[1]) if sys.argv[1:] and sys.argv[1].isdigit() else 2000
MEGABYTE = 1 << 20


def timed(call, times: int = 1) -> tuple[float, object]:
    """Least seconds of some calls, and what the last one returned."""
    took = []
    for _ in range(times):
        start = time.perf_counter()
        answer = call()
        took.append(time.perf_counter() - start)
    return min(took), answer


def page(report: Path) -> str:
    """One line: our page and PDF, and the same notebook by nbconvert and by Quarto."""
    notebook = nbformat.read(report / "report.ipynb", as_version=4)
    ours, html = timed(lambda: render_html(notebook), 5)
    printed, _ = timed(lambda: render_pdf(notebook), 3)
    other = report / "other.html"
    command = [BIN / "jupyter", "nbconvert", "--to", "html", "report.ipynb", "--output", other.name]
    theirs, _ = timed(lambda: subprocess.run(command, cwd=report, check=True, capture_output=True))
    weight = len(html.encode())
    line = (
        f"{report.parent.name + '/' + report.name:32} page {weight / 1000:5.0f} KB, {ours:.3f} s; PDF {printed:.2f} s; "
        f"nbconvert {other.stat().st_size / weight:.1f} times the weight, {theirs / ours:.0f} times the time"
    )
    if quarto.version():
        by_quarto, whole = timed(lambda: quarto.render(report / "report.ipynb", "html"))
        line += f"; quarto {len(whole) / weight:.1f} times the weight, {by_quarto / ours:.0f} times the time"
    return line


def small(folder: Path) -> Path:
    """A report of one cell of 59 reruns."""
    (folder / "runs.csv").write_text(
        "model,budget,seed,score\n" + "".join(f"m,500,{seed},0.9\n" for seed in range(59)), encoding="utf-8"
    )
    command = [BIN / "gatebook", "run", "recipe-card", "--data", "runs.csv", "--label", "small"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return folder / "reports" / "recipe-card" / "small"


def site(folder: Path, report: Path, count: int) -> tuple[float, float]:
    """Seconds and peak memory in MB of a site of copies of a report, in a process of its own."""
    result = json.loads((report / "result.json").read_text(encoding="utf-8"))
    for number in range(count):
        copy = folder / "recipe-card" / f"r{number:05d}"
        shutil.copytree(report, copy)
        (copy / "result.json").write_text(json.dumps({**result, "label": copy.name}), encoding="utf-8")
    command = [sys.executable, __file__, "--site", str(folder), str(folder.with_name(folder.name + "-site"))]
    took, peak = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    return float(took), float(peak)


def main() -> None:
    if sys.argv[1:2] == ["--site"]:
        took, _ = timed(lambda: assemble([Path(sys.argv[2])], Path(sys.argv[3])))
        print(took, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / MEGABYTE)
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        report = small(folder)
        print(page(report))
        command = [
            BIN / "gatebook",
            "build",
            "--manifest",
            ROOT / "reports.yml",
            "--out",
            folder / "r",
            "--site",
            folder / "s",
        ]
        subprocess.run(command, check=True, capture_output=True)
        for other in sorted((folder / "r").glob("*/*/report.ipynb")):
            print(page(other.parent))
        few, least = site(folder / "few", report, REPORTS // 10)
        many, most = site(folder / "many", report, REPORTS)
        print(
            f"site of {REPORTS // 10}: {few:.1f} s, {least:.0f} MB at most; of {REPORTS}: {many:.1f} s, {most:.0f} MB"
        )


if __name__ == "__main__":
    main()
