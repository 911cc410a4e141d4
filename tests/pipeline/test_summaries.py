"""Summaries of a batch: counts, XML that any reader takes, Markdown that holds no markup of the data."""

import json
from pathlib import Path
from xml.etree import ElementTree

from analysis.pipeline import summaries
from analysis.pipeline.batch import STATUSES, Outcome
from analysis.results import dumps

OUT = Path("reports")
HOSTILE = "a|b <img src=x onerror=alert(1)> \x00\x1b[31m \ufffe\uffff ]]> & \"'\n# head"


def outcome(status="ok", verdict=None, label="r0", **more):
    return Outcome(
        study="recipe-card",
        label=label,
        status=status,
        verdict=verdict,
        folder=OUT / "recipe-card" / "r0",
        gated=True,
        **more,
    )


EVERY = [outcome(status, "pass" if status in {"ok", "cached"} else None, label=status) for status in STATUSES]


def test_every_status_is_counted():
    assert summaries.counts(EVERY) == dict.fromkeys(STATUSES, 1)
    held = summaries.as_json(EVERY, seconds=1.0, out=OUT)
    assert [one["status"] for one in held["reports"]] == list(STATUSES)
    assert json.loads(dumps(held)) == held


def test_junit_tells_errors_failures_and_skips_apart():
    found = [*EVERY, outcome("ok", "refuse", label="refused"), outcome("ok", "undecided", label="open")]
    for gated, failures in ((False, 0), (True, 2)):
        suite = ElementTree.fromstring(summaries.as_junit(found, seconds=1.5, gated=gated))
        counts = {name: int(suite.get(name)) for name in ("tests", "errors", "failures", "skipped")}
        assert counts == {"tests": 10, "errors": 4, "failures": failures, "skipped": 2}
        assert sum(case.find("error") is not None for case in suite) == 4


def test_hostile_text_breaks_neither_xml_nor_markdown():
    found = [outcome("failed", label=HOSTILE, message=HOSTILE)]
    suite = ElementTree.fromstring(summaries.as_junit(found, seconds=1.0, gated=True))
    assert "onerror" in suite[0].get("name")
    text = summaries.as_markdown(found)
    row = text.splitlines()[4]
    assert row.startswith("| failed | – | recipe-card/a\\|b")
    assert "<img" not in text
    assert "\x1b" not in text
    assert len(text.splitlines()) == 5


def test_what_was_not_made_comes_first_and_long_tables_are_cut():
    found = [outcome("ok", "pass", label=f"r{i}") for i in range(300)] + [outcome("failed", label="bad", message="no")]
    text = summaries.as_markdown(found)
    assert text.splitlines()[4] == "| failed | – | recipe-card/bad | no |"
    assert text.splitlines()[-1] == "and 101 more, in summary.json."


def test_the_sentence_has_statuses_and_verdicts():
    found = [outcome("ok", "pass"), outcome("cached", "refuse"), outcome("timeout")]
    assert summaries.sentence(found) == "3 reports: 1 ok, 1 cached, 1 timeout; verdicts: 1 pass, 1 refuse"


def test_files_are_whole_or_not_there(tmp_path):
    found = [
        Outcome(study="churn", label="x", status="ok", verdict="pass", folder=tmp_path / "churn" / "x", gated=True)
    ]
    summaries.write(found, tmp_path, seconds=1.0, gated=False, suffix="-1-of-2")
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "junit-1-of-2.xml",
        "summary-1-of-2.json",
        "summary-1-of-2.md",
    ]
