"""judge-sheet and judge-resolve as a user meets them: files, sentences, exit codes."""

import csv

import pytest

from analysis.stats import resolve_orders

SYSTEMS = ("production-v7", "tuned-v9")
SHEET = ["--baseline", SYSTEMS[0], "--candidate", SYSTEMS[1], "-o", "sheet.csv", "--key", "key.csv"]
HOSTILE = [
    '=HYPERLINK("http://x","y")', "+1", "-1", "@cmd", "\tx", "\ry", "'=x", 'a "quoted", cell', "two\r\nlines\rand more",
    "<script>", "\x1b[31mred", "\u202eabc", "nul\x00", "τ 🎉",
]  # fmt: skip


def write(path, header, rows):
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows(rows)
    return path


def read(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture
def outputs(tmp_path):
    """Twelve items; the candidate answers every third worse."""
    rows = []
    for i in range(12):
        a, b = ("good", "bad") if i % 3 == 0 else ("bad", "good")
        rows += [
            (SYSTEMS[0], f"ticket-{i}", f"{a}, of {i}", f"Why {i}?"),
            (SYSTEMS[1], f"ticket-{i}", f"{b}, of {i}", f"Why {i}?"),
        ]
    return write(tmp_path / "outputs.csv", ("model", "item_id", "output", "prompt"), rows)


def judge(folder, verdict, name="answers.csv"):
    rows = [(row["row"], verdict(row)) for row in read(folder / "sheet.csv")]
    return write(folder / name, ("row", "winner"), rows)


def better(row):
    return 1 if row["response_1"].startswith("good") else 2


def resolved(path):
    won = {(row["item_id"], row["order"]): row["winner"] for row in read(path)}
    items = sorted({item for item, _ in won})
    return resolve_orders([won[item, "AB"] for item in items], [won[item, "BA"] for item in items])


# ---- there and back


def test_a_perfect_judge_gives_the_right_wins(gatebook, outputs, tmp_path):
    left = gatebook("judge-sheet", "--data", outputs, *SHEET)
    assert (left.code, left.err) == (0, "")
    assert left.out == (
        "Wrote 24 rows for 12 items, each in both orders, to sheet.csv, and what they mean to key.csv; give the judge "
        "sheet.csv alone.\n"
    )
    answers = judge(tmp_path, better)
    left = gatebook("judge-resolve", "--key", "key.csv", "--answers", answers, "-o", "judgements.csv")
    assert (left.code, left.err) == (0, "")
    assert left.out == (
        "Wrote 24 judgements of 12 items by 1 judge to judgements.csv: A is production-v7, B is tuned-v9; 0 failed.\n"
    )
    found = resolved(tmp_path / "judgements.csv")
    assert (found.wins_a, found.wins_b, found.undecided) == (4, 8, 0)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "answers.csv",
        "judgements.csv",
        "key.csv",
        "outputs.csv",
        "sheet.csv",
    ]


def test_a_judge_of_places_gives_only_undecided(gatebook, outputs, tmp_path):
    gatebook("judge-sheet", "--data", outputs, *SHEET)
    answers = judge(tmp_path, lambda _: "Response 1")
    assert gatebook("judge-resolve", "--key", "key.csv", "--answers", answers, "-o", "judgements.csv").code == 0
    assert resolved(tmp_path / "judgements.csv").undecided == 12


def test_the_study_reads_the_judgements(gatebook, outputs, tmp_path):
    gatebook("judge-sheet", "--data", outputs, *SHEET)
    gatebook("judge-resolve", "--key", "key.csv", "--answers", judge(tmp_path, better), "-o", "judgements.csv")
    items = [(name, f"ticket-{i}", i % 3 == 0) for i in range(12) for name in SYSTEMS]
    write(tmp_path / "items.csv", ("model", "item_id", "value"), [(*row[:2], int(row[2])) for row in items])
    left = gatebook(
        *("check", "fine-tune", "--data", "items.csv", "--data", "judgements=judgements.csv"),
        *("-p", f"candidate={SYSTEMS[1]}"),
    )
    assert left.code == 0, left
    assert "judgements: 24 rows read" in left.out


def test_the_sheet_tells_neither_system_nor_item(gatebook, outputs, tmp_path):
    gatebook("judge-sheet", "--data", outputs, *SHEET)
    text = (tmp_path / "sheet.csv").read_text(encoding="utf-8")
    assert text.splitlines()[0] == '"row","prompt","response_1","response_2"'
    assert [word for word in ("production", "tuned", "v7", "v9", "ticket", "baseline") if word in text] == []
    key = read(tmp_path / "key.csv")
    assert list(key[0]) == ["row", "item_id", "order", "baseline", "candidate", "len_a", "len_b"]
    assert {row["row"] for row in key} == {row["row"] for row in read(tmp_path / "sheet.csv")}


def test_the_same_seed_gives_the_same_bytes(gatebook, outputs, tmp_path):
    made = []
    for seed in ((), ("--seed", "0"), ("--seed", "1")):
        gatebook("judge-sheet", "--data", outputs, *SHEET, "--force", *seed)
        made.append((tmp_path / "sheet.csv").read_bytes() + (tmp_path / "key.csv").read_bytes())
    assert made[0] == made[1]
    assert made[0] != made[2]


def test_one_file_per_system_and_foreign_columns(gatebook, tmp_path):
    for name in SYSTEMS:
        write(tmp_path / f"{name}.csv", ("id", "text"), [(i, f"of {name[0]} {i}") for i in range(3)])
    files = [word for name in SYSTEMS for word in ("--data", f"{name}.csv")]
    refused = gatebook("judge-sheet", *files, *SHEET)
    assert refused.code == 3
    offer = ("--map", "model=@file", "--map", "item_id=id", "--map", "output=text")
    assert " ".join(offer) in refused.err
    assert gatebook("judge-sheet", *files, *SHEET, *offer).code == 0
    assert len(read(tmp_path / "sheet.csv")) == 6
    write(tmp_path / "said.csv", ("row", "verdict"), [(row["row"], "tie") for row in read(tmp_path / "sheet.csv")])
    command = ("judge-resolve", "--key", "key.csv", "--answers", "said.csv", "-o", "judgements.csv")
    refused = gatebook(*command)
    assert refused.code == 3
    assert "--map winner=verdict" in refused.err
    assert gatebook(*command, "--map", "winner=verdict").code == 0


def test_an_answer_that_names_its_system_is_warned_of(gatebook, tmp_path):
    rows = [
        (SYSTEMS[0], "q\x1b[31m", "I am Production v7"),
        (SYSTEMS[1], "q\x1b[31m", "hello"),
        (SYSTEMS[0], "r", "yes"),
        (SYSTEMS[1], "r", "no"),
    ]
    left = gatebook("judge-sheet", "--data", write(tmp_path / "o.csv", ("model", "item_id", "output"), rows), *SHEET)
    assert left.code == 0
    assert left.err == (
        "warning: 1 output of 4 contains the name of a system, so the judge may know who speaks: q\\x1b[31m\n"
    )


def test_hostile_text_comes_back_as_it_was_and_no_cell_is_run(gatebook, tmp_path):
    rows = []
    for text in HOSTILE:
        rows += [(SYSTEMS[0], text.strip(), text, text), (SYSTEMS[1], text.strip(), "better", text)]
    data = write(tmp_path / "o.csv", ("model", "item_id", "output", "prompt"), rows)
    assert gatebook("judge-sheet", "--data", data, *SHEET).code == 0
    for name in ("sheet.csv", "key.csv"):
        cells = [cell for row in read(tmp_path / name) for cell in row.values()]
        assert [cell for cell in cells if cell.startswith(tuple("=+-@\t\r"))] == []
    shown = {row["response_1"] for row in read(tmp_path / "sheet.csv")}
    assert {"'+1", "''=x", "two\r\nlines\rand more", "nul\x00"} < shown
    answers = judge(tmp_path, lambda row: 1 if row["response_1"] == "better" else 2)
    assert gatebook("judge-resolve", "--key", "key.csv", "--answers", answers, "-o", "judgements.csv").code == 0
    found = read(tmp_path / "judgements.csv")
    assert {row["item_id"] for row in found} == {text.strip() for text in HOSTILE}  # ids that match the items
    assert {row["winner"] for row in found} == {"B"}
    assert {(row["item_id"], int(row["len_a"])) for row in found} == {(text.strip(), len(text)) for text in HOSTILE}


# ---- what is refused


@pytest.fixture
def sheet(gatebook, outputs, tmp_path):
    gatebook("judge-sheet", "--data", outputs, *SHEET)
    return judge(tmp_path, better)


def test_nothing_is_overwritten_without_force(gatebook, outputs, sheet, tmp_path):
    before = (tmp_path / "key.csv").read_bytes()
    left = gatebook("judge-sheet", "--data", outputs, *SHEET, "--seed", "5")
    assert (left.code, left.out) == (3, "")
    assert left.err == (
        "error: -o sheet.csv: is there already. Name another file, or add --force.\n"
        "--key key.csv: is there already. Name another file, or add --force.\n"
    )
    assert (tmp_path / "key.csv").read_bytes() == before
    command = ("judge-resolve", "--key", "key.csv", "--answers", sheet, "-o", "judgements.csv")
    assert [gatebook(*command).code for _ in range(2)] == [0, 3]
    assert gatebook(*command, "--force").code == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["-o", "sheet.txt"], "-o sheet.txt: is no .csv file"),
        (["-o", ""], "-o: names no file. Is a shell variable unset?"),
        (["-o", "nowhere/sheet.csv"], "-o nowhere/sheet.csv: lies in a folder that is not there"),
        (["-o", "folder.csv"], "-o folder.csv: is a folder"),
        (["-o", "outputs.csv", "--force"], "-o outputs.csv: is the file of --data too"),
        (["-o", "./k.csv"], "--key k.csv: is the file of -o too"),
        (["--seed", "-1"], "--seed"),
        (["--map", "model"], "--map model: is not COLUMN=SOURCE"),
        (["--map", "model=system"], "no column 'system'"),
        (["--data", "nowhere.csv"], "nowhere.csv: no such file"),
        (["--data", ""], "--data: names no file"),
        (["--baseline", "tuned-v9"], "baseline and candidate are both 'tuned-v9'"),
        (["--baseline", "production"], "no output of 'production'. Did you mean 'production-v7'?"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_sheet_is_refused_with_3(gatebook, outputs, tmp_path, arguments, said):
    (tmp_path / "folder.csv").mkdir()
    before = sorted(tmp_path.iterdir())
    usual = ["--baseline", SYSTEMS[0], "--candidate", SYSTEMS[1], "-o", "s.csv", "--key", "k.csv"]
    left = gatebook("judge-sheet", "--data", outputs, *usual, *arguments)
    assert (left.code, left.out) == (3, "")
    assert said in left.err
    assert sorted(tmp_path.iterdir()) == before


def test_faults_of_the_data_name_file_and_line(gatebook, outputs, tmp_path):
    text = (
        outputs.read_text(encoding="utf-8")
        .replace('"bad, of 0"', '" "')
        .replace("tuned-v9,ticket-2,", "other,ticket-2,")
    )
    outputs.write_text(text, encoding="utf-8")
    left = gatebook("judge-sheet", "--data", outputs, *SHEET)
    assert left.code == 3
    assert "outputs.csv, line 3, column output: 'tuned-v9' gave no text for 'ticket-0'" in left.err
    assert "outputs.csv: 'tuned-v9' has no output for 1 item: 'ticket-2'" in left.err


def test_missing_answers_are_refused_or_fail(gatebook, sheet, tmp_path):
    lines = sheet.read_text(encoding="utf-8").splitlines(keepends=True)
    sheet.write_text("".join(lines[:-3]), encoding="utf-8")
    command = ("judge-resolve", "--key", "key.csv", "--answers", sheet, "-o", "judgements.csv")
    left = gatebook(*command)
    assert (left.code, left.out) == (3, "")
    assert "answers.csv: 3 of 24 rows without an answer" in left.err
    assert not (tmp_path / "judgements.csv").exists()
    left = gatebook(*command, "--missing", "fail")
    assert left.code == 0
    assert left.out.endswith("; 3 failed, 3 of them without an answer.\n")
    assert [row["winner"] for row in read(tmp_path / "judgements.csv")].count("fail") == 3


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--missing", "drop"], "'drop' is not one of"),
        (["--answers", "nowhere.csv"], "nowhere.csv: no such file"),
        (["--answers", ""], "--answers: names no file"),
        (["--key", "sheet.csv"], "sheet.csv: columns missing: item_id, order"),
        (["--answers", "sheet.csv"], "sheet.csv: column missing: winner"),
        (["-o", "key.csv", "--force"], "-o key.csv: is the file of --key too"),
        (["-o", "answers.csv", "--force"], "-o answers.csv: is the file of --answers too"),
        (["--answers", "wrong.csv"], "wrong.csv, column winner: holds 'B' (1 row)"),
        (["--answers", "wrong.csv"], "wrong.csv: 1 row not in the key: 'r1'"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_answers_are_refused_with_3(gatebook, sheet, tmp_path, arguments, said):
    known = read(tmp_path / "key.csv")[0]["row"]
    write(tmp_path / "wrong.csv", ("row", "winner"), [(known, "B"), ("r1", "1")])
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    left = gatebook("judge-resolve", "--key", "key.csv", "--answers", sheet, "-o", "judgements.csv", *arguments)
    assert (left.code, left.out) == (3, "")
    assert said in left.err
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_file_that_cannot_be_written_leaves_no_half(gatebook, outputs, tmp_path, monkeypatch):
    from pathlib import Path

    whole = Path.write_bytes

    def full(path, data):
        if b"response_1" in data:
            whole(path, data[:10])
            raise OSError(28, "No space left on device", str(path))
        return whole(path, data)

    monkeypatch.setattr(Path, "write_bytes", full)
    left = gatebook("judge-sheet", "--data", outputs, *SHEET)
    assert (left.code, left.out) == (4, "")
    assert left.err == "error: sheet.csv: cannot be written (No space left on device)\n"
    assert [path.name for path in tmp_path.iterdir()] == ["outputs.csv"]
