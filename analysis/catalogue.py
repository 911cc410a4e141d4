"""The studies there are; a new study adds one line here."""

from __future__ import annotations

from analysis.errors import Fault, UsageError, close_match, plain
from analysis.studies import churn, fine_tune, recipe_card, tail_shape
from analysis.study import Study

STUDIES: tuple[Study, ...] = (recipe_card.STUDY, tail_shape.STUDY, churn.STUDY, fine_tune.STUDY)


def study(slug: str) -> Study:
    """The study of that name.

    Raises
    ------
    UsageError
        With the known names.
    """
    for known in STUDIES:
        if known.slug == slug:
            return known
    raise UsageError(
        Fault(what=f"no study {plain(repr(slug))}", fix=close_match(slug, [known.slug for known in STUDIES]) + ".")
    )
