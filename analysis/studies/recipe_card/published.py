"""What the paper printed: the taxonomy of its Table 4 and the counts of its Table 1, beside which ours are shown."""

from __future__ import annotations

RELEASE_RULES = (
    ("mean", 27, 15, 0.480),
    ("median", 27, 15, 0.483),
    ("bootstrap_lcl", 27, 15, 0.457),
    ("mean_2sd", 11, 0, 0.043),
    ("card", 9, 0, 0.006),
)
"""Table 1: rule, cells shipped of 36, of those over budget, Pr[over budget | ship]."""

ARTIFACTS = (
    ("Model cards", "checkpoint", "static metrics and text", "descriptive only"),
    ("Transferability", "model–task pair", "relative score", "ranking"),
    ("Conformal / PAC prediction sets", "single query", "set coverage", "at inference"),
    ("Conformal risk control", "risk functional", "loss interval", "mean loss"),
    ("Selective classification", "single query", "abstention", "per query"),
    ("Recipe cards", "recipe cell", "bound on the rerun failure rate", "gates a release"),
)
"""Table 4: artifact family, evaluation unit, output quantity, release gating."""

CELLS, RERUNS, MODELS, TARGET_RERUNS = 36, 59, 11, 29
OVER_BUDGET_COUNT = 8
TRANSFERS_CLAIMED, TRANSFERS_PRINTED, TRANSFERS_REFUSED = 6, 5, 4
COLLAPSE = (0.968, 0.50)
"""Figure 1: the working mode and the score of a collapsed rerun."""
COLLAPSED = 11
"""Figure 1: RoBERTa-large at n = 2000, collapsed reruns of 59 that its mean implies."""
BUDGET, DELTA, CHANCE, TAU = 0.10, 0.10, 0.50, 0.70
MEAN_RULE_SHARE = 0.480
"""Abstract: how often the mean rule violates the budget."""
