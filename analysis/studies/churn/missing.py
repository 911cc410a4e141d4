"""What attempts without a score could make of the result: both policies, and the worst and the best they could hide."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analysis.stats import NetChange, analysable, benjamini_hochberg, net_change, rejects

from .classes import p_values
from .parameters import Params
from .versions import LEAST_SAMPLES, Floats, Texts, Version, Versions, enough_samples


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """Items, corrected classes and net change when attempts without a score stand for something; None without items."""

    name: str
    n: int
    improved: int
    deteriorated: int
    net: NetChange | None


def policies(versions: Versions, params: Params) -> tuple[Policy, ...]:
    """Exclude, failure, worst and best, over all items that both versions have; none where every attempt has a score."""
    one, two = versions.matched
    if not one.missing + two.missing:
        return ()
    kept = enough_samples(one, params) & enough_samples(two, params)
    return (
        _policy("is left out (exclude)", one.taken(kept), two.taken(kept), versions, params),
        _policy("is wrong (failure)", one.with_missing_as(0.0), two.with_missing_as(0.0), versions, params),
        worst(versions, params),
        _policy(
            "is wrong in the baseline, right in the candidate (best)",
            one.with_missing_as(0.0),
            two.with_missing_as(1.0),
            versions,
            params,
        ),
    )


def worst(versions: Versions, params: Params) -> Policy:
    """Every attempt without a score right in the baseline and wrong in the candidate."""
    one, two = versions.matched
    name = "is right in the baseline, wrong in the candidate (worst)"
    return _policy(name, one.with_missing_as(1.0), two.with_missing_as(0.0), versions, params)


def _policy(name: str, one: Version, two: Version, versions: Versions, params: Params) -> Policy:
    several = (one.n >= LEAST_SAMPLES) & (two.n >= LEAST_SAMPLES)
    one, two = one.taken(several), two.taken(several)
    if not one.n.size:
        return Policy(name=name, n=0, improved=0, deteriorated=0, net=None)
    rows = analysable(one.p, two.p)
    p, _ = p_values(one.taken(rows), two.taken(rows), params, binary=versions.binary)
    changed = (two.p - one.p)[rows][rejects(benjamini_hochberg(p), alpha=params.fdr)]
    return Policy(
        name=name,
        n=one.n.size,
        improved=int((changed > 0).sum()),
        deteriorated=int((changed < 0).sum()),
        net=net_change(one.p, two.p),
    )


def worst_means(versions: Versions) -> dict[str, float]:
    """Mean change of every domain when whatever was not measured speaks against the candidate, by domain."""
    one, two = (version.with_missing_as(value) for version, value in zip(versions.matched, (1.0, 0.0), strict=True))
    change: Floats = np.concatenate([two.p - one.p, np.full(len(versions.alone_domains), -1.0)])
    labels: Texts = np.concatenate([versions.matched_domains, versions.alone_domains])
    names, place = np.unique(labels.astype(str), return_inverse=True)
    means = np.bincount(place, change) / np.bincount(place)
    return dict(zip(names.tolist(), means.tolist(), strict=True))
