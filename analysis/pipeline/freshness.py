"""What a report is made from, as digests of content; whether it is up to date, and if not, which component changed."""

from __future__ import annotations

import functools
import hashlib
import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import analysis
from analysis.errors import Fault, InputError, UsageError, plain
from analysis.pipeline import folders, provenance
from analysis.pipeline.provenance import EXECUTED, RENDERED
from analysis.pipeline.state import State
from analysis.pipeline.tags import PARAMETERS
from analysis.readers import remote
from analysis.readers.paths import expand, walk
from analysis.request import Request
from analysis.results import dumps
from analysis.study import share_folder

Action = Literal["run", "render", "cached"]

WORDS = {**EXECUTED, **RENDERED}
PAGES = re.compile(r"index\.html|report\.pdf|figures/.*\.svg")
"""Files that are rendered from the outputs that a report's notebook holds."""
RUN_CODE = frozenset({"execute.py", "kernels.py", "report.py"})
PAGE_CODE = frozenset(
    {
        "assets.py",
        "document.py",
        "fonts.py",
        "html.py",
        "invitation.py",
        "normalise.py",
        "pandoc.py",
        "pdf.py",
        "policy.py",
        "provenance.py",
        "quarto.py",
        "tags.py",
    }
)
MOST_NAMED = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What a report shall be made from.

    Attributes
    ----------
    components
        Digest by component, see `provenance.EXECUTED` and `provenance.RENDERED`.
    parameters
        Values by name, to say what changed.
    files
        Digest -> name of every input file.
    """

    components: Mapping[str, str]
    parameters: Mapping[str, Any]
    files: Mapping[str, str]

    @property
    def key(self) -> str:
        """Digest over all components."""
        return _digest(dict(self.components))


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What is to be done for a report, and why."""

    action: Action
    reasons: tuple[str, ...] = ()


def wanted(
    request: Request, target: Path, *, label: str, notebook: Path, formats: Sequence[str], renderer: str, state: State
) -> Wanted:
    """Take the digests of everything that a report is made from.

    Parameters
    ----------
    target
        Its folder: the notebook names its inputs as seen from there.
    label
        As it will stand in the result.
    renderer
        As `analysis.pipeline.quarto.chosen` names it.

    Raises
    ------
    InputError
        A file cannot be read.
    UsageError
        The notebook is none.
    """
    inputs, files = inputs_of(request, target, state)
    layouts = {name: layout.model_dump(mode="json") for name, layout in request.layouts.items()}
    values = request.params.model_dump(mode="json")
    rule = (
        {**request.rule.to_json(), "path": seen(request.rule_path, target)}
        if request.rule and request.rule_path
        else None
    )
    code, text = notebook_digests(notebook)
    return Wanted(
        components={
            "notebook": code,
            "parameters": _digest([request.study.slug, label, values, layouts]),
            "inputs": inputs,
            "rule": _digest(rule) if rule else "none",
            "package": package(pages=False),
            "environment": environment(),
            "narrative": text,
            "page": _digest([package(pages=True), provenance.page_environment(), renderer, sorted(formats)]),
        },
        parameters=values,
        files=files,
    )


def decide(target: Path, want: Wanted) -> Decision:
    """Whether a report is up to date: nothing is read but its ``run.json``, and its ``result.json`` to name what changed."""
    record = provenance.read(target)
    if record is None:
        again = "failed the last time" if folders.failed(target).exists() else "not made yet"
        return Decision(action="run", reasons=(again,))
    had = record["components"]
    changed = [name for name in EXECUTED if had.get(name) != want.components[name]]
    if changed:
        return Decision(action="run", reasons=tuple(_why(name, record, target, want) for name in changed))
    lost = provenance.lost(target, record)
    gone = [name for name in lost if not PAGES.fullmatch(name)]
    if gone:
        return Decision(action="run", reasons=(f"{_few(gone)} missing or changed in the report",))
    reasons = [WORDS[name] for name in RENDERED if had.get(name) != want.components[name]]
    reasons += [f"{_few(lost)} missing or changed in the report"] if lost else []
    return Decision(action="render" if reasons else "cached", reasons=tuple(reasons))


def notebook_digests(path: Path) -> tuple[str, str]:
    """Digests of a notebook's code, and of the rest: prose, order of cells, tags, captions.

    Raises
    ------
    UsageError
        It is no notebook.
    """
    try:
        if path.exists() and not path.is_file():
            raise UsageError(Fault(file=str(path), what="is not a regular file"))
        return _digests_of(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(Fault(file=str(path), what=f"cannot be read ({plain(error.strerror)})")) from error
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise UsageError(Fault(file=path.name, what="is not a notebook")) from error


@functools.lru_cache(maxsize=64)
def _digests_of(text: str) -> tuple[str, str]:
    code, rest = [], []
    for position, cell in enumerate(json.loads(text)["cells"]):
        lines = "".join(cell["source"]).split("\n")
        is_code, tags = cell["cell_type"] == "code", cell["metadata"].get("tags", [])
        options = [line for line in lines if line.startswith("#|")] if is_code else lines
        rest.append([cell.get("id", position), options, sorted(tags)])
        if is_code:
            source = [line for line in lines if not line.startswith("#|")]
            code.append([cell.get("id", position), source, PARAMETERS in tags])
    return _digest(code), _digest(rest)


def seen_from(paths: Sequence[str], target: Path) -> list[str]:
    """The files, folders and addresses that are meant, as seen from the report's folder.

    A folder stays one, since where a file lies in it may say recipe and seed.
    """
    named: list[str] = []
    for path in paths:
        if remote.is_address(path):
            named.append(path)
        else:
            named += [seen(one, target) for one in ([Path(path)] if Path(path).is_dir() else expand([path]))]
    return list(dict.fromkeys(named))


def inputs_of(request: Request, target: Path, state: State) -> tuple[str, dict[str, str]]:
    """Digest over every input as the notebook will name it and all that lies behind; and file names by digest.

    Raises
    ------
    InputError
        A file cannot be read.
    """
    described: list[Any] = []
    files: dict[str, str] = {}
    for name, paths in request.data.items():
        for path in paths:
            try:
                seen, found = _behind(path, target, state)
            except OSError as error:
                what = f"cannot be read ({plain(error.strerror or error)})"
                raise InputError(Fault(file=plain(path), what=what, fix="Check the path.")) from error
            described.append([name, seen, found])
            files |= {digest: one for one, digest in found if digest}
    return _digest(described), files


def _behind(path: str, target: Path, state: State) -> tuple[list[str], list[tuple[str, str]]]:
    """What stands in the notebook for a path, and (name, digest) of all behind it; a folder in it has no digest."""
    if remote.is_address(path):
        return [path], _stored(path, state)
    here = Path(path)
    files = expand([here])
    if not here.is_dir():
        return seen_from([path], target), [(file.name, state.digest(file)) for file in files]
    found = [(file.relative_to(here).as_posix(), state.digest(file)) for file in files]
    # a folder without a file may stand for a run that failed
    found += [(f"{place.relative_to(here).as_posix()}/", "") for place, _ in walk(here)]
    return seen_from([path], target), sorted(found)


def _stored(address: str, state: State) -> list[tuple[str, str]]:
    """What lies at an address: nothing is fetched when the store says that all of it is known."""
    stamps = remote.stamps(address)
    known = {name: state.remembered(f"{address} {name}", stamp) for name, stamp in stamps.items()}
    if None in known.values():
        known = {name: state.digest(copy) for name, copy in remote.copies(address).items()}
        for name, digest in known.items():
            if name in stamps and digest is not None:
                state.remember(f"{address} {name}", stamps[name], digest)
    return [(name, digest or "") for name, digest in sorted(known.items())]


def seen(path: Path, target: Path) -> str:
    """A path as seen from the report's folder, so that no absolute path is stored; a link keeps its name."""
    return Path(os.path.relpath(path.parent.resolve() / path.name, target.resolve())).as_posix()


def environment() -> str:
    """Digest of interpreter, machine and packages."""
    return _digest(dict(provenance.environment()))


@functools.cache
def package(*, pages: bool) -> str:
    """Digest of the code that makes results, or of the code and templates that only make pages."""
    root = Path(analysis.__file__).resolve().parent
    found = []
    for path in sorted([*root.rglob("*.py"), *root.rglob("*.json")]):
        inside = path.relative_to(root)
        if inside.parts[0] == "pipeline":
            counts = inside.name in (PAGE_CODE if pages else RUN_CODE)
        else:
            counts = not pages and inside.parts[0] not in {"_share", "cli"}
        if counts:
            found.append((inside.as_posix(), path))
    if pages:
        templates = share_folder() / "templates"
        found += [
            (path.relative_to(templates).as_posix(), path)
            for path in sorted(templates.rglob("*"))
            if path.is_file() and path.parent.name in {"html", "pandoc", "typst"}
        ]
    return _digest([[name, hashlib.sha256(path.read_bytes()).hexdigest()] for name, path in found])


def _why(component: str, record: Mapping[str, Any], target: Path, want: Wanted) -> str:
    """The component that changed, with what is known of how."""
    try:
        result = json.loads((target / "result.json").read_text(encoding="utf-8"))
        details = _details(component, record, result, want)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        details = []
    return WORDS[component] + (f": {_few(details)}" if details else "")


def _details(component: str, record: Mapping[str, Any], result: Mapping[str, Any], want: Wanted) -> list[str]:
    if component == "parameters":
        had = result["parameters"]
        return [
            f"{name} {plain(json.dumps(had.get(name)), width=40)} → {plain(json.dumps(value), width=40)}"
            for name, value in want.parameters.items()
            if had.get(name) != value
        ]
    if component == "inputs":
        known = {entry["sha256"] for entry in result["inputs"]}
        return [plain(name, width=60) for digest, name in want.files.items() if digest not in known]
    if component == "rule":
        return [plain(result["rule"]["source"])] if result["rule"] else []
    if component == "environment":
        now, had = provenance.environment(), record["environment"]
        return [f"{name} {had.get(name)} → {version}" for name, version in now.items() if had.get(name) != version]
    return []


def _few(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return ", ".join(names[:MOST_NAMED]) + more


def _digest(value: Any) -> str:
    return hashlib.sha256(dumps(value).encode()).hexdigest()
