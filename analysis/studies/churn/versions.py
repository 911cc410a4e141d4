"""From tables of attempts, counts or greedy answers to two versions on the same items, every loss counted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from analysis.errors import Fault, InputError, ParameterError, close_match, natural_key, plain, raise_all
from analysis.inputs import Input
from analysis.present.format import plural
from analysis.present.prose import listed

from .parameters import Params

Floats = npt.NDArray[np.float64]
Whole = npt.NDArray[np.int64]
Texts = npt.NDArray[np.object_]
Rows = npt.NDArray[np.bool_]
Directions = npt.NDArray[np.int8]

GREEDY_ATTEMPT = "greedy"
LEAST_SAMPLES = 2  # for a spread within an item
MISSING_AS = {"exclude": np.nan, "failure": 0.0}


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """The samples of one version on the compared items, arrays over items.

    Attributes
    ----------
    total, n
        Sum of the scores and number of scored samples; ``total`` is whole for correct-or-not scores.
    scores
        Shape (items, most attempts), NaN where there is none; None when only counts were given.
    unscored
        Shape of ``scores``, attempts that had no score, whatever stands for it now.
    """

    name: str
    total: Floats
    n: Whole
    scores: Floats | None
    unscored: Rows | None

    @property
    def p(self) -> Floats:
        """Mean score of every item."""
        return self.total / self.n

    @property
    def missing(self) -> int:
        """Attempts that had no score."""
        return 0 if self.unscored is None else int(self.unscored.sum())

    def agree(self, *, binary: bool) -> Rows:
        """Items whose samples all have the same score."""
        if binary or self.scores is None:
            return (self.total == 0) | (self.total == self.n)
        return np.asarray(np.nanmax(self.scores, axis=1) == np.nanmin(self.scores, axis=1))

    def taken(self, rows: Rows) -> Version:
        """The same version on some of the items."""
        return Version(
            name=self.name,
            total=self.total[rows],
            n=self.n[rows],
            scores=None if self.scores is None else self.scores[rows],
            unscored=None if self.unscored is None else self.unscored[rows],
        )

    def with_missing_as(self, value: float) -> Version:
        """The same version with one score for every attempt that had none; NaN leaves them out."""
        if self.scores is None or self.unscored is None:
            return self
        return _version(self.name, np.where(self.unscored, value, self.scores), self.unscored)


@dataclass(frozen=True, slots=True, kw_only=True)
class Greedy:
    """One answer per item and version: scores of the items that both versions answered.

    ``items`` and ``domains`` name them, ``only_one`` counts items that one version lacks, ``lost`` answers without a score.
    """

    items: Texts
    domains: Texts
    before: Floats
    after: Floats
    only_one: int
    lost: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Versions:
    """Two versions on the items that both have enough samples of, items in the order of domain and id.

    Attributes
    ----------
    binary
        Whether every score is 0 or 1.
    lost
        Rows without a score, whatever became of them.
    short
        Items with too few scored samples in a version, left out.
    baseline_only, candidate_only
        Items of one version, left out.
    other_models
        Models of the data that are not compared.
    matched, matched_domains
        Both versions on all items that both have, those left out too, attempts without a score left out; their domains.
    alone_domains
        Domain of every item that one version lacks.
    """

    items: Texts
    domains: Texts
    baseline: Version
    candidate: Version
    matched: tuple[Version, Version]
    matched_domains: Texts
    alone_domains: Texts
    binary: bool
    lost: int
    short: int
    baseline_only: int
    candidate_only: int
    other_models: tuple[str, ...]

    @property
    def n_items(self) -> int:
        """Items compared."""
        return len(self.items)

    @property
    def unmatched(self) -> int:
        """Items that one version lacks."""
        return self.baseline_only + self.candidate_only


def samples_of(version: Version) -> str:
    """Samples per item in words: one number, or the range."""
    low, high = int(version.n.min()), int(version.n.max())
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def collect(inputs: Mapping[str, Input], params: Params) -> tuple[Versions | None, Greedy | None]:
    """The two versions and their greedy answers, whichever were given.

    Raises
    ------
    InputError
        No input, attempts beside counts, one version only, one sample per item, items of one version (unless they are
        reported), or fewer than two comparable items.
    ParameterError
        A version that is not there.
    """
    given = [name for name in ("attempts", "counts", "greedy") if name in inputs]
    if not given:
        what = "no data: the samples of two versions are needed"
        raise InputError(Fault(what=what, fix="Give --data attempts=PATH, counts=PATH or greedy=PATH."))
    if "attempts" in inputs and "counts" in inputs:
        what = "attempts and counts are two forms of the same data"
        raise InputError(Fault(what=what, fix="Give one of them."))
    for name in given:
        _known_versions(inputs[name], params)
    versions, greedy = None, None
    if "counts" in inputs:
        versions = _from_counts(inputs["counts"], params)
    elif "attempts" in inputs:
        versions, greedy = _from_attempts(inputs["attempts"], params)
    if "greedy" in inputs:
        if greedy is not None:
            what = "greedy answers stand in attempts and in greedy"
            raise InputError(Fault(what=what, fix="Give them once."))
        greedy = _greedy(inputs["greedy"].frame, params)
    return versions, greedy


def _known_versions(given: Input, params: Params) -> None:
    models = sorted(set(given.frame["model"]))
    if len(models) == 1:
        raise InputError(
            Fault(
                file=given.name,
                what=f"one version only, {plain(models[0], width=60)}: what changed needs two on the same items",
                fix="Give the other version's samples of these items too; --data takes several files.",
            )
        )
    raise_all(
        ParameterError,
        (
            Fault(
                place=f"-p {role}",
                what=f"no model {plain(repr(name), width=60)} in {given.name}",
                fix=close_match(name, models) + f". Say which: -p {role}=NAME.",
            )
            for role, name in (("baseline", params.baseline), ("candidate", params.candidate))
            if name not in models
        ),
    )


def _from_attempts(given: Input, params: Params) -> tuple[Versions | None, Greedy | None]:
    frame = given.frame
    greedy_rows = (frame["attempt"].str.casefold() == GREEDY_ATTEMPT).to_numpy()
    compared = frame["model"].isin([params.baseline, params.candidate]).to_numpy()
    _once(given, greedy_rows & compared)
    frame = frame[compared]
    greedy = _greedy(frame[greedy_rows[compared]], params) if (greedy_rows & compared).any() else None
    rows = frame[~greedy_rows[compared]]
    if rows.empty:
        return None, greedy
    values, lost = _scores(rows)
    code, items, domains = _coded(rows)
    order = _natural_rank(rows["attempt"])
    found = {}
    attempted = {}
    for name in (params.baseline, params.candidate):
        mine = (rows["model"] == name).to_numpy()
        attempted[name] = np.bincount(code[mine], minlength=len(items))
        scores, unscored = _matrix(code[mine], order[mine], values[mine], attempted[name])
        found[name] = _version(name, scores, unscored).with_missing_as(MISSING_AS[params.errors])
    _two_samples(attempted, given, params)
    versions = _versions(
        params,
        items,
        domains,
        attempted,
        found,
        lost=lost,
        binary=bool(np.isin(values[~np.isnan(values)], (0.0, 1.0)).all()),
        others=tuple(sorted(set(given.frame["model"]) - {params.baseline, params.candidate})),
    )
    return versions, greedy


def _once(given: Input, rows: Rows) -> None:
    """Refuse two greedy answers of one version to one item, however the word is written."""
    frame = given.frame[rows]
    again = frame.duplicated([name for name in ("model", "domain", "item_id") if name in frame])
    if again.any():
        file, line = given.place(int(np.flatnonzero(rows)[again.to_numpy().argmax()]))
        what = "a second greedy answer of the same version to the same item"
        raise InputError(Fault(file=file, place=f"{line}, column attempt", what=what, fix="Keep one of them."))


def _from_counts(given: Input, params: Params) -> Versions:
    frame = given.frame
    k, n = frame["correct"].to_numpy(), frame["samples"].to_numpy()
    with np.errstate(invalid="ignore"):
        bad = ~((k <= n) & (k == np.floor(k)) & (n == np.floor(n)))
    faults = []
    for row in np.flatnonzero(bad):
        file, line = given.place(int(row))
        what = f"{k[row]:g} correct of {n[row]:g} samples"
        faults.append(Fault(file=file, place=line, what=what, fix="Both are whole, and correct is at most samples."))
    raise_all(InputError, faults)
    rows = frame[frame["model"].isin([params.baseline, params.candidate])]
    code, items, domains = _coded(rows)
    attempted, versions = {}, {}
    for name in (params.baseline, params.candidate):
        mine = (rows["model"] == name).to_numpy()
        samples, correct = np.zeros(len(items), dtype=np.int64), np.zeros(len(items))
        samples[code[mine]], correct[code[mine]] = rows["samples"][mine], rows["correct"][mine]
        attempted[name] = samples
        versions[name] = Version(name=name, total=correct, n=samples, scores=None, unscored=None)
    _two_samples(attempted, given, params)
    others = tuple(sorted(set(frame["model"]) - {params.baseline, params.candidate}))
    return _versions(params, items, domains, attempted, versions, lost=0, binary=True, others=others)


def _versions(
    params: Params,
    items: Texts,
    domains: Texts,
    attempted: Mapping[str, Whole],
    versions: Mapping[str, Version],
    *,
    lost: int,
    binary: bool,
    others: tuple[str, ...],
) -> Versions:
    """The items that both versions have enough samples of."""
    tried = [attempted[name] for name in (params.baseline, params.candidate)]
    here = [count > 0 for count in tried]
    alone = [here[0] & ~here[1], here[1] & ~here[0]]
    if (alone[0] | alone[1]).any() and params.unmatched == "refuse":
        raise InputError(_unmatched(items, domains, alone, params))
    both = here[0] & here[1]
    enough = (
        both & enough_samples(versions[params.baseline], params) & enough_samples(versions[params.candidate], params)
    )
    if both.sum() < 2:
        what = f"{plural(int(both.sum()), 'item')} with samples of both versions, and the comparison needs two"
        raise InputError(Fault(what=what, fix="Give samples of more items, the same in both versions."))
    if enough.sum() < 2:
        what = f"{plural(int(enough.sum()), 'item')} of {int(both.sum()):,} with enough scored samples in both versions"
        fix = f"Two items with {LEAST_SAMPLES} samples or more are needed; see errors and min_valid ({params.min_valid:g})."
        raise InputError(Fault(what=what, fix=fix))
    return Versions(
        items=items[enough],
        domains=domains[enough],
        baseline=versions[params.baseline].taken(enough),
        candidate=versions[params.candidate].taken(enough),
        matched=(
            versions[params.baseline].taken(both).with_missing_as(np.nan),
            versions[params.candidate].taken(both).with_missing_as(np.nan),
        ),
        matched_domains=domains[both],
        alone_domains=domains[alone[0] | alone[1]],
        binary=binary,
        lost=lost,
        short=int((both & ~enough).sum()),
        baseline_only=int(alone[0].sum()),
        candidate_only=int(alone[1].sum()),
        other_models=others,
    )


def enough_samples(version: Version, params: Params) -> Rows:
    """Items of which enough attempts have a score."""
    attempted = version.n.copy()
    if version.scores is not None and version.unscored is not None:
        attempted += (version.unscored & np.isnan(version.scores)).sum(axis=1)
    least = np.maximum(LEAST_SAMPLES, np.ceil(params.min_valid * attempted - 1e-9))
    return np.asarray(version.n >= least)


def _named(items: Texts, domains: Texts, rows: Rows) -> str:
    domain = domains[rows][0]
    return plain(items[rows][0], width=60) + (f" of {plain(domain, width=60)}" if domain else "")


def _unmatched(items: Texts, domains: Texts, alone: Sequence[Rows], params: Params) -> Fault:
    counts = [
        f"{plural(int(rows.sum()), 'item')} only in {plain(name, width=60)} (such as {_named(items, domains, rows)})"
        for rows, name in zip(alone, (params.baseline, params.candidate), strict=True)
        if rows.any()
    ]
    return Fault(
        what="items of one version only: " + " and ".join(counts),
        fix="Give both versions the same items, or say -p unmatched=report to leave these out, counted.",
    )


def _two_samples(attempted: Mapping[str, Whole], given: Input, params: Params) -> None:
    for name in (params.baseline, params.candidate):
        if attempted[name].max(initial=0) == 1:
            raise InputError(
                Fault(
                    file=given.name,
                    what=f"one sample per item in {plain(name, width=60)}: noise cannot be told from change",
                    fix="Sample every item again (10 times or more), give the answers as --data greedy=PATH for gains and losses "
                    "alone, or compare the versions pair by pair with the fine-tune study.",
                )
            )


def _scores(rows: pd.DataFrame) -> tuple[Floats, int]:
    """Scores with NaN where an attempt has none, and how many have none."""
    values = rows["value"].to_numpy(dtype=np.float64).copy()
    bad = np.isnan(values)
    if "status" in rows:
        bad |= ~rows["status"].isin(["", "scored"]).to_numpy()
    values[bad] = np.nan
    return values, int(bad.sum())


def _coded(rows: pd.DataFrame) -> tuple[npt.NDArray[np.intp], Texts, Texts]:
    """Item number of every row, and id and domain of every item; items in the order of domain and id."""
    names = pd.DataFrame({"domain": rows.get("domain", ""), "item": rows["item_id"]})
    distinct = names.drop_duplicates()
    place = np.lexsort([_natural_rank(distinct["item"]), _natural_rank(distinct["domain"])])
    distinct = distinct.iloc[place].reset_index(drop=True)
    number = pd.MultiIndex.from_frame(distinct).get_indexer(pd.MultiIndex.from_frame(names))
    return number, distinct["item"].to_numpy(dtype=object), distinct["domain"].to_numpy(dtype=object)


def _natural_rank(texts: pd.Series) -> npt.NDArray[np.intp]:
    """Rank of every text, numbers by size before words by letter; equal texts have equal ranks."""
    distinct = sorted(set(texts), key=natural_key)
    rank = {text: i for i, text in enumerate(distinct)}
    return np.fromiter((rank[text] for text in texts), dtype=np.intp, count=len(texts))


def _matrix(
    code: npt.NDArray[np.intp], order: npt.NDArray[np.intp], values: Floats, attempted: Whole
) -> tuple[Floats, Rows]:
    """Scores, and which attempts have none, by item and by place of the attempt among the item's attempts."""
    place = np.lexsort([order, code])
    first = np.cumsum(attempted) - attempted
    column = np.arange(len(code)) - first[code[place]]
    scores = np.full((len(attempted), int(attempted.max(initial=0))), np.nan)
    unscored = np.zeros(scores.shape, dtype=bool)
    scores[code[place], column] = values[place]
    unscored[code[place], column] = np.isnan(values[place])
    return scores, unscored


def _version(name: str, scores: Floats, unscored: Rows) -> Version:
    n = (~np.isnan(scores)).sum(axis=1)
    return Version(name=name, total=np.nansum(scores, axis=1), n=n, scores=scores, unscored=unscored)


def _greedy(frame: pd.DataFrame, params: Params) -> Greedy:
    rows = frame[frame["model"].isin([params.baseline, params.candidate])]
    values, lost = _scores(rows)
    values = np.where(np.isnan(values), MISSING_AS[params.errors], values)
    code, items, domains = _coded(rows)
    scores = np.full((2, len(items)), np.nan)
    here = np.zeros((2, len(items)), dtype=bool)
    for i, name in enumerate((params.baseline, params.candidate)):
        mine = (rows["model"] == name).to_numpy()
        scores[i, code[mine]], here[i, code[mine]] = values[mine], True
    kept = ~np.isnan(scores).any(axis=0)
    only_one = int((here[0] != here[1]).sum())
    if only_one and params.unmatched == "refuse":
        raise InputError(_unmatched(items, domains, [here[0] & ~here[1], here[1] & ~here[0]], params))
    if not kept.any():
        names = listed([plain(params.baseline), plain(params.candidate)])
        raise InputError(Fault(file="greedy", what=f"no item has an answer of both {names}"))
    return Greedy(
        items=items[kept],
        domains=domains[kept],
        before=scores[0, kept],
        after=scores[1, kept],
        only_one=only_one,
        lost=lost,
    )
