"""What the test set shares with the training data: same content, same or nearly the same text, same customer or document."""

from __future__ import annotations

import hashlib
import unicodedata
from dataclasses import dataclass

import numpy as np

from analysis.inputs import Input

from .systems import TestSet, Texts

RUN, ALIKE, PERMUTATIONS = 3, 0.8, 128


@dataclass(frozen=True, slots=True, kw_only=True)
class Overlap:
    """Items of the test set that the training data hold, by what they share.

    ``checked`` are items that have the field, ``shared`` those found in training; None where a side lacks the field.
    """

    by: str
    checked: int | None
    shared: int | None
    examples: tuple[str, ...]
    reason: str


def overlaps(test_set: TestSet, training: Input | None) -> list[Overlap]:
    """Shared digests, normalised texts and groups."""
    columns = {"digest": test_set.hashes, "text": test_set.texts, "group": test_set.groups}
    sources = {"digest": "item_hash", "text": "text", "group": "group"}
    out = []
    for by, own in columns.items():
        if training is None:
            out.append(_none(by, "no training data were given"))
        elif own is None or sources[by] not in training.frame:
            out.append(_none(by, f"{sources[by]} is not in both items and training"))
        else:
            seen = {_form(by, text) for text in training.frame[sources[by]] if text}
            hit = np.array([bool(text) and _form(by, text) in seen for text in own])
            names = tuple(str(item) for item in test_set.main.items[hit][:5])
            checked = int(sum(bool(text) for text in own))
            out.append(Overlap(by=by, checked=checked, shared=int(hit.sum()), examples=names, reason=""))
    return [*out, _near(test_set, training)]


def _near(test_set: TestSet, training: Input | None) -> Overlap:
    """Items with a training text whose runs of words are nearly theirs: found by MinHash, confirmed exactly."""
    by = f"text, nearly (Jaccard {ALIKE:g} of runs of {RUN} words)"
    if training is None or test_set.texts is None or "text" not in training.frame:
        return _none(
            by, "no training data were given" if training is None else "text is not in both items and training"
        )
    from datasketch import MinHash, MinHashLSH  # noqa: PLC0415  (heavy, and seldom needed)

    def sketch(runs: frozenset[str]) -> MinHash:
        made = MinHash(num_perm=PERMUTATIONS)
        made.update_batch([run.encode() for run in sorted(runs)])
        return made

    own = {i: runs for i, text in enumerate(test_set.texts) if (runs := _runs(str(text)))}
    index = MinHashLSH(threshold=ALIKE, num_perm=PERMUTATIONS)
    for i, runs in own.items():
        index.insert(i, sketch(runs))
    hit: set[int] = set()
    for text in dict.fromkeys(training.frame["text"]):
        runs = _runs(text)
        if runs:
            hit |= {i for i in index.query(sketch(runs)) if len(runs & own[i]) >= ALIKE * len(runs | own[i])}
    names = tuple(str(test_set.main.items[i]) for i in sorted(hit)[:5])
    return Overlap(by=by, checked=len(own), shared=len(hit), examples=names, reason="")


def _runs(text: str) -> frozenset[str]:
    """Runs of words of the normalised text; a short text is one run."""
    words = normalised(text).split()
    return (
        frozenset(" ".join(words[i : i + RUN]) for i in range(max(1, len(words) - RUN + 1))) if words else frozenset()
    )


def content_digest(test_set: TestSet) -> str:
    """SHA-256 of the item ids with their content digests and texts, in the order of the items."""
    nothing: Texts = np.full(len(test_set.main.items), "", dtype=object)
    hashes = nothing if test_set.hashes is None else test_set.hashes
    texts = nothing if test_set.texts is None else test_set.texts
    lines = [
        f"{item}\x1f{digest}\x1f{text}\n" for item, digest, text in zip(test_set.main.items, hashes, texts, strict=True)
    ]
    return hashlib.sha256("".join(lines).encode("utf-8", "surrogatepass")).hexdigest()


def normalised(text: str) -> str:
    """Text without case, marks and runs of blanks, so that copies are told.

    >>> normalised("Straße,  A-1!")
    'strasse a 1'
    """
    folded = unicodedata.normalize("NFKD", text).casefold()
    return " ".join("".join(ch if ch.isalnum() else " " for ch in folded if not unicodedata.combining(ch)).split())


def _form(by: str, text: str) -> str:
    return normalised(text) if by == "text" else text


def _none(by: str, reason: str) -> Overlap:
    return Overlap(by=by, checked=None, shared=None, examples=(), reason=reason)
