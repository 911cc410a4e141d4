"""Every silent failure of papermill, closed: tiny notebooks, one behaviour each."""

import ast
import contextlib
import datetime
import decimal
import json
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from nbformat import v4

from analysis.errors import ExecutionError, ParameterError
from analysis.pipeline.execute import declared, execute, parameterised
from analysis.session import open_report
from analysis.studies.recipe_card import STUDY, Params

KEY = "recipe-card/nightly"
TEXTS = {
    "quoted": "it's \"quoted\" '''thrice''' \\n \\ %s {x} $HOME",
    "lines": "first\nsecond\r\n\tthird",
    "emoji": "🙂 τ = हिन्दी \u202e \x1b[31m \x00",
}
JUMBLED_KERNEL = {"name": "my_env", "display_name": "Somebody else's Python", "language": "python"}


def code(source, tag="", name=None):
    cell = v4.new_code_cell(source, metadata={"tags": [tag]} if tag else {})
    if name:
        cell["id"] = name
    return cell


def notebook(*sources, parameters="x: int = 1  # a number"):
    cells = [code(source, name=f"step-{number}") for number, source in enumerate(sources, start=1)]
    return v4.new_notebook(cells=[code(parameters, "parameters", "parameters"), *cells])


def run(folder, *sources, timeout=60):
    filled = parameterised(notebook(*sources), {"x": 2}, "tiny.ipynb")
    return execute(filled, name=KEY, folder=folder, log=folder / "log.txt", timeout=timeout, progress=False)


def printed(executed):
    return [output.text for cell in executed.cells for output in cell.get("outputs", [])]


def injected(values, parameters):
    cells = parameterised(notebook(parameters=parameters), values, "tiny.ipynb").cells
    source = next(cell.source for cell in cells if "injected-parameters" in cell.metadata.get("tags", []))
    return {line.targets[0].id: ast.literal_eval(line.value) for line in ast.parse(source).body}


def running(pid):
    state = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False).stdout
    return bool(state.strip()) and not state.startswith("Z")


def gone(pid):
    for _ in range(50):
        if not running(pid):
            return True
        time.sleep(0.1)
    return False


@contextlib.contextmanager
def own_temporary_folder():
    with tempfile.TemporaryDirectory(prefix="gb") as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(tempfile, "tempdir", folder)
        yield Path(folder)


# ---- parameters, before any kernel starts


def test_an_unknown_parameter_is_refused_with_the_one_that_was_meant():
    with pytest.raises(ParameterError, match=r"unknown parameter 'treshold'.*threshold"):
        parameterised(notebook(parameters="threshold: float = 0.5"), {"treshold": 0.7}, "tiny.ipynb")


def test_all_bad_parameters_are_named_at_once():
    with pytest.raises(ParameterError, match=r"(?s)'y'.*'z'.*x: \(1, 2\)"):
        parameterised(notebook(), {"y": 1, "z": 2, "x": (1, 2)}, "tiny.ipynb")


def test_a_notebook_without_a_parameters_cell_is_refused():
    with pytest.raises(ExecutionError, match=r"tiny\.ipynb: no cell is tagged `parameters`"):
        parameterised(v4.new_notebook(cells=[code("x = 1")]), {"x": 2}, "tiny.ipynb")


def test_two_parameters_cells_are_refused():
    doubled = notebook()
    doubled.cells.append(code("x: int = 3", "parameters"))
    with pytest.raises(ExecutionError, match="2 cells are tagged `parameters`"):
        parameterised(doubled, {"x": 2}, "tiny.ipynb")


@pytest.mark.parametrize(
    "line",
    ["y: float = x / 2", "y: str = str(1)", "y = 1", "y: int", "import os", "y: dict = {[]: 1}", "y: str = f'{x}'"],
)
def test_a_default_that_is_not_a_literal_names_its_line(line):
    with pytest.raises(ExecutionError, match=r"tiny\.ipynb, parameters cell, line 3: .* is not `name: type = literal`"):
        declared(notebook(parameters=f"x: int = 1\n# a comment\n{line}"), "tiny.ipynb")


def test_a_parameters_cell_that_is_not_python_names_its_line():
    with pytest.raises(ExecutionError, match=r"tiny\.ipynb, parameters cell, line 2: .*%matplotlib"):
        declared(notebook(parameters="x: int = 1\n%matplotlib inline"), "tiny.ipynb")


def test_legal_python_in_the_parameters_cell_is_understood():
    source = "s: str = 'a=b'\nn: int | None = None\nd: dict[str, int] = {\n    'a': 1,\n}\nm: float = -1.5"
    assert declared(notebook(parameters=source), "tiny.ipynb").names == ("s", "n", "d", "m")


@pytest.mark.parametrize("name", ["x=1;import os", "x\nimport os", "x ", "__class__", "", "x#"])
def test_a_parameter_name_never_runs_as_code(name):
    with pytest.raises(ParameterError, match="unknown parameter"):
        parameterised(notebook(), {name: 1}, "tiny.ipynb")


@pytest.mark.parametrize("value", ['__import__("os")', "1; import os", '"\nimport os\n"', "{x}", "\\"])
def test_a_parameter_value_never_runs_as_code(value):
    assert injected({"s": value}, "s: str = ''") == {"s": value}


@pytest.mark.parametrize("value", ["1.10", "007", "12e4567", "NO", "1e-3", "true", "null", "2026-11-30", "", " "])
def test_text_that_looks_like_something_else_keeps_its_spelling(value):
    assert injected({"s": value}, "s: str = ''") == {"s": value}


@pytest.mark.parametrize("value", [1, 1.0, True, None, -0.5, 1e-300, 10**30, [], {}, [1, [2.0, {"a": None}]]])
def test_plain_values_arrive_with_their_type(value):
    arrived = injected({"v": value}, "v: object = None")["v"]
    assert repr(arrived) == repr(value)


@pytest.mark.parametrize(
    "value",
    [
        (1, 2),
        [(1, 2)],
        b"bytes",
        np.float64(0.5),
        np.int64(3),
        np.bool_(True),
        np.array([1]),
        Path("data.csv"),
        datetime.date(2026, 11, 30),
        decimal.Decimal("1.10"),
        {1: "a"},
        {"a": {2: "b"}},
        {1, 2},
        float("nan"),
        float("inf"),
        [float("-inf")],
    ],
    ids=repr,
)
def test_a_value_that_would_change_its_type_is_refused(value):
    with pytest.raises(ParameterError, match=r"v: .* would change its type"):
        parameterised(notebook(parameters="v: object = None"), {"v": value}, "tiny.ipynb")


def test_the_template_is_not_touched():
    template = notebook("x")
    before = json.dumps(template, default=str)
    parameterised(template, {"x": 2}, "tiny.ipynb")
    assert json.dumps(template, default=str) == before


def test_a_later_cell_that_overwrites_a_parameter_is_refused_when_the_result_is_saved(tmp_path):
    runs = tmp_path / "runs.csv"
    runs.write_text("model,budget,seed,score\n" + "".join(f"a,1,{i},0.9\n" for i in range(25)), encoding="utf-8")
    files = {
        "data": {"runs": [str(runs)]},
        "layouts": None,
        "rule": None,
        "label": None,
        "out_dir": str(tmp_path / "o"),
    }
    namespace = {**Params(splits=2).model_dump(), **files}
    session = open_report(STUDY, namespace)
    namespace["tau"] = 0.95
    with pytest.raises(ParameterError, match=r"a later cell changed tau from 0\.7 to 0\.95"):
        session.save(namespace)
    assert not (tmp_path / "o").exists()


# ---- one run with everything that can be seen from inside


FACTS = """
import json, os, sys
print(json.dumps({"python": sys.executable, "cwd": os.getcwd(), "x": x, "texts": [quoted, lines, emoji],
                  "unwritten": os.environ.get("PYTHONDONTWRITEBYTECODE")}))
"""


@pytest.fixture(scope="module")
def inside(tmp_path_factory):
    folder = tmp_path_factory.mktemp("report") / "{run} of {x:d} हिन्दी 'q' & more"
    folder.mkdir()
    texts = "\n".join(f"{name}: str = ''" for name in TEXTS)
    template = notebook(FACTS, "", parameters=f"x: int = 1\n{texts}")
    template.metadata["kernelspec"] = dict(JUMBLED_KERNEL)
    before = Path.cwd()
    with own_temporary_folder() as temporary:
        done = execute(
            parameterised(template, {"x": 2, **TEXTS}, "tiny.ipynb"),
            name=KEY,
            folder=folder,
            log=folder / "log.txt",
            timeout=60,
            progress=False,
        )
        left = [path.name for path in temporary.iterdir()]
    seen = json.loads(printed(done)[0])
    return {**seen, "folder": folder, "left": left, "moved": Path.cwd() != before, "notebook": done}


def test_the_kernel_is_this_interpreter_whatever_the_notebook_names(inside):
    assert inside["python"] == sys.executable


def test_the_working_directory_is_the_report_folder_and_ours_stays(inside):
    assert Path(inside["cwd"]) == inside["folder"].resolve()
    assert not inside["moved"]


def test_braces_in_a_path_are_part_of_the_path(inside):
    assert sorted(path.name for path in inside["folder"].iterdir()) == ["log.txt"]


def test_parameters_replace_their_defaults(inside):
    assert inside["x"] == 2


def test_text_arrives_unchanged(inside):
    assert inside["texts"] == list(TEXTS.values())


def test_no_socket_folder_is_left(inside):
    assert inside["left"] == []


def test_what_cells_print_is_in_the_log(inside):
    assert '"python"' in (inside["folder"] / "log.txt").read_text(encoding="utf-8")


def test_the_injected_cell_has_a_fixed_id(inside):
    assert [cell.id for cell in inside["notebook"].cells[:2]] == ["parameters", "injected-parameters"]


# ---- failures that look like success


@pytest.mark.parametrize("source", ["import sys; sys.exit(0)", "raise SystemExit", "import os; os._exit(0)"])
def test_leaving_early_is_a_failure(tmp_path, source):
    with pytest.raises(ExecutionError, match=rf"{KEY}, cell [34]"):
        run(tmp_path, source, "print('never')")


def test_an_error_names_the_report_the_cell_and_the_reason(tmp_path):
    with pytest.raises(ExecutionError, match=rf"{KEY}, cell 4: ZeroDivisionError: division by zero"):
        run(tmp_path, "x", "x / 0", "x")
    assert (tmp_path / "partial.ipynb").exists()


def test_a_failing_repr_is_a_failure(tmp_path):
    source = "class Table:\n    def _repr_html_(self):\n        raise ValueError('no table')\nTable()"
    with pytest.raises(ExecutionError, match=r"cell 3: ValueError: no table"):
        run(tmp_path, source)


def test_an_error_text_cannot_write_to_the_terminal(tmp_path):
    with pytest.raises(ExecutionError) as caught:
        run(tmp_path, r"raise ValueError('\x1b]0;owned\x07 \x1b[31mred')")
    assert "\x1b" not in caught.value.message()
    assert r"\x1b[31mred" in caught.value.message()


def test_a_hidden_package_is_said_in_words(tmp_path):
    (tmp_path / "analysis.py").write_text("", encoding="utf-8")
    with pytest.raises(ExecutionError, match="A folder or file named `analysis` hides the package"):
        run(tmp_path, "from analysis.studies import recipe_card")


def test_a_killed_kernel_names_the_report_and_the_cell(tmp_path):
    with pytest.raises(ExecutionError, match=rf"{KEY}, cell 3 \(step-1\): the kernel died.*memory"):
        run(tmp_path, "import os; os.kill(os.getpid(), 9)", "x")


def test_a_kernel_that_does_not_start_is_said(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(ExecutionError, match=rf"{KEY}: the kernel did not start: Kernel died"):
        run(tmp_path, "x")


def test_what_the_kernel_itself_complains_about_is_in_the_log_and_nowhere_else(tmp_path, capfd):
    run(tmp_path, "import sys; print('kernel noise', file=sys.__stderr__, flush=True)")
    assert capfd.readouterr() == ("", "")
    assert "kernel noise" in (tmp_path / "log.txt").read_text(encoding="utf-8")


# ---- the time limit


@pytest.fixture(scope="module")
def overdue(tmp_path_factory):
    folder = tmp_path_factory.mktemp("overdue")
    source = (
        "import pathlib, subprocess, time\n"
        "child = subprocess.Popen(['sleep', '600'])\n"
        "pathlib.Path('child').write_text(str(child.pid))\n"
        "time.sleep(60)"
    )
    started = time.monotonic()
    with own_temporary_folder() as temporary:
        with pytest.raises(ExecutionError) as caught:
            run(folder, "x", source, timeout=6)
        left = list(temporary.iterdir())
    return {
        "seconds": time.monotonic() - started,
        "message": caught.value.message(),
        "child": int((folder / "child").read_text(encoding="utf-8")),
        "left": left,
    }


def test_the_limit_of_the_whole_notebook_stops_it(overdue):
    assert overdue["seconds"] < 20


def test_the_message_names_the_limit_and_the_cell(overdue):
    assert overdue["message"].startswith(f"{KEY}, cell 4 (step-2): stopped after the time limit of 6 s.")


def test_a_child_process_does_not_survive_the_limit(overdue):
    assert gone(overdue["child"])


def test_a_stopped_run_leaves_no_sockets(overdue):
    assert overdue["left"] == []


def test_the_limit_holds_before_the_kernel_stands(tmp_path):
    started = time.monotonic()
    with pytest.raises(ExecutionError, match=r"before the first cell: stopped after the time limit of 0\.001 s"):
        run(tmp_path, "import time; time.sleep(60)", timeout=0.001)
    assert time.monotonic() - started < 20


def test_a_child_process_does_not_survive_a_run_that_ended_well(tmp_path):
    done = run(tmp_path, "import subprocess; print(subprocess.Popen(['sleep', '600']).pid)")
    assert gone(int(printed(done)[0]))


# ---- many at once


def descriptors():
    folder = Path("/proc/self/fd")
    return len(list(folder.iterdir())) if folder.is_dir() else 0


@pytest.fixture(scope="module")
def together(tmp_path_factory):
    root = tmp_path_factory.mktemp("together")

    def one(number):
        folder = root / str(number)
        folder.mkdir()
        done = run(folder, f"import os; print(os.path.basename(os.getcwd()), 'of {number}')", "print(x)")
        return printed(done), (folder / "log.txt").read_text(encoding="utf-8")

    before, opened = Path.cwd(), descriptors()
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(one, range(4)))
    return {"results": results, "moved": Path.cwd() != before, "leaked": descriptors() - opened}


def test_parallel_kernels_do_not_fight(together):
    assert [texts for texts, _ in together["results"]] == [[f"{n} of {n}\n", "2\n"] for n in range(4)]


def test_parallel_runs_do_not_move_the_caller(together):
    assert not together["moved"]


def test_parallel_runs_keep_their_logs_apart(together):
    for number, (_, log) in enumerate(together["results"]):
        assert f"{number} of {number}" in log
        assert log.count("Executing notebook with kernel") == 1


def test_runs_in_threads_leave_no_open_descriptors(together):
    assert together["leaked"] <= 1  # the client's own context is made once
