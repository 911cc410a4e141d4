"""What several test files share: the real data sets and small tables of reruns."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from analysis import ONE_THREAD

os.environ.update(ONE_THREAD)  # before numpy is imported, as the command does

import pandas as pd
import pytest

ROOT = Path(__file__).resolve().parent.parent
EXAMPLE = ROOT / "data" / "examples" / "recipe_card"
MAPPINGS = ROOT / "data" / "mappings"
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder of real data sets; skipped without it, unless the run demands it."""
    folder = Path(os.environ.get("GATEBOOK_REAL_DATA", ROOT.parent / "shared" / "data" / "real"))
    if not folder.is_dir():
        if os.environ.get("GATEBOOK_REQUIRE_REAL") == "1":
            pytest.fail(f"GATEBOOK_REQUIRE_REAL=1, but {folder} is not there")
        pytest.skip("the real data sets are not here (GATEBOOK_REAL_DATA)")
    return folder


def reruns(model: str, scores: list[float | None], **columns: object) -> pd.DataFrame:
    """Reruns of one cell, seeds 0, 1, 2 …"""
    return pd.DataFrame({"model": model, "budget": 500, "seed": range(len(scores)), "score": scores, **columns})


def collapsed(model: str, failures: int, runs: int, **columns: object) -> pd.DataFrame:
    """Reruns of one cell of which ``failures`` score .5 and the others .9."""
    return reruns(model, [0.5] * failures + [0.9] * (runs - failures), **columns)
