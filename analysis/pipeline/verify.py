"""Is a report folder what it says it is? Every digest is taken again, and the verdict from the inputs."""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from analysis.catalogue import study as find
from analysis.comparison import compare
from analysis.errors import Fault, GatebookError, UsageError, is_whole, plain
from analysis.parameters import Given, secret_names
from analysis.pipeline import freshness, provenance
from analysis.pipeline.tags import INJECTED
from analysis.readers import remote
from analysis.results import Verdict, dumps, load, worst
from analysis.study import Study, parse_layouts

Standing = Literal["same", "differs", "not checked"]
_VERDICTS: Mapping[Standing, Verdict] = {"same": "pass", "not checked": "undecided", "differs": "refuse"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that was looked at, how it stands, and what was seen."""

    what: str
    standing: Standing
    detail: str = ""


def verify(folder: Path) -> list[Finding]:
    """Look at every file, at the code and environment, and decide again from the inputs; nothing is executed or written.

    Raises
    ------
    UsageError
        The folder is no report.
    """
    record = provenance.require(folder)
    result = load(folder / "result.json")
    decided = _result(folder, result)
    same = all(one.standing == "same" for one in decided)
    return [*_files(folder, record), *_code(record, result, same=same), *decided]


def verdict(findings: list[Finding]) -> Verdict:
    """Refuse where something differs, undecided where something could not be checked."""
    return worst(_VERDICTS[one.standing] for one in findings)


def _files(folder: Path, record: Mapping[str, Any]) -> list[Finding]:
    found = provenance.digests(folder)
    held = record["files"]
    changed = sorted(name for name in held if name in found and found[name]["sha256"] != held[name]["sha256"])
    gone, more = sorted(set(held) - set(found)), sorted(set(found) - set(held))
    told = [("changed", changed), ("missing", gone), ("not of this report", more)]
    bad = [Finding(what=plain(name), standing="differs", detail=how) for how, names in told for name in names]
    return bad or [Finding(what="files", standing="same", detail=f"{len(held)} files have the digests of run.json")]


def _code(record: Mapping[str, Any], result: Mapping[str, Any], *, same: bool) -> list[Finding]:
    """Whether what is installed here is what made the report; where it is not, numbers may differ for that reason.

    Where they do not, the ``same`` result speaks for itself.
    """
    other = (
        Finding(what="", standing="same", detail="is another one here, and gives the same result")
        if same
        else Finding(what="", standing="not checked", detail="is another one here")
    )
    study = _study(result)
    now = {
        "notebook": freshness.notebook_digests(study.notebook_path)[0],
        "package": freshness.package(pages=False),
        "environment": freshness.environment(),
    }
    return [
        Finding(what=freshness.WORDS[name], standing="same")
        if record["components"].get(name) == digest
        else replace(other, what=freshness.WORDS[name])
        for name, digest in now.items()
    ]


def _result(folder: Path, result: Mapping[str, Any]) -> list[Finding]:
    """The inputs where the report names them, and the result that they give now."""
    study = _study(result)
    try:
        values = _injected(folder)
        data = {name: [_from(folder, path) for path in paths] for name, paths in values["data"].items()}
        rule = Path(_from(folder, values["rule"])) if values["rule"] else None
        layouts = parse_layouts(values["layouts"] or {}, "report.ipynb")
        params, read_rule = study.resolve(_given(study, values, folder), rule)
        inputs = study.load(data, params, layouts)
        again = study.run(inputs, params, rule=read_rule, label=values["label"], layouts=layouts)
    except GatebookError as error:
        return [Finding(what="inputs", standing="not checked", detail=plain(error.message(), width=2000))]
    except (
        KeyError,
        TypeError,
        ValueError,
        AttributeError,
    ) as error:  # a report of another study, or of another version
        detail = f"cannot be decided again here ({type(error).__name__}: {plain(error)})"
        return [Finding(what="inputs", standing="not checked", detail=detail)]
    new = json.loads(dumps(again.to_json()))
    files = [
        Finding(what="inputs", standing="same", detail=f"{len(new['inputs'])} files have the digests of result.json")
    ]
    if new["inputs"] != result["inputs"]:
        known = {entry["sha256"] for entry in result["inputs"]}
        other = [str(entry["file"]) for entry in new["inputs"] if entry["sha256"] not in known]
        files = [
            Finding(what=f"input {plain(name)}", standing="differs", detail="has another digest") for name in other
        ]
        files = files or [Finding(what="inputs", standing="differs", detail="are not the same files")]
    if dumps(new) == (folder / "result.json").read_text(encoding="utf-8"):
        said = f"{new['gate']['verdict']}, the same result.json to the byte"
        return [*files, Finding(what="verdict", standing="same", detail=said)]
    found = compare(result, new)
    detail = "; ".join([found.headline.removesuffix("."), *found.lines()[:5]])
    return [*files, Finding(what="verdict", standing="differs", detail=detail)]


def _study(result: Mapping[str, Any]) -> Study:
    return find(result["study"])


def _given(study: Study, values: Mapping[str, Any], folder: Path) -> list[Given]:
    given = []
    for name in (name for name in study.params.model_fields if name in values):
        value = values[name]
        if isinstance(value, str) and value.startswith("file:") and name in secret_names(study.params):
            value = f"file:{folder / value.removeprefix('file:')}"
        given.append(Given(name=name, value=value, source=f"report.ipynb, {name}"))
    return given


def _from(folder: Path, path: str) -> str:
    """A path of the notebook, as seen from here."""
    return path if remote.is_address(path) else str(folder / path)


def _is_request(values: Mapping[str, Any]) -> bool:
    """Whether files, mappings, rule and label are of the kinds that a report is made from."""

    def is_text(value: Any) -> bool:
        return isinstance(value, str) and "\0" not in value and is_whole(value)

    data, layouts = values["data"], values["layouts"]
    return (
        isinstance(data, dict)
        and all(isinstance(paths, list) and all(map(is_text, paths)) for paths in data.values())
        and (layouts is None or isinstance(layouts, dict))
        and all(values[name] is None or is_text(values[name]) for name in ("rule", "label"))
    )


def _injected(folder: Path) -> dict[str, Any]:
    """The parameters that stand in the report's notebook."""
    path = folder / "report.ipynb"
    try:
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        cell = next(cell for cell in cells if INJECTED in cell["metadata"].get("tags", []))
        statements = ast.parse("".join(cell["source"])).body
        values = {one.targets[0].id: ast.literal_eval(one.value) for one in statements}  # type: ignore[attr-defined]
        found = {"data": {}, "rule": None, "layouts": None, "label": None, **values}
        if not _is_request(found):
            raise ValueError(path.name)
        return found
    except OSError as error:
        raise UsageError(Fault(file="report.ipynb", what=f"cannot be read ({plain(error.strerror)})")) from error
    except (
        ValueError, KeyError, StopIteration, SyntaxError, AttributeError, TypeError, RecursionError, MemoryError,
    ) as error:  # fmt: skip
        raise UsageError(Fault(file="report.ipynb", what="does not hold the parameters of a report")) from error
