"""Tool calls of small models as samples: python data/mappings/tool_calling_k3.py FOLDER > attempts.csv

Whether a call is right depends on the item (the rules of the source), which no mapping of columns can say: items 4 and 8 must
call no tool, 9 to 11 a tool of a given name, the others any tool. One JSON file per model, runs[repeat][item].
"""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path

NO_TOOL = {4, 8}
NAMED = {9: "get_weather", 10: "search_files", 11: "schedule_meeting"}


def right(item: int, answer: dict[str, object]) -> bool:
    if item in NO_TOOL:
        return not answer["tool_called"]
    return answer["tool_name"] == NAMED[item] if item in NAMED else bool(answer["tool_called"])


def main(folder: Path) -> None:
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(["model", "item_id", "attempt", "value", "status"])
    for path in sorted(folder.glob("*.json")):
        log = json.loads(path.read_text(encoding="utf-8"))
        for attempt, answers in enumerate(log["runs"]):
            for item, answer in enumerate(answers):
                scored = answer["error"] is None
                value = int(right(item, answer)) if scored else ""
                out.writerow([log["model_name"], item, attempt, value, "scored" if scored else "error"])


if __name__ == "__main__":
    main(Path(sys.argv[1]))
