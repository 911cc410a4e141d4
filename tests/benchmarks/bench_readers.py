"""Ratios of CPU time, one process: reading and converting logs against pandas and pyarrow on the same files.

Run ``python tests/benchmarks/bench_readers.py [MEGABYTES]``, by default 100. Peers build typed frames in memory; ours keep every
number as it is spelled, check every cell, look for duplicates and hold one stretch at a time. Medians of interleaved
repetitions of `time.process_time`.
"""

from __future__ import annotations

import hashlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

if __name__ == "__main__":
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = "1"

import pandas as pd
from pyarrow import parquet

from analysis.conversion import convert
from analysis.readers.account import Account
from analysis.readers.choices import Ask
from analysis.readers.files import DataFile
from analysis.readers.formats import stream_format
from analysis.readers.tabular import raw_tables

ROUNDS = 3
PEAK = "from pathlib import Path; print(Path('/proc/self/status').read_text().split('VmHWM:')[1].split()[0])"


def samples(path: Path, size: int) -> None:
    """A samples file of the harness, about 1.5 KB a line."""
    line = {"doc": {"question": "x" * 400}, "arguments": {"gen_args_0": {"arg_0": "p" * 500}}, "resps": [["y" * 300]]}
    line |= {"filter": "none", "metrics": ["acc"], "filtered_resps": ["7"], "target": "7"}
    with path.open("w", encoding="utf-8") as file:
        i = 0
        while file.tell() < size:
            own = {"doc_id": i, "doc_hash": hashlib.sha256(str(i).encode()).hexdigest(), "acc": float(i % 3 == 0)}
            file.write(json.dumps(line | own) + "\n")
            i += 1


def plain(path: Path, size: int) -> None:
    """Short records, about 130 bytes a line."""
    with path.open("w", encoding="utf-8") as file:
        i = 0
        while file.tell() < size:
            own = {
                "model": "base",
                "item_id": f"question-{i:08d}",
                "attempt": "1",
                "value": i % 2,
                "output_chars": i % 977,
            }
            file.write(json.dumps(own | {"domain": "algebra-linear"}) + "\n")
            i += 1


def table(path: Path) -> Callable[[], object]:
    def read() -> None:
        with DataFile(path) as data:
            for _ in raw_tables(data):
                pass

    return read


def log(path: Path) -> Callable[[], object]:
    return lambda: sum(len(t.places) for t in stream_format("lm-eval", [path], Account(Ask())))


def seconds(jobs: dict[str, Callable[[], object]]) -> dict[str, float]:
    times: dict[str, list[float]] = {name: [] for name in jobs}
    for _ in range(ROUNDS):
        for name, job in jobs.items():
            start = time.process_time()
            job()
            times[name].append(time.process_time() - start)
    return {name: statistics.median(found) for name, found in times.items()}


def peak(code: str) -> int:
    """Peak memory of a process of its own, in megabytes."""
    done = subprocess.run([sys.executable, "-c", f"{code}\n{PEAK}"], capture_output=True, text=True, check=True)
    return int(done.stdout) // 1024


def main() -> None:
    size = int(sys.argv[1] if len(sys.argv) > 1 else 100) << 20
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        long, short, columnar = folder / "samples_t.jsonl", folder / "short.jsonl", folder / "short.parquet"
        samples(long, size)
        plain(short, size)
        convert("tabular", [short], columnar)
        print(f"files of {size >> 20} MB; ratio to the peer, under 1 is faster")
        for path, ours in ((long, log(long)), (short, table(short))):
            found = seconds({"ours": ours, "pandas": lambda path=path: pd.read_json(path, lines=True)})
            print(f"{path.name}: {found['ours'] / found['pandas']:.2f} × pandas.read_json(lines=True)")
        found = seconds({"ours": table(columnar), "pyarrow": lambda: parquet.read_table(columnar).to_pandas()})
        print(f"{columnar.name}: {found['ours'] / found['pyarrow']:.1f} × pyarrow to pandas, cells to text included")
        out = folder / "out.parquet"
        for path in (short, columnar):
            converted = seconds({"": lambda path=path: convert("tabular", [path], out)})[""]
            read = seconds(
                {"": lambda path=path: pd.read_json(path, lines=True) if path is short else pd.read_parquet(path)}
            )[""]
            print(f"convert {path.name} to Parquet: {converted / read:.2f} × reading it with pandas")
        code = f"from pathlib import Path\nfrom analysis.conversion import convert\nconvert('tabular', [{str(short)!r}], Path({str(out)!r}))"
        print(f"peak memory of convert {short.name}: {peak(code)} MB; of pandas.read_json: ", end="")
        print(f"{peak('import pandas as pd' + chr(10) + f'pd.read_json({str(short)!r}, lines=True)')} MB")


if __name__ == "__main__":
    main()
