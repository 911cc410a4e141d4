"""Kernels of this interpreter, one per report: started as a process, or forked from one that has imported everything."""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import tempfile
import threading
import time
import traceback
from pathlib import Path
from typing import Any, NoReturn, TextIO

import numpy as np
from jupyter_client.kernelspec import KernelSpec
from jupyter_client.manager import AsyncKernelManager

from analysis import ONE_THREAD
from analysis.pipeline.processes import die_with_parent, kill_group

SOCKET_ROOM = 80  # a unix socket path holds about 100 bytes, and the kernel adds a name
POLL_SECONDS = 0.02


class Spare:
    """A process that was forked to become a kernel, waits to be told its connection file, and is then like any other.

    It is made before its parent starts a loop, a thread or a log: what it inherits are imported modules. The methods are
    those of `subprocess.Popen` that Jupyter's client uses.
    """

    stdin = stdout = stderr = None

    def __init__(self) -> None:
        parent = os.getpid()
        reading, self._pipe = os.pipe()
        self.pid = os.fork()
        self.returncode: int | None = None
        if self.pid == 0:
            os.close(self._pipe)
            _become_kernel(reading, parent)
        os.close(reading)

    def start(self, connection_file: str, folder: str, log: str, environment: dict[str, str]) -> None:
        """Tell it what to become."""
        told = {"file": connection_file, "folder": folder, "log": log, "environment": environment}
        with os.fdopen(self._pipe, "w", encoding="utf-8") as pipe:
            json.dump(told, pipe)

    def poll(self) -> int | None:
        """The exit code; None while it runs."""
        if self.returncode is None:
            done, status = os.waitpid(self.pid, os.WNOHANG)
            self.returncode = os.waitstatus_to_exitcode(status) if done else None
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the exit code; without a limit where ``timeout`` is None."""
        end = None if timeout is None else time.monotonic() + timeout
        while self.poll() is None:
            if end is not None and time.monotonic() > end:
                raise TimeoutError
            time.sleep(POLL_SECONDS)
        assert self.returncode is not None  # noqa: S101  (poll has just said so)
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send a signal to the process."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """Kill it."""
        self.send_signal(signal.SIGKILL)

    def terminate(self) -> None:
        """Ask it to end."""
        self.send_signal(signal.SIGTERM)


def preload() -> None:
    """Import what a notebook will import, so that a fork of this process starts with it."""
    import ipykernel.ipkernel  # noqa: PLC0415
    import ipykernel.kernelapp  # noqa: PLC0415
    import ipykernel.zmqshell  # noqa: PLC0415, F401
    import vl_convert  # noqa: PLC0415, F401

    from analysis.catalogue import STUDIES  # noqa: PLC0415
    from analysis.present import chart  # noqa: PLC0415, F401

    for study in STUDIES:
        __import__(f"{study.params.__module__.rsplit('.', 1)[0]}.figures")


class Started(list[Any]):
    """The kernel processes of one run, also those that ended: pid and exit code stay known."""

    def kill(self) -> None:
        """Kill the kernels and whatever they started: each leads a process group of its own."""
        for process in self:
            kill_group(process.pid)


def manager(
    started: Started, scratch: Path, noise: TextIO, late: threading.Event, spare: Spare | None
) -> type[AsyncKernelManager]:
    """A manager of kernels that run this interpreter, and no other that happens to be registered.

    Parameters
    ----------
    started
        Gets every kernel process.
    scratch
        A folder for whatever is temporary, and for unix sockets where its name is short enough; they are TCP else.
    noise
        What the kernel process itself prints goes there, such as its complaints when it is stopped.
    late
        When it is set already, a kernel that starts is killed at once.
    spare
        A forked process to be the kernel; None to start one.
    """
    # compiled modules are worth keeping in a kernel's lifetime of imports, whatever the parent was told
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    # one thread of linear algebra, here as in the command: sums in the same order give the same bytes
    environment = {**ONE_THREAD, **environment, "TMPDIR": str(scratch)}

    class OwnKernel(AsyncKernelManager):
        @property
        def kernel_spec(self) -> KernelSpec:
            return KernelSpec(
                argv=[sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"],
                display_name="Python 3",
                language="python",
            )

        async def _async_start_kernel(self, **kwargs: Any) -> None:
            if os.name == "posix" and len(str(scratch)) < SOCKET_ROOM:
                self.transport, self.ip = "ipc", str(scratch / "k")
                self.connection_file = str(scratch / "connection.json")
            await super()._async_start_kernel(**{**kwargs, "env": environment, "stdout": noise, "stderr": noise})

        async def _async_launch_kernel(self, kernel_cmd: list[str], **kwargs: Any) -> None:
            provisioner: Any = self.provisioner
            if spare is None:
                await super()._async_launch_kernel(kernel_cmd, **kwargs)
            else:
                log = str(Path(noise.name).resolve())
                spare.start(self.connection_file, str(kwargs["cwd"]), log, environment)
                provisioner.process, provisioner.pid, provisioner.pgid = spare, spare.pid, spare.pid
            started.append(provisioner.process)
            if late.is_set():
                started.kill()

        start_kernel = _async_start_kernel

    return OwnKernel


def _become_kernel(reading: int, parent: int) -> NoReturn:
    """In the forked child: wait, then run a kernel as ``python -m ipykernel_launcher`` does, and never come back."""
    code = 1
    try:
        die_with_parent(parent)
        os.setsid()
        # what was open in the parent would stay open in all that a notebook starts
        os.closerange(3, reading)
        os.closerange(reading + 1, os.sysconf("SC_OPEN_MAX"))
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        with os.fdopen(reading, encoding="utf-8") as pipe:
            text = pipe.read()
        if text:
            _run_kernel(**json.loads(text))
        code = 0
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else int(error.code is not None)
    except BaseException:  # noqa: BLE001  (nothing may pass into the code of the parent)
        traceback.print_exc()
    finally:
        os._exit(code)


def _run_kernel(*, file: str, folder: str, log: str, environment: dict[str, str]) -> None:
    from ipykernel.kernelapp import IPKernelApp  # noqa: PLC0415

    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    output = os.open(log, os.O_WRONLY | os.O_APPEND)
    for stream in (1, 2):
        os.dup2(output, stream)
    sys.stdout, sys.stderr = (open(n, "w", encoding="utf-8", buffering=1, closefd=False) for n in (1, 2))  # noqa: SIM115
    tempfile.tempdir = None  # that of the environment
    sys.argv = ["ipykernel_launcher", "-f", file]
    random.seed()
    np.random.seed(None)  # noqa: NPY002  (a fork inherits the state of the global generator)
    app = IPKernelApp.instance()
    app.initialize(sys.argv[1:])
    app.start()
