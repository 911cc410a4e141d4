"""What the test set shares with the training data: same content, same text, same customer, document or conversation."""

from __future__ import annotations

import hashlib
import unicodedata
from dataclasses import dataclass

import numpy as np

from analysis.inputs import Input

from .systems import TestSet, Texts


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
    return out


def content_digest(test_set: TestSet) -> str:
    """SHA-256 of the item ids with their content digests, in the order of the items."""
    contents: Texts = (
        test_set.hashes if test_set.hashes is not None else np.full(len(test_set.main.items), "", dtype=object)
    )
    lines = [f"{item}\x1f{content}\n" for item, content in zip(test_set.main.items, contents, strict=True)]
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
