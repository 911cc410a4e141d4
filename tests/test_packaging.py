"""What the wheel carries: everything that the command needs outside a checkout, and nothing else."""

import json
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from analysis.catalogue import STUDIES

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (path,) = folder.glob("gatebook-*.whl")
    return path


@pytest.fixture(scope="module")
def names(wheel):
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def tracked(folder):
    return {path.relative_to(ROOT).as_posix() for path in (ROOT / folder).rglob("*") if path.is_file()}


def test_notebooks_templates_data_and_settings_travel_with_the_package(names):
    for folder in ("notebooks", "templates", "data"):
        expected = {name for name in tracked(folder) if "__pycache__" not in name and ".ipynb_checkpoints" not in name}
        assert {f"analysis/_share/{name}" for name in expected} <= names
    assert "analysis/_share/_quarto.yml" in names
    for study in STUDIES:
        assert f"analysis/_share/notebooks/{study.notebook}" in names


def test_every_module_and_schema_is_there(names):
    sources = {name for name in tracked("analysis") if name.endswith((".py", ".json", ".typed"))}
    assert sources <= names


def test_nothing_else_is_there(names):
    outside = {name for name in names if not name.startswith("analysis/") and ".dist-info/" not in name}
    assert outside == set()
    assert [name for name in names if "tests/" in name or "__pycache__" in name or name.endswith(".pyc")] == []
    assert [name for name in names if "/reports/" in name or "checkpoint" in name] == []


def test_a_plain_install_stays_light(wheel, names):
    with zipfile.ZipFile(wheel) as archive:
        metadata = archive.read(next(name for name in names if name.endswith("/METADATA"))).decode()
    needed = [line for line in metadata.splitlines() if line.startswith("Requires-Dist: ")]
    always = {re.split(r"[ <>=!~;\[]", line.split(": ")[1])[0] for line in needed if "extra ==" not in line}
    assert always == {"click", "datasketch", "numpy", "pandas", "pydantic", "ruamel-yaml", "scipy"}
    assert any("papermill" in line and "extra == 'report'" in line for line in needed)


def test_the_command_works_from_the_wheel(wheel, tmp_path):
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
    script = (
        "import sys, json; sys.path.insert(0, sys.argv.pop(1))\n"
        "import analysis.study as study\n"
        "from analysis.catalogue import STUDIES\n"
        "folder = study.share_folder()\n"
        "found = [(folder / 'notebooks' / s.notebook).is_file() for s in STUDIES]\n"
        "found += [(folder / 'data' / 'examples' / p).is_file() for s in STUDIES for ps in s.example.values() for p in ps]\n"
        "print(json.dumps([str(folder), found]))"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", script, str(tmp_path / "site")],
        cwd=tmp_path,
        check=True,
        capture_output=True,
        text=True,
    )
    folder, found = json.loads(done.stdout)
    assert Path(folder) == tmp_path / "site" / "analysis" / "_share"
    assert found
    assert all(found)
