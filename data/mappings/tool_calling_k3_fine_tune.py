"""Tool calls of small models with their latency: python data/mappings/tool_calling_k3_fine_tune.py FOLDER > items.csv

What is right depends on the item, as in tool_calling_k3.py beside it; latency is given in milliseconds.
"""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path

from tool_calling_k3 import right


def main(folder: Path) -> None:
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(["model", "item_id", "attempt", "value", "status", "latency_s"])
    for path in sorted(folder.glob("*.json")):
        log = json.loads(path.read_text(encoding="utf-8"))
        for attempt, answers in enumerate(log["runs"]):
            for item, answer in enumerate(answers):
                scored = answer["error"] is None
                outcome = [int(right(item, answer)), "scored"] if scored else ["", "error"]
                out.writerow([log["model_name"], item, attempt, *outcome, answer["latency_ms"] / 1000])


if __name__ == "__main__":
    main(Path(sys.argv[1]))
