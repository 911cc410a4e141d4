"""The README says what there is: every command stands in it, and its examples run."""

from __future__ import annotations

import csv
import re
import subprocess
import sys
from pathlib import Path

import pytest

from analysis.cli import COMMANDS
from analysis.cli.options import ask
from analysis.errors import InputError
from analysis.pipeline.manifest import load
from analysis.studies.churn import schemas as churn
from analysis.studies.fine_tune import schemas as fine_tune
from analysis.studies.recipe_card.cells import COUNTS, RUNS
from analysis.studies.tail_shape.scores import SCORES
from data.examples import make
from tests.conftest import EXAMPLE, ROOT
from tests.readers import logs

README = (ROOT / "README.md").read_text(encoding="utf-8")
DICTIONARY = (ROOT / "data" / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_is_in_the_readme(command: str) -> None:
    assert f"gatebook {command}" in README


SCHEMAS = (RUNS, COUNTS, SCORES, churn.ATTEMPTS, churn.COUNTS, churn.GREEDY)
SCHEMAS += (fine_tune.ITEMS, fine_tune.SUITES, fine_tune.JUDGEMENTS, fine_tune.HUMAN, fine_tune.TRAINING)


@pytest.mark.parametrize("column", [c.name for schema in SCHEMAS for c in schema.columns])
def test_every_column_is_in_the_dictionary(column: str) -> None:
    assert f"`{column}`" in DICTIONARY


@pytest.mark.parametrize("number", range(len(blocks("python"))))
def test_python_in_the_readme_runs(number: int) -> None:
    command = [sys.executable, "-W", "error", "-c", blocks("python")[number]]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_csv_of_the_readme_is_accepted(tmp_path: Path) -> None:
    path = tmp_path / "runs.csv"
    path.write_text(blocks("csv")[0], encoding="utf-8")
    assert ask("recipe-card", [str(path)], [], ["tau=0.8"], [], None, None).result.gate.verdict == "undecided"


def test_the_params_file_of_the_readme_is_accepted(tmp_path: Path) -> None:
    mapping = tmp_path / "params.yml"
    mapping.write_text(blocks("yaml")[1], encoding="utf-8")
    data = tmp_path / "triples.json"
    data.write_text('[[0.93, 0.91, "cnn"], [0.94, 0.90, "cnn"]]', encoding="utf-8")
    result = ask("recipe-card", [str(data)], [], [], [str(mapping)], None, None).result
    assert [(u.audit, u.n) for u in result.units] == [("calibration", 2), ("target", 2)]


def test_the_manifest_of_the_readme_is_accepted(tmp_path: Path) -> None:
    for name in ("suites.csv", "runs/small.csv", "runs/large.csv", "logs/nightly/a.csv"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("a\n1\n", encoding="utf-8")
    (tmp_path / "pairs.csv").write_text("pair\na\nb\n", encoding="utf-8")
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / "fine-tune.yml").write_bytes((ROOT / "data" / "rules" / "fine_tune.yml").read_bytes())
    (tmp_path / "reports.yml").write_text(blocks("yaml")[2], encoding="utf-8")
    assert [job.key for job in load(tmp_path / "reports.yml")] == [
        "fine-tune/nightly",
        "recipe-card/recipes-model-small-tau-0.8",
        "recipe-card/recipes-model-large-tau-0.8",
        "recipe-card/recipes-model-large-tau-0.85",
        "churn/everything-pair-a",
        "churn/everything-pair-b",
    ]


def test_the_choices_of_the_readme_are_accepted(tmp_path: Path) -> None:
    choices = tmp_path / "choices.yml"
    choices.write_text(blocks("yaml")[0], encoding="utf-8")
    for model in ("a", "b"):
        samples = [logs.sample(i, kept="strict-match", exact_match="P" if i else 1.0) for i in range(4)]
        samples = [sample | {"filter": "strict-match"} for sample in samples]
        logs.harness(tmp_path / "logs" / model, samples, {}, model=model)
    options = ["candidate=b", "metric=exact_match,strict-match"]
    maps = ["cluster=task"]  # the log of the example has no passages
    inputs = ask("fine-tune", [f"items={tmp_path / 'logs'}"], maps, options, [str(choices)], None, None).inputs
    assert inputs["items"].frame["value"].tolist() == [1.0, 0.5, 0.5, 0.5] * 2


def test_the_readme_shows_a_real_picture() -> None:
    for name in re.findall(r"!\[[^\]]+\]\(([^)]+)\)", README):
        assert (ROOT / name).read_bytes().startswith(b"\x89PNG")


def test_the_example_is_what_its_script_makes(tmp_path: Path) -> None:
    make.main(tmp_path)
    made = sorted(path for path in EXAMPLE.parent.rglob("*") if path.suffix in {".csv", ".gz"})
    assert len(made) == 13
    for path in made:
        assert (tmp_path / path.relative_to(EXAMPLE.parent)).read_bytes() == path.read_bytes()


def test_the_published_counts_are_the_papers() -> None:
    # recipe-cards paper: Table 2 has 3 × 4 cells of 59, Table 3 five pairs of 29
    with (EXAMPLE / "published_counts.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert sorted(row["n"] for row in rows) == ["29"] * 10 + ["59"] * 12
    assert [int(row["k"]) for row in rows if row["model"] == "RoBERTa-base"] == [0, 24, 30, 46]


def test_no_file_names_a_machine_or_a_registry() -> None:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("not a git checkout")
    registry = re.compile(r"pypi\.org|pythonhosted|registry\.npmjs|deb\.debian|find-links|index-url")
    own = Path(__file__).name
    for name in listed.stdout.split():
        path = ROOT / name
        if path.suffix in {".png", ".ipynb", ".gz", ".npz"} or path.name == own or not path.exists():
            continue
        assert not registry.search(path.read_text(encoding="utf-8")), name


def test_unmapped_columns_are_never_guessed(tmp_path: Path) -> None:
    path = tmp_path / "runs.csv"
    path.write_text("model,budget,run_id,accuracy\nm,5,1,0.9\n", encoding="utf-8")
    with pytest.raises(InputError, match="--map seed=run_id --map score=accuracy"):
        ask("recipe-card", [str(path)], [], [], [], None, None)
