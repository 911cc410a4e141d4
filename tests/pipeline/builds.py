"""A project with a manifest and a short notebook, and the command on it as users start it: a process of its own."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from nbformat import v4, write

from analysis.session import parameters_source
from analysis.studies.recipe_card import STUDY

COMMAND = [str(Path(sys.executable).with_name("gatebook"))]
RUNS = "model,budget,seed,score\n" + "".join(f"{m},100,{i},{0.9 - 0.001 * i:.3f}\n" for m in "ab" for i in range(25))
APART = {"run.json", "log.txt"}
SETUP = (
    "from analysis.session import open_report\n"
    "from analysis.studies import recipe_card\n"
    "report = open_report(recipe_card.STUDY, globals())"
)


def notebook(*between, save=True):
    """The study's parameters, then ``between``, then its result; no charts, so that it takes half a second."""
    cells = [("parameters", parameters_source(STUDY)), ("setup", SETUP), ("headline", "report.headline")]
    cells += [(f"between-{number}", source) for number, source in enumerate(between, start=1)]
    cells += [("save", "report.save(globals())")] if save else []
    made = v4.new_notebook(cells=[v4.new_markdown_cell("# A report\n\nIn words.", id="title")])
    for name, source in cells:
        made.cells.append(v4.new_code_cell(source, id=name, metadata={"tags": [name]} if name == "parameters" else {}))
    return made


class Project:
    """A folder with ``reports.yml``, ``runs.csv`` and ``short.ipynb``."""

    def __init__(self, folder):
        self.folder = folder
        (folder / "runs.csv").write_text(RUNS, encoding="utf-8")
        self.write("short", notebook())

    def copied(self, folder):
        """A copy that nobody else works on, times of files included."""
        shutil.copytree(self.folder, folder, copy_function=shutil.copy2)
        other = Project.__new__(Project)
        other.folder = folder
        return other

    def write(self, name, made):
        write(made, self.folder / f"{name}.ipynb")

    def manifest(self, **reports):
        """``name="study: …"`` lines, or a number of short reports that differ in a parameter."""
        lines = [f"  {name}: {{study: recipe-card, {rest}}}" for name, rest in reports.items()]
        (self.folder / "reports.yml").write_text("reports:\n" + "\n".join(lines) + "\n", encoding="utf-8")
        return self

    def short(self, count, rest=""):
        """A manifest of ``count`` reports r0, r1 …"""
        return self.manifest(
            **{
                f"r{i}": f"data: runs.csv, notebook: short.ipynb, params: {{delta: 0.1{i + 1:02d}}}{rest}"
                for i in range(count)
            }
        )

    def start(self, *arguments, command="build", **options):
        return subprocess.Popen(
            [*COMMAND, command, *map(str, arguments)],
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **options.pop("env", {})},
            **options,
        )

    def run(self, *arguments, timeout=120, **options):
        """Exit code, stdout and stderr of a finished command."""
        with self.start(*arguments, **options) as process:
            try:
                out, err = process.communicate(timeout=timeout)
            except subprocess.TimeoutExpired:
                process.kill()
                raise
        return Left(process.returncode, out, err)

    def plan(self, *arguments):
        left = self.run("-n", "--json", *arguments)
        return json.loads(left.out)

    def summary(self):
        held = json.loads((self.folder / "reports" / "summary.json").read_text(encoding="utf-8"))
        return {one["label"]: one for one in held["reports"]}

    def statuses(self):
        return {label: one["status"] for label, one in self.summary().items()}

    def report(self, label):
        return self.folder / "reports" / "recipe-card" / label

    def bytes(self):
        """All bytes of all reports that may not differ between equal runs."""
        return files(self.folder / "reports" / "recipe-card")

    def leftovers(self):
        """Folders of reports that are neither complete nor a failure that says so."""
        return [
            path.name
            for path in (self.folder / "reports" / "recipe-card").glob("*")
            if path.name.startswith(".")
            or not (path / ("error.txt" if path.name.endswith(".failed") else "run.json")).exists()
        ]


class Left:
    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err

    def __repr__(self):
        return f"{self.code}\n--- out\n{self.out}\n--- err\n{self.err}"


def files(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name not in APART
    }
