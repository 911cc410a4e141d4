"""Two automatic judges held against three people: python data/mappings/pandalm_human_judge.py FOLDER > items.csv

An item is a pair of answers; a judge passes where its verdict is that of most people. The verdicts lie in a file per judge, the
people's in a third, so that no mapping of columns can say it. PandaLM is a model that was tuned to judge.
"""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path
from statistics import mode

JUDGES = {
    "gpt-3.5-turbo": ("gpt-3.5-turbo-testset-v1.json", "gpt_result"),
    "PandaLM-7B": ("pandalm-7b-testset-v1.json", "pandalm_result"),
}
TIE = "Tie"


def main(folder: Path) -> None:
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(["model", "item_id", "value", "slice.pair"])
    pairs = json.loads((folder / "testset-v1.json").read_text(encoding="utf-8"))
    for judge, (name, field) in JUDGES.items():
        verdicts = {row["idx"]: row[field] for row in json.loads((folder / name).read_text(encoding="utf-8"))}
        for pair in pairs:
            people = mode(pair[f"annotator{i}"] for i in (1, 2, 3))
            verdict = str(verdicts[pair["idx"]]).replace(TIE, "0")
            out.writerow([judge, pair["idx"], int(verdict == str(people)), pair["cmp_key"]])


if __name__ == "__main__":
    main(Path(sys.argv[1]))
