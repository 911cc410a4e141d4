"""The pool by itself: trivial tasks, so that every ending can be had in a second."""

import os
import signal
import subprocess
import sys
import time

import psutil
import pytest

from analysis.pipeline import pool
from analysis.pipeline.state import State

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="forks")


def double(value):
    return value * 2


def misbehave(what):
    if what == "dies":
        os.kill(os.getpid(), signal.SIGKILL)
    if what == "leaves":
        os._exit(7)
    if what == "raises":
        raise ValueError
    if what == "sets a daemon free" and os.fork() == 0:
        os.setsid()
        time.sleep(600)
    if what == "hangs":
        time.sleep(600)
    if what == "is deaf":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        time.sleep(600)
    return what


def run(function, arguments, **options):
    return dict(pool.run(function, arguments, **{"jobs": 2, "stop": pool.Stop(), **options}))


@pytest.mark.parametrize("jobs", [1, 3, 50])
@pytest.mark.parametrize("forked", [True, False])
def test_every_task_is_done_once(jobs, forked):
    ended = run(double, range(5), jobs=jobs, forked=forked)
    assert {position: one.value for position, one in ended.items()} == {0: 0, 1: 2, 2: 4, 3: 6, 4: 8}


def test_nothing_to_do_is_done():
    assert run(double, []) == {}


def test_how_a_process_ended_is_told_and_the_others_go_on():
    ended = run(misbehave, ["dies", "leaves", "raises", "well"])
    assert {i: (one.value, one.exit_code) for i, one in ended.items()} == {
        0: (None, -9),
        1: (None, 7),
        2: (None, 1),
        3: ("well", 0),
    }


def test_a_daemon_of_a_task_keeps_nobody_waiting_and_ends_with_the_pool():
    begun, before = time.monotonic(), psutil.Process().children()
    ended = run(misbehave, ["sets a daemon free", "well"])
    assert time.monotonic() - begun < 10
    assert [ended[i].value for i in (0, 1)] == ["sets a daemon free", "well"]
    assert psutil.Process().children() == before


def test_a_child_that_is_not_the_pools_is_left_alone():
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]) as other:
        run(misbehave, ["well"])
        assert other.poll() is None
        other.kill()


def test_a_task_over_its_limit_is_stopped(monkeypatch):
    monkeypatch.setattr(pool, "GRACE", 0.3)
    begun = time.monotonic()
    ended = run(misbehave, ["hangs", "is deaf", "well"], limit=1.0)
    assert time.monotonic() - begun < 10
    assert {i: one.stopped for i, one in ended.items()} == {0: "limit", 1: "limit", 2: ""}
    assert [ended[i].exit_code for i in (0, 1)] == [143, -9]


def test_what_was_not_begun_when_time_is_over_is_told():
    ended = run(misbehave, ["hangs", "well"], jobs=1, deadline=time.monotonic() + 0.5)
    assert {i: (one.started, one.stopped) for i, one in ended.items()} == {0: (True, "batch"), 1: (False, "batch")}


def test_tasks_start_in_the_order_asked_for():
    started = list(pool.run(double, range(4), jobs=1, stop=pool.Stop(), order=[2, 0, 3, 1]))
    assert [position for position, _ in started] == [2, 0, 3, 1]


def test_signals_are_heard_once_and_then_obeyed():
    stop = pool.Stop()
    stop.heard(signal.SIGINT)
    assert (stop.draining, stop.now) == (True, False)
    stop.heard(signal.SIGINT)
    assert (stop.draining, stop.now) == (True, True)
    stop = pool.Stop()
    stop.heard(signal.SIGTERM)
    assert (stop.draining, stop.now) == (True, True)


def test_handlers_and_folders_are_as_before():
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM), os.environ.get("TMPDIR")
    run(double, range(3))
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM), os.environ.get("TMPDIR")) == before


def test_a_thousand_tasks_leave_no_descriptor_no_process_and_no_memory():
    run(double, range(20))
    own = psutil.Process()
    before = own.num_fds(), own.memory_info().rss, len(own.children())
    assert len(run(double, range(1000))) == 1000
    after = own.num_fds(), own.memory_info().rss, len(own.children())
    assert after[0] == before[0]
    assert after[1] - before[1] < 4 << 20
    assert after[2] == before[2]


# ---- what is remembered


def test_a_digest_is_taken_again_when_the_bytes_changed(tmp_path):
    path = tmp_path / "x"
    path.write_bytes(b"one")
    with State(tmp_path) as state:
        first = state.digest(path)
    assert first == "7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed"  # sha256sum of "one"
    path.write_bytes(b"two")
    with State(tmp_path) as state:
        assert state.digest(path) != first


def test_a_file_that_was_just_written_is_not_remembered(tmp_path):
    (tmp_path / "x").write_bytes(b"one")
    with State(tmp_path) as state:
        state.digest(tmp_path / "x")
    with State(tmp_path) as state:
        assert state._known == {}


def test_an_old_file_is_remembered_and_not_read_again(tmp_path, monkeypatch):
    path = tmp_path / "x"
    path.write_bytes(b"one")
    monkeypatch.setattr("analysis.pipeline.state.SETTLED_NS", 0)
    with State(tmp_path) as state:
        first = state.digest(path)
    monkeypatch.setattr("analysis.pipeline.state.hashlib.file_digest", None)
    with State(tmp_path) as state:
        assert state.digest(path) == first


def test_outcomes_are_kept_at_once(tmp_path):
    with State(tmp_path) as state:
        state.end("recipe-card/a", "failed", 1.5)
        with State(tmp_path) as other:
            assert other.ended("recipe-card/a") == ("failed", 1.5)


@pytest.mark.parametrize("content", [b"", b"no database at all, but long enough to be looked at" * 100])
def test_a_state_that_is_none_is_replaced(tmp_path, content):
    (tmp_path / ".state.sqlite").write_bytes(content)
    with State(tmp_path) as state:
        state.end("recipe-card/a", "ok", 1.0)
    with State(tmp_path) as state:
        assert state.ended("recipe-card/a") == ("ok", 1.0)


def test_a_state_that_cannot_be_kept_stops_nothing(tmp_path):
    with State(tmp_path / "none") as state:
        state.end("recipe-card/a", "ok", 1.0)
        assert state.ended("recipe-card/a") == ("ok", 1.0)
    assert not (tmp_path / "none").exists()
