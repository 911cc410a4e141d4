"""What a night may bring: killed processes, full disks, two builds at once, notebooks that misbehave, files that change."""

import contextlib
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime

import psutil
import pytest

from analysis.cli.options import ask
from analysis.pipeline import provenance, report
from tests.pipeline.builds import RUNS, Project, notebook

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="asks the system's process table")
KILLS = 50


def mount(place, options):
    """A small disk of its own; skipped where that is not allowed."""
    place.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(place)], capture_output=True, check=False
    )
    if done.returncode:
        pytest.skip("this user may not mount a small disk")


@contextlib.contextmanager
def disk(place, options):
    mount(place, options)
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


def family(process):
    """The command, its workers and their kernels."""
    with contextlib.suppress(psutil.NoSuchProcess):
        command = psutil.Process(process.pid)
        workers = command.children()
        kernels = []
        for worker in workers:
            with contextlib.suppress(psutil.NoSuchProcess):
                kernels += worker.children()
        return {"command": [command], "worker": workers, "kernel": kernels}
    return {"command": [], "worker": [], "kernel": []}


def until(happened, seconds=30):
    end = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)


def torn(project):
    """Reports whose bytes are not those that their run.json names."""
    found = []
    for folder in project.report("").glob("[!.]*"):
        if not folder.name.endswith(".failed"):
            record = provenance.read(folder)
            if record is None or provenance.digests(folder) != record["files"]:
                found.append(folder.name)
    return found


# ---- kill -9


@LINUX
def test_killed_at_any_moment_no_report_is_torn_and_the_next_build_is_as_if_nothing_had_been(tmp_path):
    project = Project(tmp_path).short(3)
    assert project.run("-j", 2).code == 0
    whole = project.bytes()
    rng = random.Random(7)
    hit = {"command": 0, "worker": 0, "kernel": 0}
    for number in range(KILLS):
        with project.start("--force", "-j", 2) as process:
            kind = list(hit)[number % 3]
            begun = "command" if kind == "command" else "kernel"  # workers also read inputs, for a moment, before
            until(lambda process=process, begun=begun: family(process)[begun] or process.poll() is not None)
            time.sleep(rng.uniform(0.0, 2.5 if kind == "command" else 1.0))
            found = family(process)
            everybody = [one for group in found.values() for one in group]
            if found[kind] and process.poll() is None:
                with contextlib.suppress(psutil.NoSuchProcess):
                    rng.choice(found[kind]).kill()
                    hit[kind] += 1
            process.communicate(timeout=60)
        _, alive = psutil.wait_procs(everybody, timeout=10)
        assert alive == []
        assert torn(project) == []
        now = project.bytes()
        assert {name: held for name, held in now.items() if ".failed/" not in name and not name.startswith(".")} == {
            name: whole[name] for name in now if name in whole
        }
    assert all(count >= KILLS / 5 for count in hit.values()), hit
    assert project.run("-j", 2).code == 0
    assert project.run("--force", "-j", 2).code == 0
    assert project.bytes() == whole
    assert project.leftovers() == []


@LINUX
def test_a_worker_that_is_killed_is_named_and_the_batch_goes_on(tmp_path):
    project = Project(tmp_path)
    project.write(
        "waits",
        notebook(
            "import os, pathlib, time; pathlib.Path('../../../kernel').write_text(str(os.getppid()))", "time.sleep(60)"
        ),
    )
    project.manifest(r0="data: runs.csv, notebook: waits.ipynb", r1="data: runs.csv, notebook: short.ipynb")
    with project.start("-j", 1) as process:
        worker = wait_for(tmp_path / "kernel")
        os.kill(int(worker), signal.SIGKILL)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 4
    assert project.statuses() == {"r0": "incomplete", "r1": "ok"}
    assert "recipe-card/r0" in err
    assert "was killed by signal 9" in err
    assert torn(project) == []


def wait_for(path):
    until(lambda: path.exists() and path.read_text(encoding="utf-8"))
    return path.read_text(encoding="utf-8")


# ---- signals


@pytest.fixture
def waiting(tmp_path):
    """One report that waits for a file, and two that would follow it."""
    project = Project(tmp_path)
    project.write(
        "waits",
        notebook(
            "from pathlib import Path; Path('../../../begun').write_text('yes')",
            "import time\nwhile not Path('../../../go').exists():\n    time.sleep(.05)",
        ),
    )
    short = {f"r{i}": f"data: runs.csv, notebook: short.ipynb, params: {{delta: 0.{i + 1}}}" for i in (1, 2)}
    return project.manifest(r0="data: runs.csv, notebook: waits.ipynb", **short)


def test_one_interrupt_lets_finish_what_runs(waiting):
    with waiting.start("-j", 1, start_new_session=True) as process:
        wait_for(waiting.folder / "begun")
        process.send_signal(signal.SIGINT)
        time.sleep(0.5)
        (waiting.folder / "go").touch()
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert waiting.statuses() == {"r0": "ok", "r1": "cancelled", "r2": "cancelled"}
    assert "once more stops it now" in err
    assert "Traceback" not in err
    assert "1 ok, 2 cancelled" in out
    assert waiting.run("-j", 1).code == 0
    assert waiting.statuses() == {"r0": "cached", "r1": "ok", "r2": "ok"}


@pytest.mark.parametrize(("numbers", "code"), [((signal.SIGINT, signal.SIGINT), 130), ((signal.SIGTERM,), 143)])
@LINUX
def test_the_second_interrupt_or_a_termination_stops_it_now(waiting, numbers, code):
    with waiting.start("-j", 1, start_new_session=True) as process:
        wait_for(waiting.folder / "begun")
        everybody = [one for group in family(process).values() for one in group]
        for number in numbers:
            process.send_signal(number)
            time.sleep(0.3)
        _, err = process.communicate(timeout=30)
    assert process.returncode == code
    assert waiting.statuses() == {"r0": "cancelled", "r1": "cancelled", "r2": "cancelled"}
    assert "Traceback" not in err
    assert psutil.wait_procs(everybody, timeout=10)[1] == []
    assert (waiting.report("r0.failed") / "error.txt").read_text(encoding="utf-8") == "stopped\n"
    (waiting.folder / "go").touch()
    assert waiting.run("-j", 2).code == 0


# ---- disks


def test_a_full_disk_is_said_and_nothing_is_torn(tmp_path):
    with disk(tmp_path / "small", "size=600k") as small:
        project = Project(small).short(6)
        left = project.run("-j", 2)
        assert left.code == 4
        assert "No space left on device" in left.err
        assert "Traceback" not in left.err
        assert torn(project) == []


def test_a_file_that_may_not_grow_is_said_and_nothing_is_torn(tmp_path):
    project = Project(tmp_path).short(2)
    limit = 40_000  # less than a page
    left = project.run(preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
    assert left.code == 4
    assert "Traceback" not in left.err
    assert not list(project.folder.glob("reports/*/[!.]*/index.html"))
    assert project.run().code == 0


def test_an_output_that_cannot_be_written_is_said_before_anything_runs(tmp_path):
    with disk(tmp_path / "fixed", "ro") as fixed:
        project = Project(tmp_path).short(1)
        left = project.run("--out", fixed / "reports")
    assert left.code == 4
    assert "cannot be written (Read-only file system)" in left.err


def test_a_file_in_place_of_the_reports_is_said(tmp_path):
    project = Project(tmp_path).short(1)
    (tmp_path / "reports").write_text("mine", encoding="utf-8")
    left = project.run()
    assert left.code == 4
    assert "reports: cannot be written" in left.err
    assert (tmp_path / "reports").read_text(encoding="utf-8") == "mine"


# ---- at once


def test_two_builds_on_one_folder_share_the_work(tmp_path):
    project = Project(tmp_path).short(4)
    together = [project.start("-j", 2, "--site", f"_site{i}") for i in range(2)]
    ended = [(process.communicate(timeout=120), process.returncode) for process in together]
    assert [code for _, code in ended] == [0, 0]
    assert torn(project) == []
    assert project.leftovers() == []
    made = sum(out[0].count("ok          ") for out, _ in ended)
    assert made == 4  # each report was made by one of them, and was up to date for the other
    whole = project.bytes()
    assert project.run("--force").code == 0
    assert project.bytes() == whole


# ---- clocks


def test_a_clock_that_jumps_back_changes_no_decision_and_no_duration(tmp_path, monkeypatch):
    class Jumping:
        hours = iter(range(23, 0, -1))

        @classmethod
        def now(cls, _zone):
            return datetime(2026, 1, 1, next(cls.hours), tzinfo=UTC)

    project = Project(tmp_path)
    asked = ask("recipe-card", [str(tmp_path / "runs.csv")], [], [], [], None, "r0")
    monkeypatch.setattr(report, "datetime", Jumping)
    made = report.make(
        asked.request, asked.result, tmp_path / "reports", report.Options(formats=("html",), renderer="builtin"),
        notebook=tmp_path / "short.ipynb",
    )  # fmt: skip
    assert json.loads((made.folder / "run.json").read_text(encoding="utf-8"))["seconds"] > 0
    project.manifest(r0="data: runs.csv, notebook: short.ipynb")
    assert project.plan()["counts"]["cached"] == 1


# ---- notebooks that misbehave


@pytest.fixture(scope="module")
def odd(tmp_path_factory):
    project = Project(tmp_path_factory.mktemp("odd"))
    child = "import subprocess, sys, time\nchild = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)']{})"
    noted = "from pathlib import Path; Path('../../../{}').write_text(str(child.pid))"
    cases = {
        "loud": ["for _ in range(100):\n    print('x' * 1_000_000)"],
        "forks": [child.format(""), noted.format("forked")],
        "frees": [child.format(", start_new_session=True"), noted.format("freed")],
        "mute": ["import os, sys; sys.stdout.close(); os.close(1)"],
    }
    for name, between in cases.items():
        project.write(name, notebook(*between))
    project.manifest(**{name: f"data: runs.csv, notebook: {name}.ipynb" for name in cases})
    project.left = project.run("-j", 2, timeout=400)
    return project


def test_a_hundred_megabytes_of_output_are_cut_on_the_page_and_kept_in_the_log(odd):
    assert odd.statuses()["loud"] == "ok"
    assert (odd.report("loud") / "log.txt").stat().st_size > 100_000_000
    assert (odd.report("loud") / "report.ipynb").stat().st_size < 2_000_000
    page = (odd.report("loud") / "index.html").read_text(encoding="utf-8")
    assert len(page) < 2_000_000
    assert "characters more, in log.txt" in page


@LINUX
@pytest.mark.parametrize(("label", "noted"), [("forks", "forked"), ("frees", "freed")])
def test_children_of_a_notebook_end_with_the_build(odd, label, noted):
    assert odd.statuses()[label] == "ok"
    assert not psutil.pid_exists(int((odd.folder / noted).read_text(encoding="utf-8")))


def test_a_notebook_without_a_stdout_is_made(odd):
    assert odd.statuses()["mute"] == "ok", odd.left


# ---- inputs that change


@pytest.mark.parametrize("text", [RUNS + "a,100,25,0.9\n", RUNS.replace("0.900", "0.901", 1)])
def test_an_input_that_changes_during_the_run_is_detected_and_nothing_is_published(tmp_path, text):
    project = Project(tmp_path)
    (tmp_path / "new.csv").write_text(text, encoding="utf-8")
    project.write("meddles", notebook("import os; os.replace('../../../new.csv', '../../../runs.csv')"))
    project.manifest(r0="data: runs.csv, notebook: meddles.ipynb")
    left = project.run()
    assert left.code == 4
    assert "runs.csv: changed while the report was made" in left.err
    assert not project.report("r0").exists()
    shutil.copy(tmp_path / "short.ipynb", tmp_path / "meddles.ipynb")
    assert project.run().code == 0
