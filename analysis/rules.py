"""Decision rules and pre-registrations: YAML files that fix parameters before the numbers are seen, and their locks."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from analysis import yaml
from analysis.errors import Fault, ParameterError, RuleError, close_match, plain, raise_all
from analysis.parameters import Given

KEYS = ("version", "study", "decision_rule", "parameters")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A rule file.

    Attributes
    ----------
    written_before
        True: locked and unchanged since; False: changed since the lock; None: never locked.
    given
        The parameters it fixes.
    """

    source: str
    sha256: str
    written_before: bool | None
    name: str
    given: tuple[Given, ...]

    def to_json(self) -> dict[str, Any]:
        """As it stands in ``result.json``."""
        return {"source": self.source, "sha256": self.sha256, "written_before": self.written_before}


def load(path: Path, study: str, *, whole: str | None = None) -> Rule:
    """Read a rule file for a study.

    Parameters
    ----------
    whole
        The parameter that the whole file is, but for its version, where a study's rule has clauses of its own.

    Raises
    ------
    RuleError
        Unknown keys, a version other than 1, a rule for another study, or no parameters.
    """
    document = yaml.load(path, RuleError)
    if whole is not None:
        return _whole(path, document, whole)
    faults = [
        Fault(
            file=document.file,
            place=document.place(key),
            what=f"unknown key {plain(key)}",
            fix=close_match(key, KEYS) + ".",
        )
        for key in document.values
        if key not in KEYS
    ]
    faults += [
        Fault(file=document.file, what=f"the key {key} is missing") for key in KEYS if key not in document.values
    ]
    if not faults:
        version, named = document.values["version"], document.values["study"]
        if version != "1":
            faults.append(_wrong_version(document))
        if named != study:
            faults.append(
                Fault(
                    file=document.file,
                    place=document.place("study"),
                    what=f"the rule is for {plain(named)}, not for {study}",
                )
            )
        if not isinstance(document.values["parameters"], dict) or not document.values["parameters"]:
            faults.append(
                Fault(
                    file=document.file, place=document.place("parameters"), what="parameters must be name: value lines"
                )
            )
    raise_all(RuleError, faults)
    digest = _digest(path)
    return Rule(
        source=path.name,
        sha256=digest,
        written_before=_written_before(path, digest),
        name=str(document.values["decision_rule"]),
        given=tuple(
            Given(name=name, value=value, source=f"rule {document.file}", text=True)
            for name, value in document.values["parameters"].items()
        ),
    )


def _wrong_version(document: yaml.Document) -> Fault:
    what, fix = "version must be 1", "Write version: 1."
    return Fault(file=document.file, place=document.place("version"), what=what, fix=fix)


def _whole(path: Path, document: yaml.Document, parameter: str) -> Rule:
    """A rule whose clauses are one parameter of the study."""
    if document.values.get("version") != "1":
        raise RuleError(_wrong_version(document))
    values = {key: value for key, value in document.values.items() if key != "version"}
    digest = _digest(path)
    return Rule(
        source=path.name,
        sha256=digest,
        written_before=_written_before(path, digest),
        name=str(values.get("decision_rule", "")),
        given=(Given(name=parameter, value=values, source=f"rule {document.file}", text=True),),
    )


def agree(rule: Rule, fixed: BaseModel, resolved: BaseModel) -> None:
    """Refuse parameters that contradict the rule.

    Parameters
    ----------
    fixed
        The parameters as the rule alone gives them.
    resolved
        The parameters after everything else was applied.

    Raises
    ------
    ParameterError
        Naming both values of every contradicted parameter.
    """
    raise_all(
        ParameterError,
        (
            Fault(
                file=rule.source,
                what=f"the rule fixes {item.name} = {plain(repr(getattr(fixed, item.name)))}, but "
                f"{plain(repr(getattr(resolved, item.name)))} was asked for",
                fix="Change the rule (it then counts as changed) or leave the parameter out.",
            )
            for item in rule.given
            if getattr(fixed, item.name) != getattr(resolved, item.name)
        ),
    )


def lock_path(path: Path) -> Path:
    """Where the lock of a rule file lies: beside it."""
    return path.with_name(path.name + ".lock")


def register(path: Path, *, commit: str | None) -> Path:
    """Write the lock of a rule file: digest, date and the commit of the checkout it lies in, None outside one.

    Raises
    ------
    RuleError
        When a lock with another digest is there already: a registration is never overwritten.
    """
    lock, digest = lock_path(path), _digest(path)
    if lock.exists():
        if _locked_digest(lock) == digest:
            return lock
        raise RuleError(
            Fault(
                file=lock.name,
                what="the rule was registered before and has changed since",
                fix="Register the new rule under a new file name; the old lock stays as evidence.",
            )
        )
    entry = {
        "file": path.name,
        "sha256": digest,
        "registered": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": commit,
    }
    lock.write_text(json.dumps(entry, indent=1) + "\n", encoding="utf-8", newline="\n")
    return lock


def _digest(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise RuleError(Fault(file=str(path), what=f"cannot be read ({plain(error.strerror)})")) from error


def _written_before(path: Path, digest: str) -> bool | None:
    lock = lock_path(path)
    return _locked_digest(lock) == digest if lock.exists() else None


def _locked_digest(lock: Path) -> str:
    try:
        return str(json.loads(lock.read_text(encoding="utf-8"))["sha256"])
    except (ValueError, KeyError, TypeError, OSError) as error:
        raise RuleError(
            Fault(file=lock.name, what="the lock cannot be read", fix="Restore it from version control.")
        ) from error
