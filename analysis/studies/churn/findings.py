"""What the published method says and what holds up, and what to know before believing the numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from analysis.present.format import level, number, plural, prob
from analysis.present.prose import listed
from analysis.present.table import Table
from analysis.sections import disputed_points, warnings_table
from analysis.stats import change_tests, item_power, samples_for_reliability

from .classes import NEARLY_ALL, POPULATIONS
from .parameters import Params
from .tables import name_of
from .versions import Greedy, Version, samples_of

if TYPE_CHECKING:
    from .decomposition import Decomposition

Row = tuple[str, str, str, str]
NOT_HERE = "greedy answers only: not evaluated"

# the paper's Llama pair (section A of the study): counts, errors and reliabilities as printed
PAPER_ITEMS, PAPER_ANALYSABLE, PAPER_K = 2000, 952, 10
PAPER_S_DIFF = 0.0852
UNCHANGED_FLAGGED = {0.5: 0.5034, 0.02: 0.0267}  # section C, rate of the item -> probability
PAPER_FLAGGED = {"SD of analysable items": (321, 270), "SD of all items": (220, 206)}
PAPER_MISSED, PAPER_CHANGED, PAPER_FALSE, PAPER_FLAGS, PAPER_UNCHANGED = 179, 426, 82, 329, 1571
PAPER_RELIABILITY = (0.9725, 0.966)
FEW_SAMPLES = 4


def what_holds_up(found: Decomposition | None) -> Table:
    """Every disputed point, what the paper says, what holds up, and what this report does."""
    return disputed_points((point(found) for point in POINTS), "churn decomposition")


def warnings(found: Decomposition | None, greedy: Greedy | None, params: Params) -> Table:
    """One row a warning."""
    rows: list[tuple[str, str, str]] = []
    if found is not None:
        for part in (_left_out, _samples, _repeats, _scores, _indices, _domains):
            rows += part(found)
    if greedy is not None:
        rows += _greedy(greedy, params)
    if found is not None and greedy is not None:
        rows += _greedy_apart(found, greedy)
    return warnings_table(rows)


def _two_errors(found: Decomposition | None) -> Row:
    flagged = {name: sum(counts) for name, counts in PAPER_FLAGGED.items()}
    first, second = flagged.values()
    here = NOT_HERE
    if found is not None:
        here = "; ".join(
            f"{index.name}: S_diff {number(index.s_diff)}, {index.flagged:,} items, {number(index.flagged / found.versions.n_items)} of all"
            for index in found.published
            if index.flagged is not None
        )
    return (
        "Two standard errors of a difference",
        f"S_diff {number(PAPER_S_DIFF)}; the abstract's shares of improved and deteriorated items "
        f"use it, while “79 % unchanged”, “21 % churn”, the median change of .50, the greedy shares and all figures use the SD of all items",
        f"the first reading flags {first:,} of {PAPER_ANALYSABLE:,} ({prob(first / PAPER_ANALYSABLE)}; {number(first / PAPER_ITEMS)} of all "
        f"items), the second {second:,} ({prob(second / PAPER_ANALYSABLE)}; {number(second / PAPER_ITEMS)})",
        here or "there is no published index here",
    )


def _populations(found: Decomposition | None) -> Row:
    here = NOT_HERE
    if found is not None:
        here = "; ".join(
            f"{POPULATIONS[name]}: {number(index.s_diff)}"
            for name, index in found.corrected.items()
            if index.s_diff is not None
        )
        here = f"S_diff with both over the same items: {here}" if here else "no noise was measured"
    return (
        "Reliability of one population, SD of another",
        "reliability over all items, SD over the analysable ones",
        "all items hold many that never vary and make the reliability high; with both over the analysable items the paper's own pair has "
        "S_diff .154 to .165, nearly twice what is printed",
        here,
    )


def _noise(found: Decomposition | None) -> Row:
    here = NOT_HERE
    if found is not None:
        null = found.published[0].null
        here = (
            f"{number(null.mean, 3)} flags are expected when samples are dealt at random; {found.published[0].flagged:,} were observed"
            if null is not None
            else "there is no published index here"
        )
    return (
        "The empirical null",
        "the two version labels of an item are swapped",
        "a swap leaves the size of every change as it is, so the null flags as many items as were observed: it tests whether rises and "
        "falls are equally many, not noise. Dealing the samples themselves is the null of noise",
        here,
    )


def _flags(found: Decomposition | None) -> Row:
    here = NOT_HERE
    if found is not None:
        classes = found.classes
        here = (
            f"{classes.name} with the false discovery rate {number(found.params.fdr)}: {classes.flagged:,} items "
            f"({classes.improved:,} improved, {classes.deteriorated:,} deteriorated)"
        )
    return (
        "Items called changed",
        "an index beyond 1.96 is a reliable change at level .05",
        f"one S_diff for all items flags {prob(UNCHANGED_FLAGGED[0.5])} of the unchanged items at .50 and {prob(UNCHANGED_FLAGGED[0.02])} at "
        ".02 (ten samples, changes from .2); an exact test of every item with a false discovery rate keeps its level, with few flags "
        "where samples are few",
        here,
    )


def _greedy_share(found: Decomposition | None) -> Row:
    here = "no greedy answers beside samples"
    if found is not None and found.crosses:
        cross = found.crosses[-1]
        here = (
            f"{cross.false_flags:,} of {cross.flags:,} greedy flags are false; {cross.false_flags:,} of {cross.unchanged:,} unchanged "
            f"items are flagged; {cross.missed:,} of {cross.changed:,} changed items are missed ({cross.rule} classes)"
        )
    return (
        "False flags of greedy answers",
        "greedy evaluation falsely flags 25 % of unchanged items",
        f"{PAPER_FALSE} of {PAPER_FLAGS} greedy flags are false ({prob(PAPER_FALSE / PAPER_FLAGS)} of the flags); of {PAPER_UNCHANGED:,} "
        f"unchanged items {prob(PAPER_FALSE / PAPER_UNCHANGED)} are flagged; {prob(PAPER_MISSED / PAPER_CHANGED)} of the changed items "
        "are missed, as printed",
        here,
    )


def _hypotheses(found: Decomposition | None) -> Row:
    return (
        "Hypotheses that failed",
        "the summary does not mention them",
        "by the first standard error most analysable items did change in both pairs, and the breadth ratio is above one half: H1 and H4 "
        "failed; by the second they do not fail in the Llama pair",
        "the table of hypotheses gives every one with its interval" if found is not None else NOT_HERE,
    )


def _samples_needed(found: Decomposition | None) -> Row:
    first, second = (samples_for_reliability(r, PAPER_K, target=0.9) for r in PAPER_RELIABILITY)
    fisher = float(change_tests([0], 3, [3], 3, test="fisher")[0])
    boschloo = float(change_tests([0], 3, [3], 3, test="boschloo")[0])
    power = item_power(0.5, 0.9, PAPER_K, PAPER_K, alpha=0.05, test="fisher")
    return (
        "Three samples suffice",
        "K ≥ 3",
        f"that is the reliability between items of one model ({first} samples from {number(PAPER_RELIABILITY[0])}, {second} from "
        f"{number(PAPER_RELIABILITY[1])}); one item that fell from 3 of 3 to 0 has p {prob(fisher)} by Fisher's test, {prob(boschloo)} by "
        f"Boschloo's, and ten samples find a rise from .50 to .90 with probability {prob(power)}",
        f"median samples per item: {_median(found.versions.baseline)} and {_median(found.versions.candidate)}"
        if found is not None
        else NOT_HERE,
    )


def _parser(found: Decomposition | None) -> Row:
    return (
        "Parsing",
        "the first letter A to J of the upper-cased reply is the answer",
        "“The answer is C” scores as H, and so does an unclosed <think>; in the paper's greedy files 82 of 4,000 replies are longer "
        "than a letter",
        "scores are taken as given: parsing is done before, and attempts that could not be parsed belong in status",
    )


def _difficulty(found: Decomposition | None) -> Row:
    return (
        "Difficulty",
        "all deteriorated items were easy ones",
        "in the paper's own figure items in the middle move both ways; an item near 0 cannot fall and one near 1 cannot rise, and regression to "
        "the mean does the rest",
        "the table by difficulty sets every bin beside samples dealt at random" if found is not None else NOT_HERE,
    )


def _selection(found: Decomposition | None) -> Row:
    here = NOT_HERE
    if found is not None:
        here = f"{plural(found.versions.n_items, 'item')}, {found.n_analysable:,} analysable; the headline and the budget count all of them"
    return (
        "Analysable items",
        "items at 0 or at 1 in both versions are dropped, shares are of the rest",
        "dropping them conditions on the outcome and makes every share larger",
        here,
    )


def _real(found: Decomposition | None) -> Row:
    here = NOT_HERE
    if found is not None:
        parts = [
            f"{POPULATIONS[name]}: RMS true change {number(change.rms, 3)}, signal {prob(change.signal)} of the variance"
            for name, change in found.spread.items()
            if change is not None and change.rms is not None and change.signal is not None
        ]
        here = "; ".join(parts) or "no true change beyond noise"
    return (
        "Churn in the aggregate",
        "read off the number of flagged items",
        "the variance of the observed changes less the noise of both versions is that of the true changes, whatever single items show; in "
        "the paper's pair .84 to .87 of the observed variance is signal",
        here,
    )


def _reversal(found: Decomposition | None) -> Row:
    here = NOT_HERE
    if found is not None:
        shown = [
            part.name for part in found.parts if part.p_adjusted is not None and part.p_adjusted <= found.params.alpha
        ]
        here = (
            f"domains with a change after Holm: {listed(shown, most=6)}" if found.parts else "the data name no domains"
        )
    return (
        "Domains that reverse",
        "opposite signs in two domains are a reversal",
        "every domain needs its own test, adjusted: in the public greedy files physics has 58 lost and 45 gained, exact p .24",
        here,
    )


POINTS: tuple[Callable[[Decomposition | None], Row], ...] = (
    _two_errors,
    _populations,
    _noise,
    _flags,
    _real,
    _selection,
    _difficulty,
    _greedy_share,
    _samples_needed,
    _reversal,
    _hypotheses,
    _parser,
)


def _left_out(found: Decomposition) -> Iterator[tuple[str, str, str]]:
    versions, params = found.versions, found.params
    pair = f"{versions.baseline.name}, {versions.candidate.name}"
    if versions.lost:
        what = "counted as wrong" if params.errors == "failure" else "left out"
        yield (
            "attempts without a score",
            pair,
            f"{versions.lost:,} {what} (errors {params.errors}); the table of missing scores has the bounds",
        )
    if versions.short:
        sentence = f"{plural(versions.short, 'item')} with fewer than {level(params.min_valid)} of the attempts scored, or under two: left out"
        yield "too few scored attempts", pair, sentence
    if versions.baseline_only or versions.candidate_only:
        sentence = f"{versions.baseline_only:,} only in {versions.baseline.name}, {versions.candidate_only:,} only in {versions.candidate.name}: left out"
        yield "items of one version only", pair, sentence
    if versions.other_models:
        yield "other models", listed(versions.other_models, most=6), "in the data, not compared"


def _samples(found: Decomposition) -> Iterator[tuple[str, str, str]]:
    pair = (found.versions.baseline, found.versions.candidate)
    for version in pair:
        if version.n.min() != version.n.max():
            yield (
                "samples differ between items",
                version.name,
                f"{samples_of(version)} per item; every item is tested with its own numbers, the index has one S_diff for all",
            )
        if np.median(version.n) < FEW_SAMPLES:
            yield (
                "few samples",
                version.name,
                f"{samples_of(version)} per item: the smallest p that one item can reach is {prob(found.classes.smallest)}; "
                "read the aggregate, not single items",
            )
    if np.median(pair[0].n) != np.median(pair[1].n):
        sentence = f"{samples_of(pair[0])} against {samples_of(pair[1])} per item"
        yield "samples differ between versions", f"{pair[0].name}, {pair[1].name}", sentence


def _repeats(found: Decomposition) -> Iterator[tuple[str, str, str]]:
    for version in (found.versions.baseline, found.versions.candidate):
        agree = version.agree(binary=found.versions.binary)
        if agree.mean() >= NEARLY_ALL:
            how = "every item" if agree.all() else f"{int(agree.sum()):,} of {plural(len(agree), 'item')}"
            yield (
                "identical repeats",
                version.name,
                f"all attempts of {how} agree, as temperature 0, a cache or very easy items make them; repeats of one answer measure once, and a "
                "test that counts them as samples is too sure",
            )


def _scores(found: Decomposition) -> Iterator[tuple[str, str, str]]:
    versions = found.versions
    if not versions.binary:
        yield (
            "graded scores",
            "all items",
            "items are tested by permuting their samples, counted exactly up to about twenty of them; the nulls of the index are drawn, the "
            "tests have none",
        )
    asked = [] if found.params.known_reliability else ["published readings"]
    asked += ["corrected index"] if found.params.reliability == "split-half" else []
    if versions.baseline.scores is None and asked:
        yield (
            "counts only",
            listed(asked),
            "there are no samples to split, so that the reliability is ICC(1,k) from the counts instead of split halves",
        )


def _indices(found: Decomposition) -> Iterator[tuple[str, str, str]]:
    for index in (*found.published, *found.corrected.values()):
        if index.problem:
            yield "no index", index.name, index.problem
    for index in found.corrected.values():
        for version, spread in zip((found.versions.baseline, found.versions.candidate), index.spreads, strict=True):
            if spread.reliability is not None and spread.reliability < 0:
                sentence = (
                    f"reliability {number(spread.reliability)}: the items differ less than chance would make them"
                )
                yield "negative reliability", f"{version.name}, {index.name}", sentence


def _domains(found: Decomposition) -> Iterator[tuple[str, str, str]]:
    single = [name_of(part) for part in found.parts if part.n == 1]
    if single:
        yield "one item in a domain", listed(single, most=6), "no interval and no test: nothing is said of it"
    flat = [name_of(part) for part in found.parts if part.n > 1 and part.interval is None]
    if flat:
        yield "changes that do not vary", listed(flat, most=6), "no interval and no test of the mean change"


def _greedy_apart(found: Decomposition, greedy: Greedy) -> Iterator[tuple[str, str, str]]:
    known = set(zip(found.versions.domains, found.versions.items, strict=True))
    shared = sum(key in known for key in zip(greedy.domains, greedy.items, strict=True))
    if shared < len(greedy.items):
        yield (
            "greedy answers of other items",
            "greedy",
            f"{shared:,} of {plural(len(greedy.items), 'item')} are among those compared; ids and domains must be the same in both",
        )


def _greedy(greedy: Greedy, params: Params) -> Iterator[tuple[str, str, str]]:
    if greedy.lost:
        what = "counted as wrong" if params.errors == "failure" else "left out"
        yield "greedy answers without a score", "greedy", f"{greedy.lost:,} {what} (errors {params.errors})"
    if greedy.only_one:
        yield "greedy answers of one version only", "greedy", f"{plural(greedy.only_one, 'item')} left out"


def _median(version: Version) -> str:
    return number(float(np.median(version.n)))
