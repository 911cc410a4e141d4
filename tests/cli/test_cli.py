"""The command line as a user meets it: exit codes, what goes to which stream, and words instead of tracebacks."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from analysis import cli
from analysis.results import SCHEMA
from analysis.study import share_folder

COMMANDS = list(cli.COMMANDS)
ESCAPE = "\x1b]0;owned\x07\x1b[31mred\u202e"
PROGRAM = [sys.executable, "-c", "from analysis.cli import main; main()"]
ENVIRONMENT = {key: value for key, value in os.environ.items() if key not in {"NO_COLOR", "FORCE_COLOR"}}


def write(path, *cells, header="model,budget,seed,score"):
    """One line ``model, budget`` per cell with its number of reruns and of failures."""
    lines = [header]
    for model, count, failures in cells:
        lines += [f"{model},100,{seed},{0.4 if seed < failures else 0.9}" for seed in range(count)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def good(tmp_path):
    return write(tmp_path / "good.csv", ("a", 22, 0), ("b", 40, 0))


@pytest.fixture
def bad(tmp_path):
    return write(tmp_path / "bad.csv", ("a", 22, 0), ("b", 25, 20))


@pytest.fixture
def short(tmp_path):
    return write(tmp_path / "short.csv", ("a", 21, 0))


def result(gatebook, *arguments):
    return json.loads(gatebook("gate", "recipe-card", "--json", *arguments).out)


# ---- exit codes


def test_gate_leaves_with_0_for_pass(gatebook, good):
    left = gatebook("gate", "recipe-card", "--data", good)
    assert left.code == 0
    assert left.out.startswith("✓ pass  recipe-card  ")
    assert "Exploratory: no rule file was given" in left.out
    assert all(line.startswith("warning: ") for line in left.err.splitlines())


def test_gate_leaves_with_1_for_refuse(gatebook, bad):
    left = gatebook("gate", "recipe-card", "--data", bad)
    assert left.code == 1
    assert left.out.startswith("✕ refuse  recipe-card  ")


def test_gate_leaves_with_2_for_undecided(gatebook, short):
    left = gatebook("gate", "recipe-card", "--data", short)
    assert left.code == 2
    assert left.out.startswith("? undecided  recipe-card  ")


def test_an_empty_table_never_passes(gatebook, tmp_path):
    left = gatebook("gate", "recipe-card", "--data", write(tmp_path / "empty.csv"))
    assert left.code == 3
    assert "empty.csv" in left.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "Usage: gatebook"),
        (("gaet",), "no command 'gaet'. Did you mean 'gate'? Known: init, studies, params"),
        (("--bogus",), "No such option"),
        (("gate",), "no study was named"),
        (("gate", "recipe-crad"), "no study 'recipe-crad'"),
        (("gate", "recipe-card"), "the input runs is missing"),
        (("gate", "recipe-card", "--bogus"), "No such option"),
        (("gate", "recipe-card", "--data"), "requires an argument"),
        (("gate", "recipe-card", "--data", "nowhere.csv"), "nowhere.csv"),
        (("gate", "recipe-card", "--data", "other=x.csv"), "recipe-card has no input 'other'"),
        (("gate", "recipe-card", "extra"), "unexpected extra argument"),
        (("run",), "Missing argument 'STUDY'"),
        (("run", "recipe-card", "--renderer", "word"), "'word' is not one of"),
        (("run", "recipe-card", "--to", "docx"), "--to docx: is not a format. Known: html,pdf."),
        (("run", "recipe-card", "--to", ""), "is not a format"),
        (("run", "recipe-card", "--timeout", "0"), "--timeout"),
        (("run", "recipe-card", "--timeout", "soon"), "is not a valid float"),
        (("size",), "Usage: gatebook size"),
        (("size", "nothing"), "no study 'nothing'"),
        (("size", "recipe-card", "--budget", "2"), "less than or equal to 0.999"),
        (("size", "recipe-card", "--rate", "0.02"), "rate and power go together"),
        (("params",), "Missing argument"),
        (("params", "nothing"), "no study 'nothing'"),
        (("register", "nowhere.yml"), "nowhere.yml"),
        (("site",), "holds no report"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_wrong_use_leaves_with_3_and_says_what_is_wrong(gatebook, arguments, said):
    left = gatebook(*arguments)
    assert left.code == 3
    assert said in left.err + left.out
    assert "Traceback" not in left.err


@pytest.mark.parametrize("command", COMMANDS)
def test_an_unknown_option_of_any_command_leaves_with_3(gatebook, command):
    assert gatebook(command, "--bogus").code == 3


@pytest.fixture
def broken(monkeypatch):
    def fail(*_):
        raise KeyError("oh\x1b[31m")

    monkeypatch.setattr("analysis.catalogue.study", fail)


def test_the_unexpected_leaves_with_4_and_asks_for_a_report(gatebook, broken):
    left = gatebook("params", "recipe-card")
    assert left.code == 4
    assert left.err.startswith("error: unexpected KeyError: ")
    assert "Please report this; --debug shows more" in left.err
    assert "Traceback" not in left.err
    assert "\x1b" not in left.err


@pytest.mark.parametrize("place", [0, 2])
def test_debug_shows_the_traceback_wherever_it_stands(gatebook, broken, place):
    arguments = ["params", "recipe-card"]
    arguments.insert(place, "--debug")
    left = gatebook(*arguments)
    assert left.code == 4
    assert "Traceback" in left.err


@pytest.mark.parametrize(
    ("command", "code", "words"),
    [
        (("run", "recipe-card", "--data", "good.csv", "--out"), 4, "Not a directory"),
        (("site", "--out"), 3, "is not a folder. Name another folder for the site."),
    ],
)
def test_a_place_that_cannot_be_written_is_named(gatebook, good, tmp_path, command, code, words):
    folder = tmp_path / "reports" / "recipe-card" / "x"
    folder.mkdir(parents=True)
    text = gatebook("gate", "recipe-card", "--data", good, "--json").out
    (folder / "result.json").write_text(text, encoding="utf-8")
    (folder / "index.html").touch()
    left = gatebook(*command, "good.csv/inside")
    assert left.code == code
    assert re.fullmatch(rf"error: .*good\.csv.*: {words}\n", left.err.splitlines(keepends=True)[-1])


def test_a_fault_is_a_sentence_without_a_traceback(gatebook):
    left = gatebook("gate", "recipe-card", "--data", "nowhere.csv")
    assert left.err.startswith("error: ")
    assert left.out == ""
    assert "Traceback" not in left.err


def test_all_faults_of_a_call_come_at_once(gatebook, good):
    left = gatebook(
        *("gate", "recipe-card", "--data", "nowhere.csv", "--data", "other=x.csv", "-p", "treshold=1", "-p", "tau=abc"),
        *("-p", "novalue", "-f", "nowhere.yml", "--map", "broken"),
    )
    assert left.code == 3
    for said in [
        "nowhere.csv",
        "no input 'other'",
        "treshold",
        "tau = 'abc'",
        "-p novalue",
        "nowhere.yml",
        "--map broken",
    ]:
        assert said in left.err


def test_an_unknown_parameter_gets_the_one_that_was_meant(gatebook, good):
    left = gatebook("gate", "recipe-card", "--data", good, "-p", "failure_bugdet=0.2")
    assert left.code == 3
    assert "failure_budget" in left.err


@pytest.mark.skipif(os.name != "posix", reason="pipes of posix")
def test_a_closed_pipe_is_never_a_refusal(good):
    program = [*PROGRAM, "gate", "recipe-card", "--data", str(good), "--json"]
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(program, stdout=writer, stderr=subprocess.PIPE, check=False, env=ENVIRONMENT)
    os.close(writer)
    assert done.returncode == 4
    assert b"Traceback" not in done.stderr


# ---- gate


def test_json_is_all_that_stands_on_stdout(gatebook, bad):
    left = gatebook("gate", "recipe-card", "--data", bad, "--json", "--label", "x")
    read = json.loads(left.out)
    assert left.code == 1
    assert left.err == ""
    assert read["schema"] == SCHEMA
    assert read["gate"]["verdict"] == "refuse"
    assert read["label"] == "x"


def test_json_is_utf_8_with_plain_line_ends_whatever_the_terminal(tmp_path):
    write(tmp_path / "runs.csv", ("τ🙂", 22, 0))
    arguments = ["gate", "recipe-card", "--data", "runs.csv", "--label", "é", "--json"]
    done = subprocess.run(
        [*PROGRAM, *arguments],
        cwd=tmp_path,
        capture_output=True,
        check=False,
        env={**ENVIRONMENT, "PYTHONIOENCODING": "cp1252", "PYTHONUTF8": "0"},
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert json.loads(done.stdout.decode("utf-8"))["label"] == "é"
    assert "τ🙂".encode() in done.stdout
    assert b"\r" not in done.stdout


def test_two_calls_give_the_same_bytes(gatebook, bad):
    first, second = (gatebook("gate", "recipe-card", "--data", bad, "--json").out for _ in range(2))
    assert first == second


def test_summary_is_a_block_of_markdown(gatebook, bad):
    left = gatebook("gate", "recipe-card", "--data", bad, "--summary", "--label", "<b>*x*</b> @all")
    assert left.code == 1
    assert left.out.startswith("### ✕ refuse: recipe-card &lt;b&gt;\\*x\\*&lt;/b&gt; \\@all\n\n")
    assert "Checks: 1 pass, 0 undecided, 1 refuse." in left.out
    assert "`study=recipe-card method=paper" in left.out


@pytest.mark.parametrize(("name", "code"), [("good", 0), ("bad", 1), ("short", 2)])
def test_a_stored_result_gives_the_verdict_again(gatebook, request, tmp_path, name, code):
    live = gatebook("gate", "recipe-card", "--data", request.getfixturevalue(name), "--json")
    stored = tmp_path / "result.json"
    stored.write_text(live.out, encoding="utf-8")
    again = gatebook("gate", "--from", stored, "--json")
    assert (live.code, again.code) == (code, code)
    assert again.out == live.out


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "cannot be read"),
        ("", "is not valid JSON"),
        ("{", "is not valid JSON"),
        ("[]", "is not a gatebook/result/1 file"),
        ('{"schema": "gatebook/result/1"}', "is not a gatebook/result/1 file"),
        ('{"schema": "gatebook/result/1", "gate": {"verdict": "maybe"}}', "is not a gatebook/result/1 file"),
        ('{"schema": "gatebook/result/2", "gate": {"verdict": "pass"}}', "is not a gatebook/result/1 file"),
    ],
)
def test_a_file_that_is_no_result_leaves_with_3(gatebook, tmp_path, text, said):
    path = tmp_path / "result.json"
    if text is not None:
        path.write_text(text, encoding="utf-8")
    left = gatebook("gate", "--from", path)
    assert left.code == 3
    assert said in left.err


@pytest.mark.parametrize(
    "more", [("recipe-card",), ("--data", "x.csv"), ("-p", "tau=1"), ("--label", "x"), ("--map", "a=b")]
)
def test_a_stored_result_takes_no_other_input(gatebook, tmp_path, more):
    left = gatebook("gate", "--from", tmp_path / "result.json", *more)
    assert left.code == 3
    assert "reads a finished result" in left.err


# ---- parameters


def test_check_reads_everything_and_starts_nothing(gatebook, bad):
    left = gatebook("check", "recipe-card", "--data", bad, "-p", "tau=0.8")
    assert left.code == 0
    assert "runs: ok" in left.out
    assert "47 rows" in left.out
    assert "cells: 2 calibration cells of" in left.out
    assert list(bad.parent.iterdir()) == [bad]


def test_a_parameter_on_the_command_line(gatebook, good):
    assert result(gatebook, "--data", good, "-p", "tau=0.95")["gate"]["verdict"] == "refuse"


def test_a_list_or_an_object_is_json(gatebook, good):
    read = result(gatebook, "--data", good, "-p", "bars=[0.5, 0.7]", "-p", 'require=[{"model": "a"}]')
    assert read["parameters"]["bars"] == [0.5, 0.7]
    assert len(read["gate"]["checks"]) == 1


def test_later_wins_and_the_command_line_last(gatebook, good, tmp_path):
    (tmp_path / "one.yml").write_text("tau: 0.1\ndelta: 0.1\nfailure_budget: 0.11\n", encoding="utf-8")
    (tmp_path / "two.yml").write_text("tau: 0.2\ndelta: 0.2\n", encoding="utf-8")
    read = result(
        gatebook,
        "-p",
        "tau=0.25",
        "--data",
        good,
        "-p",
        "tau=0.3",
        "-f",
        "one.yml",
        "-f",
        "two.yml",
        "-p",
        "bars=[0.1]",
    )["parameters"]
    assert (read["tau"], read["delta"], read["failure_budget"]) == (0.3, 0.2, 0.11)


def test_an_error_in_a_file_names_file_and_line(gatebook, good, tmp_path):
    (tmp_path / "p.yml").write_text("tau: 0.1\ndetla: 0.1\n", encoding="utf-8")
    left = gatebook("gate", "recipe-card", "--data", good, "-f", "p.yml")
    assert left.code == 3
    assert re.search(r"p\.yml, line 2.*detla.*delta", left.err)


def test_columns_are_mapped_from_a_foreign_file(gatebook, tmp_path):
    write(tmp_path / "runs.csv", ("a", 22, 0), header="name,size,run,f1")
    left = gatebook("gate", "recipe-card", "--data", "runs.csv")
    assert left.code == 3
    assert "name, size, run, f1" in left.err
    maps = ["--map", "model=name", "--map", "budget=size", "--map", "seed=run", "--map", "runs.score=f1"]
    assert gatebook("gate", "recipe-card", "--data", "runs=runs.csv", *maps).code == 0


def test_a_mapping_may_stand_in_a_file(gatebook, tmp_path):
    write(tmp_path / "runs.csv", ("a", 22, 0), header="name,size,run,f1")
    columns = "columns: {model: name, budget: size, seed: run, score: nothing}\ntau: 0.95\n"
    (tmp_path / "map.yml").write_text(columns, encoding="utf-8")
    left = gatebook("gate", "recipe-card", "--data", "runs.csv", "-f", "map.yml", "--map", "score=f1")
    assert left.code == 1


def test_a_path_may_hold_an_equals_sign(gatebook, tmp_path):
    assert gatebook("gate", "recipe-card", "--data", write(tmp_path / "a=b.csv", ("a", 22, 0)).name).code == 0


def test_the_example_and_the_starter_rule_work(gatebook, tmp_path):
    example = share_folder() / "data" / "examples" / "recipe_card" / "synthetic_runs.csv"
    rule = share_folder() / "data" / "rules" / "recipe_card.yml"
    left = gatebook("gate", "recipe-card", "--data", example, "--rule", rule, "-p", "splits=5")
    assert left.code in {0, 1, 2}
    assert all(line.startswith("warning: ") for line in left.err.splitlines())
    assert "target audit not supported" in left.err


# ---- rules


@pytest.fixture
def rule(tmp_path):
    path = tmp_path / "rule.yml"
    text = "version: 1\nstudy: recipe-card\ndecision_rule: rerun-safety\nparameters:\n  tau: 0.70\n"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_parameter_that_contradicts_the_rule_is_refused(gatebook, good, rule):
    left = gatebook("gate", "recipe-card", "--data", good, "--rule", rule, "-p", "tau=0.6")
    assert left.code == 3
    assert "the rule fixes tau = 0.7, but 0.6 was asked for" in left.err


def test_a_rule_is_registered_and_its_change_is_seen(gatebook, good, rule):
    def standing():
        return result(gatebook, "--data", good, "--rule", rule)["rule"]["written_before"]

    assert standing() is None
    left = gatebook("register", rule)
    assert (left.code, left.out.strip()) == (0, str(rule) + ".lock")
    assert standing() is True
    rule.write_text(rule.read_text(encoding="utf-8") + "  delta: 0.2\n", encoding="utf-8")
    assert standing() is False
    again = gatebook("register", rule)
    assert again.code == 3
    assert "registered before and has changed since" in again.err


def test_a_rule_that_does_not_fit_is_never_registered(gatebook, rule):
    rule.write_text(rule.read_text(encoding="utf-8").replace("tau", "tua"), encoding="utf-8")
    assert gatebook("register", rule).code == 3
    assert not Path(f"{rule}.lock").exists()


def test_a_rule_of_nobody_is_refused(gatebook, rule):
    rule.write_text("study: nothing\n", encoding="utf-8")
    assert gatebook("register", rule).code == 3
    rule.write_text("- a\n", encoding="utf-8")
    assert gatebook("register", rule).code == 3


# ---- the tool about itself


def test_params_are_listed_as_json_and_as_text(gatebook):
    left = gatebook("params", "recipe-card", "--json")
    read = {item["name"]: item for item in json.loads(left.out)}
    assert left.code == 0
    assert read["tau"]["default"] == 0.7
    assert set(read["tau"]) == {"name", "type", "default", "range", "help"}
    text = gatebook("params", "recipe-card").out
    assert all(name in text for name in read)


def test_studies_are_listed_as_json_and_as_text(gatebook):
    left = gatebook("studies", "--json")
    (study,) = [item for item in json.loads(left.out) if item["study"] == "recipe-card"]
    assert left.code == 0
    assert [given["name"] for given in study["inputs"]] == ["runs", "counts"]
    assert "--data runs=PATH" in gatebook("studies").out


@pytest.mark.parametrize(
    ("arguments", "reruns"),
    [
        ((), "22"),  # ceil(ln .1 / ln .9)
        (("--failures", "2"), "52"),
        (("--budget", "0.05"), "45"),  # ceil(ln .1 / ln .95)
        (("--delta", ".05"), "29"),  # ceil(ln .05 / ln .9)
    ],
)
def test_size_says_how_many_reruns(gatebook, arguments, reruns):
    left = gatebook("size", "recipe-card", *arguments)
    assert left.code == 0
    assert re.search(rf"\b{reruns} reruns", left.out)
    read = json.loads(gatebook("size", "recipe-card", *arguments, "--json").out)
    assert reruns in read["answer"]


def test_size_plans_for_a_rate(gatebook):
    from scipy.stats import beta, binom

    def ships(n):
        supported = [k for k in range(n) if beta.ppf(0.9, k + 1, n - k) <= 0.1]
        return binom.cdf(max(supported), n, 0.02) if supported else 0.0

    needed = next(n for n in range(1, 500) if ships(n) >= 0.8)
    left = gatebook("size", "recipe-card", "--rate", ".02", "--power", "0.8")
    assert left.code == 0
    assert re.search(rf"\b{needed}\b", left.out.splitlines()[0])


def test_doctor_says_what_works(gatebook):
    left = gatebook("doctor")
    assert left.code == 0
    assert sys.executable in left.out
    assert "ok       gatebook run and build: notebook, page and PDF" in left.out
    assert "warning" not in left.out


@pytest.mark.parametrize("name", ["analysis", "analysis.py"])
def test_doctor_warns_of_a_folder_that_hides_the_package(gatebook, tmp_path, name):
    (tmp_path / name).mkdir()
    left = gatebook("doctor")
    assert left.code == 0
    assert f"warning  ./{name} hides the package" in left.out


def test_doctor_says_how_to_get_what_is_missing(gatebook, monkeypatch):
    monkeypatch.setattr("analysis.cli.tools.EXTRAS", {"lab": ("no_such_package",)})
    monkeypatch.setenv("PATH", "")
    left = gatebook("doctor")
    assert "needs no_such_package): pip install 'gatebook[lab]'" in left.out
    assert "missing  the Quarto renderer, never needed" in left.out


@pytest.mark.parametrize("name", ["analysis", "analysis.py"])
def test_a_folder_of_that_name_does_not_disturb_the_command(tmp_path, name):
    (tmp_path / name).mkdir()
    program = Path(sys.executable).with_name("gatebook")
    if not program.exists():
        pytest.skip("the command is not installed beside this interpreter")
    write(tmp_path / "runs.csv", ("a", 22, 0))
    command = [program, "gate", "recipe-card", "--data", "runs.csv", "--json"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False, env=ENVIRONMENT)
    assert (done.returncode, done.stderr) == (0, b"")


def test_site_lists_what_it_published(gatebook, tmp_path, bad):
    folder = tmp_path / "reports" / "recipe-card" / "x"
    folder.mkdir(parents=True)
    label = f"x{ESCAPE}"
    text = gatebook("gate", "recipe-card", "--data", bad, "--label", label, "--json").out
    (folder / "result.json").write_text(text, encoding="utf-8")
    (folder / "index.html").touch()
    left = gatebook("site")
    assert left.code == 0
    assert left.out.startswith("refuse     recipe-card  x")
    assert left.out.endswith("_site/index.html\n")
    assert "\x1b" not in left.out


# ---- help


@pytest.mark.parametrize("command", [(), *((name,) for name in COMMANDS), ("size", "recipe-card")], ids=" ".join)
def test_help_shows_an_example(gatebook, command):
    left = gatebook(*command, "--help")
    assert left.code == 0
    assert "Example:" in left.out
    assert f"  gatebook {' '.join(command)}".rstrip() in left.out
    assert gatebook(*command, "-h").out == left.out


def test_help_lists_every_command_with_what_it_does(gatebook):
    text = gatebook("--help").out
    assert [name for name in COMMANDS if not re.search(rf"^  {name}\s+\S", text, re.MULTILINE)] == []
    assert "Exit codes: 0 pass" in text


def test_the_version_is_that_of_the_package(gatebook):
    import analysis

    left = gatebook("--version")
    assert (left.code, left.out) == (0, f"gatebook {analysis.__version__}\n")


def imported(folder, *arguments):
    script = (
        "import sys\nfrom analysis import cli\nsys.argv = ['gatebook', *sys.argv[1:]]\n"
        "try:\n    cli.main()\nexcept SystemExit:\n    pass\n"
        "print('\\n' + ' '.join(sorted({name.split('.')[0] for name in sys.modules})))"
    )
    command = [sys.executable, "-c", script, *map(str, arguments)]
    done = subprocess.run(command, cwd=folder, capture_output=True, check=True, encoding="utf-8", env=ENVIRONMENT)
    return set(done.stdout.splitlines()[-1].split())


def test_help_imports_no_science_and_no_jupyter(tmp_path):
    heavy = {"numpy", "scipy", "pandas", "altair", "papermill", "pydantic", "nbformat", "IPython", "statsmodels"}
    found = imported(tmp_path, "--help")
    assert "click" in found
    assert not heavy & found


def test_gate_imports_no_jupyter_and_no_chart(tmp_path, good):
    found = imported(tmp_path, "gate", "recipe-card", "--data", good)
    assert "pandas" in found
    assert (
        not {"altair", "papermill", "nbformat", "nbconvert", "nbclient", "IPython", "jupyter_client", "vl_convert"}
        & found
    )


# ---- untrusted text on a terminal


@pytest.mark.parametrize("command", ["gate", "check"])
def test_no_escape_sequence_reaches_the_terminal(gatebook, tmp_path, command):
    data = write(tmp_path / "runs.csv", (f"m{ESCAPE}", 22, 3), (f"n{ESCAPE}", 21, 0))
    for more in [(), ("--summary",)] if command == "gate" else [()]:
        left = gatebook(command, "recipe-card", "--data", data, "--label", ESCAPE, *more)
        assert left.code in {0, 1, 2}
        assert not {"\x1b", "\x07", "\u202e"} & set(left.out + left.err)


@pytest.mark.parametrize(
    "arguments",
    [
        (ESCAPE,),
        ("gate", ESCAPE),
        ("gate", "recipe-card", f"--{ESCAPE}"),
        ("gate", "recipe-card", "--data", ESCAPE),
        ("gate", "recipe-card", "--data", f"{ESCAPE}=x"),
        ("gate", "recipe-card", "-p", f"{ESCAPE}=1"),
        ("gate", "recipe-card", "-p", f"tau={ESCAPE}"),
        ("gate", "recipe-card", "-p", f"method={ESCAPE}"),
        ("gate", "recipe-card", "-p", ESCAPE),
        ("gate", "recipe-card", "-f", ESCAPE),
        ("gate", "recipe-card", "--rule", ESCAPE),
        ("gate", "recipe-card", "--map", ESCAPE),
        ("gate", "recipe-card", "--data", "odd.csv"),
        ("gate", "recipe-card", "--data", "odd.csv", "--map", f"score=x{ESCAPE}"),
        ("gate", "recipe-card", "--data", "odd.csv", "--map", f"{ESCAPE}=x"),
        ("gate", "--from", ESCAPE),
        ("run", "recipe-card", "--to", ESCAPE),
        ("run", "recipe-card", "--renderer", ESCAPE),
        ("params", ESCAPE),
        ("size", ESCAPE),
        ("register", ESCAPE),
        ("site", "--reports", ESCAPE),
    ],
    ids=range(22),
)
def test_no_escape_sequence_reaches_the_terminal_through_an_error(gatebook, tmp_path, arguments):
    write(tmp_path / "odd.csv", ("a", 3, 0), header=f"model,budget,seed,{ESCAPE}")
    left = gatebook(*arguments)
    assert left.code == 3
    assert not {"\x1b", "\x07", "\u202e"} & set(left.out + left.err)


@pytest.mark.skipif(os.name != "posix", reason="arguments are bytes on posix only")
def test_an_argument_that_is_no_text_is_refused(tmp_path):
    write(tmp_path / "runs.csv", ("a", 22, 0))
    command = [*PROGRAM, "gate", "recipe-card", "--data", "runs.csv", "--label", b"a\xff"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False, env=ENVIRONMENT)
    assert done.returncode == 3
    assert b"is not UTF-8" in done.stderr


@pytest.mark.parametrize(
    ("terminal", "no_color", "coloured"), [(True, None, True), (True, "1", False), (False, None, False)]
)
def test_colour_is_for_terminals_that_want_it(gatebook, monkeypatch, terminal, no_color, coloured):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal, raising=False)
    monkeypatch.delenv("NO_COLOR", raising=False)
    if no_color:
        monkeypatch.setenv("NO_COLOR", no_color)
    assert cli._colour() is coloured


# ---- run


def test_run_says_where_the_report_lies_and_leaves_with_the_verdict_when_asked(gatebook, monkeypatch, bad, tmp_path):
    from analysis.pipeline import report

    def made(request, expected, out, options):
        options.say("running the notebook")
        folder = out / "recipe-card" / "x"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "index.html").touch()
        return report.Report(folder=folder, result=expected.to_json(), renderer="builtin")

    monkeypatch.setattr(report, "make", made)
    command = ["run", "recipe-card", "--data", bad, "--label", "x"]
    left = gatebook(*command)
    assert left.code == 0
    assert "running the notebook" in left.err
    assert "running" not in left.out
    assert str(Path("reports/recipe-card/x/index.html")) in left.out
    assert "renderer: builtin" in left.out
    assert gatebook(*command, "--gate").code == 1
    quiet = gatebook(*command, "-q")
    assert (quiet.out, quiet.err) == (f"{Path('reports/recipe-card/x')}\n", "")


def test_a_report_that_cannot_be_made_leaves_with_4(gatebook, bad, tmp_path):
    left = gatebook("run", "recipe-card", "--data", bad, "--label", "x", "--timeout", "0.1", "--gate")
    assert left.code == 4
    assert "recipe-card/x" in left.err
    assert "time limit of 0.1 s" in left.err
    assert str(Path("reports/recipe-card/x.failed")) in left.err
    assert "Traceback" not in left.err


@pytest.mark.skipif(os.name != "posix", reason="signals of posix")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=["SIGINT", "SIGTERM"])
def test_a_signal_stops_a_run_with_its_own_code(tmp_path, number, code):
    write(tmp_path / "runs.csv", ("a", 60, 0))
    program = [*PROGRAM, "run", "recipe-card", "--data", "runs.csv", "--label", "x"]
    running = subprocess.Popen(
        program, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT
    )
    deadline = time.monotonic() + 30
    while not any("Executing Cell 3" in log.read_text() for log in tmp_path.glob("reports/recipe-card/.x-*/log.txt")):
        assert time.monotonic() < deadline
        assert running.poll() is None
        time.sleep(0.02)
    running.send_signal(number)
    out, err = running.communicate(timeout=30)
    assert running.returncode == code
    assert "what the run left lies in reports/recipe-card/x.failed" in err
    assert "Traceback" not in err
    assert out == ""
    failed = tmp_path / "reports" / "recipe-card" / "x.failed"
    assert [path.name for path in failed.parent.iterdir()] == ["x.failed"]
    assert (failed / "error.txt").read_text(encoding="utf-8") == "stopped\n"
    kernels = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    assert str(tmp_path) not in kernels
