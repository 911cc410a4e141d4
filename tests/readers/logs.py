"""Logs as the tools write them, by hand from their schemas, each small enough to read."""

import hashlib
import json
import struct
import zipfile
import zlib
from pathlib import Path

import zstandard

from analysis.readers.choices import Ask
from analysis.readers.formats import read_format
from analysis.readers.raw import joined

DATE = "2026-11-30T10-00-00.000001"


def read(name, *paths, table="attempts", roots=(), accept=False, **choose):
    """Rows as dictionaries, and the notes."""
    ask = Ask(table=table, choose=choose, accept_mismatch=accept, roots=roots)
    tables, account = read_format(name, [Path(path) for path in paths], ask)
    whole = joined(tables)
    return [dict(zip(whole.columns, row, strict=True)) for row in whole.rows], account.notes


def column(rows, *names):
    return [tuple(row.get(name, "") for name in names) if len(names) > 1 else row.get(names[0], "") for row in rows]


def write_json(path, value):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def write_lines(path, values):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(value) + "\n" for value in values), encoding="utf-8")
    return path


def sha(text):
    return hashlib.sha256(str(text).encode()).hexdigest()


# --- lm-evaluation-harness


def sample(doc_id, *, kept="none", content=None, answer="7", **metrics):
    """One line of samples_*.jsonl."""
    return {
        "doc_id": doc_id,
        "doc": {"question": f"q{doc_id}"},
        "target": "7",
        "arguments": {"gen_args_0": {"arg_0": "prompt", "arg_1": {"until": ["\n"]}}},
        "resps": [[answer]],
        "filtered_resps": [answer],
        "filter": kept,
        "metrics": list(metrics),
        "doc_hash": sha(doc_id if content is None else content),
        "prompt_hash": sha(f"prompt {doc_id}"),
        "target_hash": sha("7"),
        **metrics,
    }


def results(means, *, task="gsm8k", model="acme/base", n=None, **extra):
    """A results_*.json of one task."""
    held = {
        "results": {task: {"alias": task, **means}},
        "configs": {task: {"task": task, "repeats": 1}},
        "versions": {task: 3.0},
        "n-shot": {task: 0},
        "higher_is_better": {task: {"exact_match": True}},
        "config": {"model": "hf", "model_args": f"pretrained={model},dtype=float16", "limit": None},
        "model_name": model,
        "model_name_sanitized": model.replace("/", "__"),
    }
    if n is not None:
        held["n-samples"] = {task: {"original": n, "effective": n}}
    return held | extra


def harness(folder, samples, means, *, task="gsm8k", date=DATE, **more):
    """A run of the harness: both files in one folder."""
    return [
        write_json(folder / f"results_{date}.json", results(means, task=task, **more)),
        write_lines(folder / f"samples_{task}_{date}.jsonl", samples),
    ]


# --- Inspect


def summary(item, value=None, *, epoch=1, scorer="match", error=None, **more):
    """One entry of summaries.json; without a value the sample has no score."""
    held = {"id": item, "epoch": epoch, "input": "2 + 2", "target": "4", "scores": {}, **more}
    if value is not None:
        held["scores"] = {scorer: {"value": value, "answer": "4", "history": []}}
    return held | ({"error": error} if error else {})


def header(
    metrics=None, *, items=(1, 2), epochs=1, status="success", model="acme/base", total=None, scores=None, **run
):
    """header.json: what was run, and the metrics of one scorer."""
    stated = [{"name": n, "value": v, "params": {}} for n, v in (metrics or {}).items()]
    one = {"name": "match", "scorer": "match", "params": {}, "metrics": {m["name"]: m for m in stated}}
    return {
        "version": 2,
        "status": status,
        "eval": {
            "eval_id": f"e-{model}",
            "run_id": "r",
            "created": "2026-11-30T10:00:00+00:00",
            "task": "sums",
            "task_id": f"t-{model}",
            "dataset": {"name": "sums", "samples": len(items), "sample_ids": list(items), "shuffled": False},
            "model": model,
            "config": {"epochs": epochs},
            **run,
        },
        "plan": {"name": "plan", "steps": []},
        "results": {
            "total_samples": len(items) * epochs if total is None else total,
            "completed_samples": len(items) * epochs,
            "scores": scores if scores is not None else [one] if metrics else [],
        },
    }


def members(head, summaries, *, crashed=False):
    """The members of an .eval archive, in the order in which Inspect writes them."""
    held = [("_journal/start.json", {name: head[name] for name in ("version", "eval", "plan")})]
    held += [(f"samples/{s['id']}_epoch_{s['epoch']}.json", s) for s in summaries]
    held.append(("_journal/summaries/1.json", summaries))
    return held if crashed else [*held, ("summaries.json", summaries), ("header.json", head)]


def write_eval(path, parts, *, method=zipfile.ZIP_DEFLATED):
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, value in parts:
            archive.writestr(name, value if isinstance(value, bytes) else json.dumps(value))
    return path


def write_zstandard(path, parts, *, frames=1, lie=0):
    """An archive whose members are packed by method 93, which zipfile does not write before Python 3.14."""
    out, directory = b"", b""
    for name, value in parts:
        data, raw = (value if isinstance(value, bytes) else json.dumps(value).encode()), name.encode()
        cut = -(-len(data) // frames) or 1
        pieces = [data[i : i + cut] for i in range(0, len(data), cut)]
        packed = b"".join(zstandard.ZstdCompressor(write_content_size=False).compress(piece) for piece in pieces)
        common = (20, 0, 93, 0, 0, zlib.crc32(data), len(packed), len(data) - lie, len(raw), 0)
        directory += struct.pack("<4s6H3I5H2I", b"PK\x01\x02", 20, *common[:5], *common[5:], 0, 0, 0, 0, len(out)) + raw
        out += struct.pack("<4s5H3I2H", b"PK\x03\x04", *common) + raw + packed
    end = struct.pack("<4s4H2IH", b"PK\x05\x06", 0, 0, len(parts), len(parts), len(directory), len(out), 0)
    path.write_bytes(out + directory + end)
    return path


# --- promptfoo


def row(
    test, success=True, *, provider="acme", prompt="short", score=None, reason=None, output="4", cached=False, **more
):
    """One result of promptfoo."""
    held = {
        "id": f"id-{test}-{provider}",
        "promptIdx": 0,
        "testIdx": 0,
        "testCase": {"description": f"test {test}", "vars": {"q": test}, "assert": [{"type": "equals", "value": "4"}]},
        "provider": {"id": f"openai:{provider}", "label": provider},
        "prompt": {"raw": "Q: {{q}}", "label": prompt},
        "vars": {"q": test},
        "response": {"output": output, "cached": cached, "tokenUsage": {"prompt": 10, "completion": 5, "total": 15}},
        "failureReason": (0 if success else 1) if reason is None else reason,
        "success": success,
        "score": (1 if success else 0) if score is None else score,
        "latencyMs": 1234,
        "cost": 0.0015,
        "namedScores": {},
        "gradingResult": {"pass": success, "score": 1, "reason": "", "componentResults": []},
    }
    if reason == 2:
        held |= {"response": None, "gradingResult": None, "error": "Error: 500 upstream", "score": 0, "success": False}
    return held | more


def promptfoo(path, rows, *, version=3, **stats):
    tally = {"successes": sum(r["success"] for r in rows), "errors": sum(r["failureReason"] == 2 for r in rows)}
    tally["failures"] = len(rows) - sum(tally.values())
    held = {"version": version, "timestamp": "2026-11-30", "prompts": [], "results": rows, "stats": tally | stats}
    return write_json(path, {"evalId": "eval-1", "results": held, "config": {}, "shareableUrl": None})
