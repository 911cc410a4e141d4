"""Judges of pairs with an objective label: python data/mappings/judgebench_both_orders.py items|judgements|human FILE… > OUT.csv

A record holds a list of two verdicts, the second in terms of the swapped answers. As items, a judge passes where the votes of
both orders together point to the right answer (the rule of the source); a verdict that is missing is a failure of the judge.
"""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path

WINNERS = ({"A>B": "A", "B>A": "B", "A=B": "tie", None: "fail"}, {"A>B": "B", "B>A": "A", "A=B": "tie", None: "fail"})
VOTE = {"A": -1, "B": 1}
NAMES = {
    "items": ["model", "item_id", "value", "slice.source"],
    "judgements": ["item_id", "order", "winner", "judge", "len_a", "len_b"],
    "human": ["item_id", "winner"],
}


def main(what: str, paths: list[Path]) -> None:
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(NAMES[what])
    for path in paths:
        judge = path.stem.rsplit("judge_model=", 1)[1]
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            item, label = row["pair_id"], WINNERS[0][row["label"]]
            verdicts = [names[vote["decision"]] for names, vote in zip(WINNERS, row["judgments"], strict=True)]
            if what == "items":
                votes = sum(VOTE.get(verdict, 0) for verdict in verdicts)
                out.writerow([judge, item, int(votes * VOTE[label] > 0), row["source"]])
            elif what == "human":
                out.writerow([item, label])
            else:
                for order, verdict in zip(("AB", "BA"), verdicts, strict=True):
                    out.writerow([item, order, verdict, judge, row["response_A_chars"], row["response_B_chars"]])


if __name__ == "__main__":
    main(sys.argv[1], [Path(name) for name in sys.argv[2:]])
