"""Judging without bias: a sheet of answers without names, in both orders, and the judgements that come back from it.

No model is called: the sheet goes to any judge, a person or a model, and the key stays with whoever asked.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import pandas as pd

from analysis.errors import Fault, InputError, ParameterError, close_match, natural_key, plain, raise_all
from analysis.inputs import Input, from_frame
from analysis.present.format import plural
from analysis.present.prose import listed
from analysis.schema import Column, Demanded, Schema
from analysis.stats import keyed_stream
from analysis.stats.draws import Stream, raw_words

from .schemas import ITEMS, JUDGEMENTS

OUTPUTS = Schema(
    name="outputs",
    measure="output",
    columns=(
        ITEMS.by_name["model"],
        ITEMS.by_name["item_id"],
        Column(
            name="output",
            kind="text",
            help="The system's answer",
            required=True,
            aliases=("response", "answer", "completion", "generation", "prediction", "text"),
        ),
        Column(name="prompt", kind="text", help="What both systems were asked; the judge sees it"),
    ),
)
KEY = Schema(
    name="key",
    measure="len_a",
    columns=(
        Column(name="row", kind="text", help="The sheet's row", required=True),
        *(replace(JUDGEMENTS.by_name[name], required=True, aliases=()) for name in ("item_id", "order")),
        Column(name="baseline", kind="text", help="System A", required=True),
        Column(name="candidate", kind="text", help="System B", required=True),
        *(replace(JUDGEMENTS.by_name[name], required=True) for name in ("len_a", "len_b")),
    ),
)
ANSWERS = Schema(
    name="answers",
    measure="winner",
    columns=(
        Column(name="row", kind="text", help="The sheet's row", required=True, aliases=("row_id", "id")),
        Column(
            name="winner",
            kind="text",
            help="1 or 2, the better response; tie; fail where there is no verdict",
            required=True,
            aliases=("verdict", "answer", "choice", "preference", "better"),
        ),
        Column(name="judge", kind="text", help="Who judged"),
    ),
)
Missing = Literal["refuse", "fail"]
Tabular = Input | pd.DataFrame | Mapping[str, Any]

ORDERS = ("AB", "BA")
FORMULA = "=+-@\t\r"  # what a spreadsheet runs when a cell starts with it
ONE_JUDGE = "judge"
_ESCAPED = re.compile(f"'*[{re.escape(FORMULA)}]")
_WINNER = {
    "1": "1", "response 1": "1", "1.0": "1",  # a column of 1, 2 and no value comes back from pandas as 1.0
    "2": "2", "response 2": "2", "2.0": "2",
    "tie": "tie", "fail": "fail",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """What a judge sees, and apart from it what the rows mean.

    Attributes
    ----------
    rows
        ``row`` (an opaque id), ``prompt``, ``response_1``, ``response_2``; every item once, in either order, then
        every item once more in the other.
    key
        ``row``, ``item_id``, ``order`` (AB: the baseline's answer is response 1), ``baseline``, ``candidate``,
        ``len_a``, ``len_b`` (characters of the answers of baseline and candidate); sorted by item.
    n_items
        Items compared.
    n_named, named_items
        Answers that contain the name of either system, and their items: there the judge may know who speaks.
    """

    rows: pd.DataFrame
    key: pd.DataFrame
    n_items: int
    n_named: int
    named_items: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pair:
    """An item's prompt and the answers of baseline (a) and candidate (b)."""

    item_id: str
    prompt: str
    a: str
    b: str


def blind_pairs(outputs: Tabular, systems: tuple[str, str], *, rng: Stream) -> Sheet:
    """The answers of two systems side by side, without names, every item in both orders.

    Parameters
    ----------
    outputs
        One row per system and item: ``model``, ``item_id``, ``output``, and ``prompt`` if the judge is to see it; rows
        of other systems are left alone. An `Input` is read by ``as_given(OUTPUTS)``.
    systems
        Baseline (A) and candidate (B).
    rng
        Generator or bit generator; it is advanced by one word. An item's row ids follow from that word, the systems,
        the prompt and the answers: other items move none of them, and another text never has the same id.

    Returns
    -------
    Sheet

    Raises
    ------
    InputError
        A system that is not there, an item that one system did not answer or answered twice, an empty answer, prompts
        that differ between the systems.
    ParameterError
        The same system twice.

    Examples
    --------
    >>> import numpy as np
    >>> given = {"model": ["old", "new"] * 2, "item_id": [1, 1, 2, 2], "output": ["a", "b", "c", "d"]}
    >>> sheet = blind_pairs(given, ("old", "new"), rng=np.random.PCG64(0))
    >>> sheet.rows[["response_1", "response_2"]].values.tolist()
    [['c', 'd'], ['b', 'a'], ['d', 'c'], ['a', 'b']]
    >>> sheet.key["order"].tolist()
    ['AB', 'BA', 'AB', 'BA']
    """
    baseline, candidate = systems
    if baseline == candidate:
        raise ParameterError(
            Fault(what=f"baseline and candidate are both {_quoted(baseline)}", fix="Name two different systems.")
        )
    seed = int(raw_words(rng, 1)[0]) >> 11  # 53 bits, as whole numbers are checked
    pairs = _pairs(_whole(outputs, OUTPUTS), baseline, candidate)
    halves: tuple[list[tuple[str, _Pair, str]], ...] = ([], [])
    key = []
    for pair in pairs:
        stream = keyed_stream(seed, baseline, candidate, pair.item_id, pair.prompt, pair.a, pair.b)
        *words, coin = map(int, raw_words(stream, 3))
        for i, (order, word) in enumerate(zip(ORDERS, words, strict=True)):
            row = f"r{word:016x}"  # the letter keeps a spreadsheet from reading a number
            halves[(i + coin) % 2].append((row, pair, order))
            key.append((row, pair.item_id, order, baseline, candidate, len(pair.a), len(pair.b)))
    first, second = (sorted(half, key=lambda entry: entry[0]) for half in halves)
    if len(pairs) > 1 and first[-1][1] is second[0][1]:  # an item's orders are never neighbours
        second[:2] = second[1::-1]
    shown = [
        (row, pair.prompt, *((pair.a, pair.b) if order == "AB" else (pair.b, pair.a)))
        for row, pair, order in [*first, *second]
    ]
    names = re.compile("|".join(map(_name_pattern, systems)), re.IGNORECASE)
    named = [pair.item_id for pair in pairs for text in (pair.a, pair.b) if names.search(text)]
    return Sheet(
        rows=pd.DataFrame(shown, columns=["row", "prompt", "response_1", "response_2"]),
        key=pd.DataFrame(key, columns=[column.name for column in KEY.columns]),
        n_items=len(pairs),
        n_named=len(named),
        named_items=tuple(dict.fromkeys(named)),
    )


def resolve(
    sheet_key: Tabular,
    answers: Tabular,
    *,
    missing: Missing = "refuse",
) -> pd.DataFrame:
    """What a judge said of the sheet's responses, as verdicts on the systems.

    Parameters
    ----------
    sheet_key
        The `Sheet.key` of the sheet that was judged. An `Input` is read by ``as_given(KEY)``.
    answers
        ``row`` and ``winner``: 1, 2 (also ``Response 1``, ``response_1``), ``tie`` or ``fail``; ``judge`` if there are
        several, each of whom answers every row. Other columns do not matter. An `Input` is read by ``as_given(ANSWERS)``.
    missing
        ``refuse`` rows without an answer, or count them as ``fail``: the judge gave no verdict.

    Returns
    -------
    pandas.DataFrame
        A row per judge, item and order, sorted so: ``item_id``, ``order``, ``winner`` (A the baseline, B the candidate,
        tie, fail), ``judge``, ``len_a``, ``len_b``, as the input ``judgements`` wants them. A win counts only when it
        survives the swap, which `analysis.stats.resolve_orders` decides from both orders.

    Raises
    ------
    InputError
        A key that is not whole; a row that is not in the key, that a judge answered twice or, unless they are to
        fail, not at all; another word for a winner.
    ParameterError
        Another word for ``missing``.

    Examples
    --------
    >>> import numpy as np
    >>> given = {"model": ["old", "new"], "item_id": ["q", "q"], "output": ["no", "yes"]}
    >>> sheet = blind_pairs(given, ("old", "new"), rng=np.random.PCG64(0))
    >>> winner = ["2" if text == "yes" else "1" for text in sheet.rows["response_2"]]
    >>> resolve(sheet.key, {"row": sheet.rows["row"], "winner": winner})
      item_id order winner  judge  len_a  len_b
    0       q    AB      B  judge      2      3
    1       q    BA      B  judge      2      3
    """
    if missing not in get_args(Missing):
        raise ParameterError(Fault(what=f"missing = {_quoted(missing)}", fix=f"Known: {', '.join(get_args(Missing))}."))
    key = _checked_key(sheet_key)
    said = _said(_whole(answers, ANSWERS), set(key["row"]), missing)
    parts = []
    for judge in sorted(said, key=natural_key):
        place = [said[judge].get(row, "fail") for row in key["row"]]
        winner = [
            ("A" if (word == "1") == (order == "AB") else "B") if word in {"1", "2"} else word
            for word, order in zip(place, key["order"], strict=True)
        ]
        parts.append(key.assign(winner=winner, judge=judge))
    return pd.concat(parts, ignore_index=True)[["item_id", "order", "winner", "judge", "len_a", "len_b"]]


def as_given(schema: Schema) -> Schema:
    """A schema that takes every table as text: what is missing is said by the function that the table is for.

    Only that function knows which rows matter: an empty answer of a system that is not compared is no fault.
    """
    columns = (replace(column, kind="text", choices=(), required=False) for column in schema.columns)
    return replace(schema, columns=tuple(columns))


def escaped(text: str) -> str:
    """A cell that no spreadsheet runs: an apostrophe stands before what would start a formula, and nowhere else.

    >>> escaped("=1+1"), escaped("- a point"), escaped("'=x"), escaped("a=b"), escaped("'tis")
    ("'=1+1", "'- a point", "''=x", 'a=b', "'tis")
    """
    return "'" + text if _ESCAPED.match(text) else text


def unescaped(text: str) -> str:
    """The text of a cell that `escaped` wrote.

    >>> [unescaped(escaped(text)) for text in ("=1+1", "'=x", "''=x", "'tis", "")]
    ['=1+1', "'=x", "''=x", "'tis", '']
    """
    return text[1:] if text.startswith("'") and _ESCAPED.match(text) else text


def _whole(given: Tabular, schema: Schema, fix: str = "") -> Input:
    """The table as text, with every column that the schema requires; ``fix`` is the way out instead of a ``--map``."""
    read = given if isinstance(given, Input) else from_frame(pd.DataFrame(given), as_given(schema))
    files = [file.file for file in read.files if file.file is not None]
    missing = schema.missing_columns(
        read.frame.columns.tolist(), ("@file", "@row") if len(files) > 1 else (), Demanded()
    )
    raise_all(InputError, (replace(fault, file=_file(read), fix=fix or fault.fix) for fault in missing))
    return read


def _pairs(given: Input, baseline: str, candidate: str) -> list[_Pair]:
    """The items in natural order, both systems having answered each."""
    frame = given.frame
    _, faults = as_given(OUTPUTS).check(frame, given.place, Demanded(columns=("model", "item_id")))
    known = sorted(set(frame["model"]))
    for system in (baseline, candidate):
        if system not in known:
            faults.append(
                Fault(file=_file(given), what=f"no output of {_quoted(system)}", fix=close_match(system, known) + ".")
            )
    raise_all(InputError, faults)
    prompts = frame["prompt"] if "prompt" in frame else [""] * len(frame)
    found: dict[str, dict[str, tuple[str, str]]] = {baseline: {}, candidate: {}}
    for i, (model, item, output, prompt) in enumerate(
        zip(frame["model"], frame["item_id"], frame["output"], prompts, strict=True)
    ):
        if model not in found:
            continue
        file, line = given.place(i)
        if item in found[model]:
            what = f"{_quoted(item)} stands twice for {_quoted(model)}"
            faults.append(Fault(file=file, place=line, what=what, fix="Give one output per system and item."))
        elif not output.strip():
            what = f"{_quoted(model)} gave no text for {_quoted(item)}"
            fix = "Take the item's rows out for both systems, or write what the judge is to see, such as (no answer)."
            faults.append(Fault(file=file, place=f"{line}, column output", what=what, fix=fix))
        found[model].setdefault(item, (output, prompt))
    one, two = found[baseline], found[candidate]
    for system, own, other in ((baseline, one, two), (candidate, two, one)):
        lacking = sorted(set(other) - set(own), key=natural_key)
        if lacking:
            what = f"{_quoted(system)} has no output for {plural(len(lacking), 'item')}: {_some(lacking)}"
            fix = "Give it, or take these items out for both systems."
            faults.append(Fault(file=_file(given), what=what, fix=fix))
    items = sorted(set(one) & set(two), key=natural_key)
    differing = [item for item in items if one[item][1] != two[item][1]]
    if differing:
        what = f"the prompts of {plural(len(differing), 'item')} differ between the systems: {_some(differing)}"
        fix = "Give the question that both answered; another prompt would tell the judge who speaks."
        faults.append(Fault(file=_file(given), place="column prompt", what=what, fix=fix))
    raise_all(InputError, faults)
    return [_Pair(item_id=item, prompt=one[item][1], a=one[item][0], b=two[item][0]) for item in items]


def _checked_key(sheet_key: Tabular) -> pd.DataFrame:
    """The key with its types, every item in both orders, all of one pair of systems."""
    fix = "Give the key as it was written with the sheet."
    given = _whole(sheet_key, KEY, fix)
    names = tuple(column.name for column in KEY.columns)
    frame, faults = KEY.check(given.frame, given.place, Demanded(columns=names, key=("row",)))
    raise_all(InputError, (replace(fault, fix=fix) for fault in faults))
    orders = frame.groupby("item_id")["order"].agg(lambda own: "".join(sorted(own)))
    torn = sorted(map(str, orders.index[orders != "abba"]), key=natural_key)
    if torn:
        what = f"{plural(len(torn), 'item')} not once in each order: {_some(torn)}"
        faults.append(Fault(file=_file(given), what=what, fix=fix))
    pairs = list(dict.fromkeys(zip(frame["baseline"], frame["candidate"], strict=True)))
    if len(pairs) > 1:
        what = f"several pairs of systems: {listed([f'{_quoted(one)} and {_quoted(two)}' for one, two in pairs], last='or')}"
        faults.append(Fault(file=_file(given), what=what, fix="Resolve one sheet at a time."))
    lengths = frame[["len_a", "len_b"]]
    if (lengths % 1 != 0).any(axis=None):
        faults.append(Fault(file=_file(given), what="a length is no whole number of characters", fix=fix))
    raise_all(InputError, faults)
    return frame.assign(order=frame["order"].str.upper(), **lengths.astype("int64"))


def _said(given: Input, known: set[str], missing: Missing) -> dict[str, dict[str, str]]:
    """Judge -> row -> 1, 2, tie or fail; rows without an answer are left out where they are to fail."""
    frame = given.frame
    judges = [judge or ONE_JUDGE for judge in frame["judge"]] if "judge" in frame else [ONE_JUDGE] * len(frame)
    said: dict[str, dict[str, str]] = {judge: {} for judge in judges}
    unknown, twice, words = [], [], Counter[str]()
    for judge, cell, winner in zip(judges, frame["row"], frame["winner"], strict=True):
        row, word = cell.strip(), " ".join(winner.lower().replace("_", " ").split())
        if row not in known:
            unknown.append(row)
        elif row in said[judge]:
            twice.append(row)
        elif word and word not in _WINNER:
            words[winner.strip()] += 1
        said[judge].setdefault(row, _WINNER.get(word, word))
    faults = []
    if words:
        seen = listed([f"{_quoted(word)} ({plural(n, 'row')})" for word, n in words.most_common()], most=5)
        fix = "Write 1 or 2 (the better response), tie, or fail (no verdict)."
        faults.append(Fault(file=_file(given), place="column winner", what=f"holds {seen}", fix=fix))
    if unknown:
        what = f"{plural(len(unknown), 'row')} not in the key: {_some(unknown)}"
        faults.append(Fault(file=_file(given), what=what, fix="Give the key that was written with this sheet."))
    if twice:
        what = f"{plural(len(twice), 'row')} answered twice by the same judge: {_some(twice)}"
        fix = "Keep one answer, or tell judges apart in a column judge."
        faults.append(Fault(file=_file(given), what=what, fix=fix))
    for judge, own in said.items():
        given_by = {row for row in known if own.get(row)}
        if not given_by or (missing == "refuse" and len(given_by) < len(known)):
            what = f"{len(known) - len(given_by):,} of {plural(len(known), 'row')} without an answer"
            what += f" of {_quoted(judge)}" if len(said) > 1 else ""
            fix = (
                "Nothing was judged."
                if not given_by
                else "Have them judged, or count them as failures: missing = fail."
            )
            fix += " People who share a sheet are one judge: give them one name." if len(said) > 1 else ""
            faults.append(Fault(file=_file(given), what=what, fix=fix))
    raise_all(InputError, faults)
    return {judge: {row: word for row, word in own.items() if word} for judge, own in said.items()}


def _name_pattern(system: str) -> str:
    """A pattern of the name as a word of its own, whatever parts it: ``gpt-4o`` is found in *GPT 4o*."""
    words = r"[\W_]*".join(re.findall(r"[^\W_]+", system))
    return rf"(?<![^\W_]){words}(?![^\W_])" if words else re.escape(system)


def _quoted(text: str) -> str:
    return plain(repr(text), width=60)


def _some(names: Sequence[str]) -> str:
    """A few of the names; the rest is counted."""
    return listed([_quoted(name) for name in names], most=5)


def _file(given: Input) -> str:
    """What the table is called in messages: its file, or the input's name."""
    names = [file.file or given.name for file in given.files]
    return names[0] + (f" and {len(names) - 1} more" if len(names) > 1 else "")
