"""Run a notebook through papermill with its silent failures closed: what returns here ran to its end, as asked."""

from __future__ import annotations

import ast
import contextlib
import copy
import json
import logging
import os
import shutil
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

import nbformat
import papermill
from jupyter_client.kernelspec import KernelSpec
from jupyter_client.manager import AsyncKernelManager
from jupyter_core.utils import ensure_event_loop
from nbclient.exceptions import DeadKernelError
from papermill.exceptions import PapermillExecutionError
from papermill.iorw import load_notebook_node
from papermill.parameterize import parameterize_notebook

from analysis import ONE_THREAD
from analysis.errors import ExecutionError, Fault, ParameterError, close_match, plain, raise_all
from analysis.pipeline.normalise import INJECTED, PARAMETERS

SOCKET_ROOM = 80  # a unix socket path holds about 100 bytes, and the kernel adds a name


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """The parameters cell: names in order, and where it stands."""

    names: tuple[str, ...]
    index: int


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
    progress: bool,
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
    timeout
        Seconds for the whole notebook; None for no limit.
    progress
        Whether to draw a progress bar on stderr.

    Returns
    -------
    NotebookNode
        Executed: every code cell has a count, none has an error.

    Raises
    ------
    ExecutionError
        Naming the report, the cell and the reason: an error, a dead kernel, the time limit, or a cell that never ran.
    """
    partial = folder / "partial.ipynb"
    kernels: list[AsyncKernelManager] = []
    late = threading.Event()

    def stop() -> None:
        late.set()
        _kill(kernels)

    watchdog = threading.Timer(timeout or 0, stop)
    with _sockets() as sockets, _logged(log) as noise, _own_loop():
        if timeout is not None:
            watchdog.start()
        try:
            done = papermill.execute_notebook(
                notebook,
                str(partial).replace("{", "{{").replace("}", "}}"),  # papermill formats its paths
                kernel_name="python3",
                progress_bar=progress,
                log_output=True,
                kernel_manager_class=_kernel_class(kernels, sockets, noise, late),
                resources={"metadata": {"path": str(folder)}},
            )
        except PapermillExecutionError as error:
            raise ExecutionError(_cell_fault(name, error)) from error
        except RuntimeError as error:  # of the client: the kernel did not answer, or died
            if not late.is_set() and not isinstance(error, DeadKernelError):
                raise ExecutionError(Fault(file=name, what=f"the kernel did not start: {plain(error)}")) from error
            raise ExecutionError(_death_fault(name, partial, timeout if late.is_set() else None)) from error
        finally:
            watchdog.cancel()
            _kill(kernels)
    if late.is_set():
        raise ExecutionError(_death_fault(name, partial, timeout))
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
            raise ExecutionError(
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


def _kernel_class(
    started: list[AsyncKernelManager], sockets: Path | None, noise: TextIO, late: threading.Event
) -> type[AsyncKernelManager]:
    """A manager of kernels that run this interpreter, and no other that happens to be registered.

    What the kernel process itself prints, such as its complaints when it is stopped, goes into ``noise``; a kernel that
    starts when it is ``late`` already is killed at once.
    """
    # compiled modules are worth keeping in a kernel's lifetime of imports, whatever the parent was told
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    # one thread of linear algebra, here as in the command: sums in the same order give the same bytes
    environment = {**ONE_THREAD, **environment}

    class OwnKernel(AsyncKernelManager):
        @property
        def kernel_spec(self) -> KernelSpec:
            return KernelSpec(
                argv=[sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"],
                display_name="Python 3",
                language="python",
            )

        async def _async_start_kernel(self, **kwargs: Any) -> None:
            started.append(self)
            if sockets is not None:
                self.transport, self.ip = "ipc", str(sockets / "k")
                self.connection_file = str(sockets / "connection.json")
            await super()._async_start_kernel(**{**kwargs, "env": environment, "stdout": noise, "stderr": noise})
            if late.is_set():
                _kill(started)

        start_kernel = _async_start_kernel

    return OwnKernel


@contextlib.contextmanager
def _sockets() -> Iterator[Path | None]:
    """A short folder of its own for the sockets of one kernel; None where unix sockets do not fit."""
    folder = Path(tempfile.mkdtemp(prefix="gatebook-"))
    try:
        yield folder if os.name == "posix" and len(str(folder)) < SOCKET_ROOM else None
    finally:
        shutil.rmtree(folder, ignore_errors=True)


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


def _kill(kernels: list[AsyncKernelManager]) -> None:
    """Kill the kernels and whatever they started: each leads a process group of its own."""
    for kernel in kernels:
        pid = getattr(kernel.provisioner, "pid", None) if kernel.provisioner else None
        if pid and hasattr(os, "killpg"):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(pid, signal.SIGKILL)


def _cell_fault(name: str, error: PapermillExecutionError) -> Fault:
    last = plain(f"{error.ename}: {error.evalue}", width=400)
    shadowed = error.ename in {"ModuleNotFoundError", "ImportError"} and "analysis" in error.evalue
    return Fault(
        file=name,
        place=f"cell {error.cell_index + 1}",
        what=last,
        fix="A folder or file named `analysis` hides the package: rename it." if shadowed else "See log.txt.",
    )


def _death_fault(name: str, partial: Path, timeout: float | None) -> Fault:
    place = "before the first cell"
    if partial.exists():
        cells = nbformat.read(partial, as_version=4).cells
        # the status says "completed" of a cell whose kernel died; only the cells never reached have no start
        begun = [i for i, cell in enumerate(cells) if cell.metadata.get("papermill", {}).get("start_time")]
        place = f"cell {begun[-1] + 1} ({cells[begun[-1]].id})" if begun else place
    if timeout is not None:
        return Fault(
            file=name, place=place, what=f"stopped after the time limit of {timeout:g} s", fix="Raise --timeout."
        )
    return Fault(file=name, place=place, what="the kernel died", fix="It may have run out of memory; see log.txt.")
