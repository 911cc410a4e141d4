"""A judge's verdicts on a DPO fine-tune and its base: python data/mappings/mtbench_phi3_dpo.py FOLDER items|judgements > FILE.csv

One record holds the verdicts of both orders, the lengths of the first turn lie in a file per model. As items, an order is an
attempt: 1 for the winner, 1/2 each for a tie, nothing where the judge failed.
"""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path

BASE, TUNED = "phi-3", "phi-3-dpo"
WINNER = {"model_1": "A", "model_2": "B", "tie": "tie", "error": "fail"}
SCORES = {"A": (1, 0), "B": (0, 1), "tie": (0.5, 0.5), "fail": ("", "")}


def records(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def main(folder: Path, what: str) -> None:
    out = csv.writer(sys.stdout, lineterminator="\n")
    lengths = {
        model: {row["question_id"]: row["choices"][0]["turn_chars"][0] for row in records(folder / f"{model}.jsonl")}
        for model in (BASE, TUNED)
    }
    names = {"items": ["model", "item_id", "attempt", "value", "output_chars"]}
    out.writerow(names.get(what, ["item_id", "order", "winner", "judge", "len_a", "len_b"]))
    for row in records(folder / "gpt-4_pair.jsonl"):
        item = row["question_id"]
        for order, field in (("AB", "g1_winner"), ("BA", "g2_winner")):
            winner = WINNER[row[field]]
            if what == "items":
                for model, score in zip((BASE, TUNED), SCORES[winner], strict=True):
                    out.writerow([model, item, order, score, lengths[model][item]])
            else:
                out.writerow([item, order, winner, "gpt-4", lengths[BASE][item], lengths[TUNED][item]])


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
