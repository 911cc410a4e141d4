"""Two systems on MMLU as items: python data/mappings/routellm_mmlu.py FOLDER > items.csv

One CSV file per subject, a column per system, a question per line: a question is its subject and its line, which no mapping of
columns can put together. The subject is the cluster.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path


def main(folder: Path) -> None:
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(["model", "item_id", "value", "cluster"])
    for path in sorted(folder.glob("mmlu_*.csv")):
        subject = path.stem.removeprefix("mmlu_")
        with path.open(encoding="utf-8", newline="") as file:
            for question, answers in enumerate(csv.DictReader(file)):
                for model, passed in answers.items():
                    out.writerow([model, f"{subject}-{question}", int(passed == "True"), subject])


if __name__ == "__main__":
    main(Path(sys.argv[1]))
