"""Statistics of Gatebook: numpy arrays in, numbers or small frozen results out.

Imports nothing of ours and no pandas, and only numpy and scipy.special when loaded.
"""

from analysis.stats.bars import largest_certifiable_bar
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
from analysis.stats.draws import percentile_interval, resample_counts
from analysis.stats.equivalence import (
    interval_level_for_non_overlap,
    mean_interval,
    minimum_effect,
    non_overlap_level,
    tost,
)
from analysis.stats.goodness import (
    GoodnessOfFit,
    anderson_darling_bootstrap,
    anderson_darling_gpd,
    cramer_von_mises_bootstrap,
    cramer_von_mises_gpd,
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
from analysis.stats.tail_bootstrap import bootstrap_gpd, refit_gpd
from analysis.stats.tail_risk import mean_excess, resampled_tvar, tail_items, tvar, tvar_from_fit, var_from_fit
from analysis.stats.tail_sizes import (
    effect_detectable,
    exceedances_for_non_overlap,
    exceedances_needed,
    prompts_needed,
    shape_difference_z,
    verdict_power,
)
from analysis.stats.tails import GpdFit, exceedances, fit_gpd, fit_pwm, fit_zhang_stephens, profile_interval
from analysis.stats.threshold_scan import ThresholdScan, ThresholdStability, scan_thresholds, threshold_stability
from analysis.stats.validation import RULES, HeldOut, hold_out, in_sample

__all__ = [
    "RULES",
    "GoodnessOfFit",
    "GpdFit",
    "HeldOut",
    "PowerSize",
    "ThresholdScan",
    "ThresholdStability",
    "anderson_darling_bootstrap",
    "anderson_darling_gpd",
    "anytime_evidence",
    "anytime_floor",
    "anytime_upper",
    "benjamini_hochberg",
    "betting_upper",
    "bonferroni",
    "bootstrap_gpd",
    "budget_p_value",
    "certification_power",
    "clopper_pearson_lower",
    "clopper_pearson_upper",
    "compare_rates",
    "cramer_von_mises_bootstrap",
    "cramer_von_mises_gpd",
    "effect_detectable",
    "exceedances",
    "exceedances_for_non_overlap",
    "exceedances_needed",
    "fit_gpd",
    "fit_pwm",
    "fit_zhang_stephens",
    "grouped_bootstrap_below",
    "hold_out",
    "holm",
    "ideal_bootstrap_below",
    "ideal_bootstrap_quantile",
    "in_sample",
    "interval_level_for_non_overlap",
    "keyed_stream",
    "largest_certifiable_bar",
    "largest_passing",
    "mean_excess",
    "mean_interval",
    "minimum_effect",
    "noise_floor",
    "non_overlap_level",
    "over_budget_count",
    "peeking_probability",
    "percentile_interval",
    "permutations",
    "posterior_over_budget",
    "profile_interval",
    "prompts_needed",
    "refit_gpd",
    "rejects",
    "release_supported",
    "reruns_for_power",
    "resample_counts",
    "resampled_tvar",
    "sample_floor",
    "scan_thresholds",
    "shape_difference_z",
    "strongly_unsupported",
    "tail_items",
    "threshold_stability",
    "tost",
    "tvar",
    "tvar_from_fit",
    "two_point_two_sigma",
    "var_from_fit",
    "verdict_power",
    "wilson",
]
