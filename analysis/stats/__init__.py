"""Statistics of Gatebook: numpy arrays in, numbers or small frozen results out.

Imports nothing of ours and no pandas, and only numpy and scipy.special when loaded.
"""

from analysis.stats.bars import largest_certifiable_bar, mean_shortfall
from analysis.stats.binomial import (
    budget_p_value,
    clopper_pearson_lower,
    clopper_pearson_upper,
    compare_rates,
    largest_passing,
    over_budget_count,
    release_supported,
    sample_floor,
    strongly_unsupported,
    wilson,
)
from analysis.stats.multiplicity import benjamini_hochberg, bonferroni, holm, rejects
from analysis.stats.operating import (
    PowerSize,
    certification_power,
    noise_floor,
    posterior_over_budget,
    reruns_for_power,
    two_point_two_sigma,
)
from analysis.stats.resampling import (
    grouped_bootstrap_below,
    ideal_bootstrap_below,
    ideal_bootstrap_quantile,
    keyed_stream,
    permutations,
)
from analysis.stats.sequential import (
    anytime_evidence,
    anytime_floor,
    anytime_upper,
    betting_upper,
    peeking_probability,
)
from analysis.stats.validation import RULES, HeldOut, hold_out, in_sample

__all__ = [
    "RULES",
    "HeldOut",
    "PowerSize",
    "anytime_evidence",
    "anytime_floor",
    "anytime_upper",
    "benjamini_hochberg",
    "betting_upper",
    "bonferroni",
    "budget_p_value",
    "certification_power",
    "clopper_pearson_lower",
    "clopper_pearson_upper",
    "compare_rates",
    "grouped_bootstrap_below",
    "hold_out",
    "holm",
    "ideal_bootstrap_below",
    "ideal_bootstrap_quantile",
    "in_sample",
    "keyed_stream",
    "largest_certifiable_bar",
    "largest_passing",
    "mean_shortfall",
    "noise_floor",
    "over_budget_count",
    "peeking_probability",
    "permutations",
    "posterior_over_budget",
    "rejects",
    "release_supported",
    "reruns_for_power",
    "sample_floor",
    "strongly_unsupported",
    "two_point_two_sigma",
    "wilson",
]
