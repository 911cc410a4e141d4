"""Calls of the command line inside this process."""

import signal
import sys

import pytest

from analysis import cli


class Left:
    """How a call ended: its code and both streams."""

    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err

    def __repr__(self):
        return f"{self.code}\n--- out\n{self.out}--- err\n{self.err}"


@pytest.fixture
def gatebook(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    monkeypatch.chdir(tmp_path)

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["gatebook", *map(str, arguments)])
        with pytest.raises(SystemExit) as left:
            cli.main()
        return Left(left.value.code, *capsys.readouterr())

    return call
