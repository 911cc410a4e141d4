"""Run a notebook through papermill with its silent failures closed: what returns here ran to its end, as asked."""

from __future__ import annotations

import ast
import contextlib
import copy
import json
import logging
import math
import signal
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

import nbformat
import papermill
from jupyter_core.utils import ensure_event_loop
from nbclient.exceptions import CellTimeoutError, DeadKernelError
from papermill.exceptions import PapermillExecutionError
from papermill.iorw import load_notebook_node
from papermill.parameterize import parameterize_notebook

from analysis.errors import (
    ExecutionError,
    Fault,
    Incomplete,
    KernelDied,
    ParameterError,
    TimedOut,
    UsageError,
    close_match,
    plain,
    raise_all,
)
from analysis.pipeline import kernels
from analysis.pipeline.tags import INJECTED, PARAMETERS
from analysis.secrets import masked

PARTIAL = "partial.ipynb"  # what a run that failed had reached


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """The parameters cell: names in order, and where it stands."""

    names: tuple[str, ...]
    index: int


def read_notebook(path: Path) -> nbformat.NotebookNode:
    """A notebook as nbformat 4.5, with an id for every cell that is the same each time.

    Raises
    ------
    UsageError
        It is not there, or no notebook that can be run.
    """
    try:
        if path.exists() and not path.is_file():
            raise UsageError(Fault(file=str(path), what="is not a regular file"))
        held = json.loads(path.read_text(encoding="utf-8"))
        if held["nbformat"] != nbformat.current_nbformat:
            what = f"is of nbformat {plain(held['nbformat'], width=20)}"
            raise UsageError(Fault(file=path.name, what=what, fix="Open it in JupyterLab and save it."))
        ids = [cell.get("id") for cell in held["cells"]]
        for place, cell in enumerate(held["cells"]):
            if not isinstance(cell.get("id"), str) or ids.count(cell["id"]) > 1:
                cell["id"] = f"cell-{place}"
        held["nbformat_minor"] = nbformat.current_nbformat_minor
        notebook = nbformat.reads(json.dumps(held), as_version=nbformat.current_nbformat)
        nbformat.validate(notebook)
    except OSError as error:
        raise UsageError(Fault(file=str(path), what=f"cannot be read ({plain(error.strerror)})")) from error
    except UsageError:
        raise
    except Exception as error:
        reason = plain(str(error).partition("\n")[0], width=200)
        raise UsageError(Fault(file=path.name, what=f"is not a notebook ({reason})")) from error
    return notebook


def declared(notebook: nbformat.NotebookNode, name: str) -> Declared:
    """Read the parameters cell with ``ast``: one tagged cell of ``name: type = literal`` lines.

    Raises
    ------
    ExecutionError
        No tagged cell, two of them, or a line that is not a plain literal.
    """
    tagged = [i for i, cell in enumerate(notebook.cells) if PARAMETERS in cell.metadata.get("tags", [])]
    if len(tagged) != 1:
        what = "no cell is tagged `parameters`" if not tagged else f"{len(tagged)} cells are tagged `parameters`"
        raise ExecutionError(Fault(file=name, what=what, fix="Exactly one cell declares them."))
    source = notebook.cells[tagged[0]].source
    names, faults = [], []
    try:
        statements = ast.parse(source).body
    except SyntaxError as error:
        place = f"parameters cell, line {error.lineno}"
        what = f"{plain((error.text or '').strip(), width=60)} is not Python ({error.msg})"
        raise ExecutionError(Fault(file=name, place=place, what=what)) from error
    for statement in statements:
        target = getattr(statement, "target", None)
        value = getattr(statement, "value", None)
        if not isinstance(statement, ast.AnnAssign) or not isinstance(target, ast.Name) or not _is_literal(value):
            faults.append(
                Fault(
                    file=name,
                    place=f"parameters cell, line {statement.lineno}",
                    what=f"{plain(source.splitlines()[statement.lineno - 1], width=60)} is not `name: type = literal`",
                )
            )
        else:
            names.append(target.id)
    raise_all(ExecutionError, faults)
    return Declared(names=tuple(names), index=tagged[0])


def parameterised(notebook: nbformat.NotebookNode, values: Mapping[str, Any], name: str) -> nbformat.NotebookNode:
    """The notebook with ``values`` injected, each checked to arrive with the value and the type it was given.

    Raises
    ------
    ParameterError
        A name that is not declared, or a value that is not plain JSON.
    """
    known = declared(notebook, name).names
    faults = [
        Fault(what=f"unknown parameter {plain(repr(key))}", fix=close_match(str(key), known) + ".")
        for key in values
        if key not in known
    ]
    for key, value in values.items():
        if not _survives(value):
            faults.append(
                Fault(
                    place=str(key),
                    what=f"{plain(repr(value), width=60)} would change its type on the way into the notebook",
                    fix="Plain text, numbers, true/false, lists and objects with text keys arrive as they are.",
                )
            )
    raise_all(ParameterError, faults)
    prepared = load_notebook_node(copy.deepcopy(notebook))
    filled = parameterize_notebook(prepared, dict(values), kernel_name="python3", language="python")
    injected = next(cell for cell in filled.cells if INJECTED in cell.metadata.get("tags", []))
    injected["id"] = INJECTED
    arrived = {
        statement.targets[0].id: ast.literal_eval(statement.value) for statement in ast.parse(injected.source).body
    }
    if not _same(arrived, dict(values)):
        raise ParameterError(Fault(file=name, what="a parameter changed its value on the way into the notebook"))
    return filled


def execute(
    notebook: nbformat.NotebookNode,
    *,
    name: str,
    folder: Path,
    log: Path,
    timeout: float | None,
    cell_timeout: float | None = None,
    progress: bool,
    spare: kernels.Spare | None = None,
    hidden: Sequence[str] = (),
) -> nbformat.NotebookNode:
    """Run every cell in a fresh kernel of this interpreter, with ``folder`` as its working directory.

    Parameters
    ----------
    notebook
        With its parameters injected.
    name
        What messages call it: the report's key.
    log
        Gets papermill's log; the partial notebook of a failed run lies beside it.
    timeout, cell_timeout
        Seconds for the whole notebook and for each cell; None for no limit.
    progress
        Whether to draw a progress bar on stderr.
    spare
        A forked process that becomes the kernel; None to start one.
    hidden
        Values of secrets, which no message may hold.

    Returns
    -------
    NotebookNode
        Executed: every code cell has a count, none has an error.

    Raises
    ------
    ExecutionError
        Naming the report, the cell and the reason: an error, a dead kernel, a time limit, or a cell that never ran.
    """
    partial = folder / PARTIAL
    started = kernels.Started()
    late = threading.Event()

    def stop() -> None:
        late.set()
        started.kill()

    watchdog = threading.Timer(timeout or 0, stop)
    temporary = tempfile.TemporaryDirectory(prefix="gatebook-", ignore_cleanup_errors=True)
    with temporary as scratch, _logged(log) as noise, _own_loop():
        if timeout is not None:
            watchdog.start()
        try:
            done = papermill.execute_notebook(
                notebook,
                str(partial).replace("{", "{{").replace("}", "}}"),  # papermill formats its paths
                kernel_name="python3",
                progress_bar=progress,
                log_output=True,
                execution_timeout=None if cell_timeout is None else math.ceil(cell_timeout),
                shutdown_kernel="immediate",
                kernel_manager_class=kernels.manager(started, Path(scratch), noise, late, spare),
                resources={"metadata": {"path": str(folder)}},
            )
        except PapermillExecutionError as error:
            raise ExecutionError(_cell_fault(name, error, hidden)) from error
        except CellTimeoutError as error:
            raise TimedOut(_limit_fault(name, partial, f"a cell's time limit of {cell_timeout:g} s")) from error
        except RuntimeError as error:  # of the client: the kernel did not answer, or died
            if late.is_set():
                raise TimedOut(_limit_fault(name, partial, f"the time limit of {timeout:g} s")) from error
            if not isinstance(error, DeadKernelError):
                raise KernelDied(Fault(file=name, what=f"the kernel did not start: {plain(error)}")) from error
            raise KernelDied(_death_fault(name, partial, started)) from error
        finally:
            watchdog.cancel()
            started.kill()
    if late.is_set():
        raise TimedOut(_limit_fault(name, partial, f"the time limit of {timeout:g} s"))
    _complete(done, name)
    partial.unlink(missing_ok=True)
    return done


def _complete(notebook: nbformat.NotebookNode, name: str) -> None:
    """Trust no status: every code cell must have run, and none may hold an error."""
    for number, cell in enumerate(notebook.cells, start=1):
        if cell.cell_type != "code" or not cell.source.strip():
            continue
        failed = any(output.output_type == "error" for output in cell.outputs)
        if cell.execution_count is None or failed:
            what = "holds an error" if failed else "did not run, though the run ended as if it had"
            raise Incomplete(
                Fault(file=name, place=f"cell {number} ({cell.id})", what=what, fix="A cell may have left the kernel.")
            )


def _is_literal(value: ast.expr | None) -> bool:
    try:
        ast.literal_eval(value or ast.Name(id="missing"))
    except (ValueError, TypeError):
        return False
    return True


def _survives(value: Any) -> bool:
    try:
        return _same(json.loads(json.dumps(value, allow_nan=False)), value)
    except (TypeError, ValueError):
        return False


def _same(one: Any, other: Any) -> bool:
    """Equal in value and in type, all the way down; 1 is not 1.0 and not True."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(_same, one, other))
    return bool(one == other)


@contextlib.contextmanager
def _logged(log: Path) -> Iterator[TextIO]:
    """What papermill says in this thread goes into ``log``; runs in other threads have logs of their own."""
    logger = logging.getLogger("papermill")
    stream = log.open("a", encoding="utf-8")
    handler = logging.StreamHandler(stream)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    thread = threading.get_ident()
    handler.addFilter(lambda record: record.thread == thread)
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)  # and left there: another thread may still be logging
    logger.propagate = False  # or the root logger repeats it on the terminal
    try:
        yield stream
    finally:
        logger.removeHandler(handler)
        stream.close()


@contextlib.contextmanager
def _own_loop() -> Iterator[None]:
    """Close the event loop that the client makes for each thread, and with it two sockets; the main thread keeps its own.

    Whoever stops a run has its kernel killed under the client; what becomes of the client's last cell is then no news.
    """
    loop = ensure_event_loop()
    try:
        yield
    except (KeyboardInterrupt, SystemExit):
        if not loop.is_running():
            loop.set_exception_handler(lambda _loop, _context: None)
        raise
    finally:
        if threading.current_thread() is not threading.main_thread() and not loop.is_running():
            loop.close()


def _cell_fault(name: str, error: PapermillExecutionError, hidden: Sequence[str]) -> Fault:
    last = plain(masked(f"{error.ename}: {error.evalue}", hidden), width=400)
    shadowed = error.ename in {"ModuleNotFoundError", "ImportError"} and "analysis" in error.evalue
    return Fault(
        file=name,
        place=f"cell {error.cell_index + 1}",
        what=last,
        fix="A folder or file named `analysis` hides the package: rename it." if shadowed else "See log.txt.",
    )


def last_begun(notebook: nbformat.NotebookNode) -> int | None:
    """The index of the last cell that was begun; the status says "completed" of a cell whose kernel died."""
    begun = [i for i, cell in enumerate(notebook.cells) if cell.metadata.get("papermill", {}).get("start_time")]
    return begun[-1] if begun else None


def _place(partial: Path) -> str:
    notebook = nbformat.read(partial, as_version=4) if partial.exists() else nbformat.v4.new_notebook()
    index = last_begun(notebook)
    return "before the first cell" if index is None else f"cell {index + 1} ({notebook.cells[index].id})"


def _limit_fault(name: str, partial: Path, limit: str) -> Fault:
    fix = "Raise --timeout or --cell-timeout."
    return Fault(file=name, place=_place(partial), what=f"stopped after {limit}", fix=fix)


def _death_fault(name: str, partial: Path, started: kernels.Started) -> Fault:
    code = started[-1].poll() if started else None
    fix = "See log.txt."
    what = "the kernel died"
    if code is not None and code < 0:
        what += f" ({_signal_name(-code)})"
        cause = {9: "the system may have run out of memory", 11: "a compiled library may have crashed"}.get(-code)
        fix = f"{cause[0].upper()}{cause[1:]}; see log.txt." if cause else fix
    elif code is not None:
        what += f" (exit code {code})"
    return Fault(file=name, place=_place(partial), what=what, fix=fix)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
