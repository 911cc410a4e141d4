"""How often the whole tail-shape protocol passes under a null and under a true difference.

python tests/calibration/calibrate_protocol.py [samples] prints a table; protocol.md keeps one run.
"""

from __future__ import annotations

import sys
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import pandas as pd

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from analysis.studies import tail_shape
from data.examples.make import CONTROLS, control

SAMPLES = 100
FIRST_SEED = 1000  # away from the seeds of the shipped controls


def verdicts(condition: str, samples: int) -> Counter[tuple[str, str]]:
    """Statuses (paper, corrected) over samples of one control."""
    _, _, prompts, correlation, first, second = next(entry for entry in CONTROLS if entry[0] == condition)
    found: Counter[tuple[str, str]] = Counter()
    for seed in range(FIRST_SEED, FIRST_SEED + samples):
        rows = control(seed, prompts, correlation, first, second)
        frame = pd.DataFrame(rows, columns=["model", "item_id", "value"])
        result = tail_shape.run({"scores": frame}, tail_shape.Params(bootstrap=500, gof_bootstrap=199, seed=seed))
        found[result.units[0].status_paper, result.units[0].status_corrected] += 1
    return found


def main() -> None:
    samples = int(sys.argv[1]) if len(sys.argv) > 1 else SAMPLES
    print(
        f"{samples} samples a row, seeds from {FIRST_SEED}, {datetime.now(UTC).date()}; share of samples by status.\n"
    )
    print("| control | method | PASS | G1 | G2 | G3 | G4 | G5 | P1 | P2 |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for condition in ("true null", "true difference"):
        found = verdicts(condition, samples)
        for place, method in enumerate(("paper", "corrected")):
            share = Counter[str]()
            for statuses, times in found.items():
                share[statuses[place].removeprefix("KILL at ")] += times
            cells = [f"{share[name] / samples:.2f}" for name in ("PASS", "G1", "G2", "G3", "G4", "G5", "P1", "P2")]
            print(f"| {condition} | {method} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
