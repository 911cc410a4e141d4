"""What somebody asks for: a study with data, parameters, mappings and a rule, resolved before anything is read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from analysis import yaml
from analysis.catalogue import study as find
from analysis.errors import Fault, InputError, ParameterError, UsageError, raise_all
from analysis.layouts import Layout
from analysis.parameters import Given, from_option
from analysis.readers.paths import expand
from analysis.readers.remote import check, is_address
from analysis.rules import Rule
from analysis.study import Study, parse_layouts


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A study, its data by input name, its parameters, column mappings, rule and label; nothing is read yet."""

    study: Study
    data: Mapping[str, Sequence[str]]
    params: BaseModel
    layouts: Mapping[str, Layout]
    rule_path: Path | None
    rule: Rule | None
    label: str | None

    def __reduce__(self) -> tuple[Any, ...]:
        """A study goes to another process as its name: it holds functions."""
        rest = {name: getattr(self, name) for name in self.__slots__ if name != "study"}
        return _again, (self.study.slug, rest)


def _again(slug: str, rest: Mapping[str, Any]) -> Request:
    return Request(study=find(slug), **rest)


def resolve(
    slug: str,
    data: Sequence[str],
    maps: Sequence[str],
    options: Sequence[str],
    files: Sequence[str],
    rule: str | None,
    label: str | None,
    *,
    chosen: Sequence[str] = (),
    accept_mismatch: bool = False,
    stated: Sequence[Given] = (),
) -> Request:
    """Resolve what was given on a command line: ``[NAME=]PATH``, ``COLUMN=SOURCE``, ``NAME=VALUE``, files.

    ``stated`` are parameters that a manifest states; they win over files, and options win over them.

    Raises
    ------
    UsageError
        With all faults of paths, parameters, rule and mappings.
    """
    study = find(slug)
    faults: list[Fault] = []

    def collected(step: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return step(*arguments)
        except UsageError as error:
            faults.extend(error.faults)
            return None

    paths: dict[str, list[str]] = {}
    for text in data:
        collected(_add_path, study, text, paths)
    for named in paths.values():
        for address in filter(is_address, named):
            collected(check, address)
        collected(_expand_here, named)
    given: list[Given] = []
    raw_layouts: dict[str, dict[str, Any]] = {}
    for name in files:
        collected(_add_file, study, name, given, raw_layouts)
    given += stated
    given += [read for option in options if (read := collected(from_option, study.params, option))]
    resolved = collected(study.resolve, given, Path(rule) if rule else None)
    for text in maps:
        collected(_add_map, study, text, raw_layouts)
    for text in chosen:
        collected(_add_choice, study, text, raw_layouts)
    for name in paths if accept_mismatch else ():
        raw_layouts.setdefault(name, {})["accept_mismatch"] = True
    layouts = collected(parse_layouts, raw_layouts, "column mapping")
    raise_all(UsageError, faults)
    params, rule_read = resolved
    return Request(
        study=study,
        data=paths,
        params=params,
        layouts=layouts,
        rule_path=Path(rule) if rule else None,
        rule=rule_read,
        label=label,
    )


def _expand_here(named: Sequence[str]) -> None:
    """Find what is meant by paths; an address is asked for when it is read."""
    here = [path for path in named if not is_address(path)]
    if here:
        expand(here)


def _add_path(study: Study, text: str, paths: dict[str, list[str]]) -> None:
    """``[NAME=]PATH`` to the paths by input name; without a name it is the study's first input."""
    names = [spec.schema.name for spec in study.inputs]
    name, equals, path = text.partition("=")
    if not equals or (name not in names and ("/" in name or is_address(text) or Path(text).exists())):
        name, path = names[0], text
    study.spec(name)
    if not path.strip():
        raise InputError(Fault(place=f"--data {text}", what="names no file", fix="Is a shell variable unset?"))
    paths.setdefault(name, []).append(path)


def _add_file(study: Study, name: str, given: list[Given], layouts: dict[str, dict[str, Any]]) -> None:
    """Parameters and layouts of a ``-f`` file. Layout keys at the top belong to the first input, others under ``inputs``."""
    main = study.inputs[0].schema.name
    document = yaml.load(Path(name), ParameterError)
    for key, value in document.values.items():
        if key in Layout.model_fields:
            layouts.setdefault(main, {})[key] = value
        elif key == "inputs":
            if not isinstance(value, dict) or not all(isinstance(layout, dict) for layout in value.values()):
                place = document.place(key)
                raise ParameterError(Fault(file=document.file, place=place, what="inputs must be NAME: {columns: …}"))
            for other, layout in value.items():
                study.spec(other)
                layouts.setdefault(other, {}).update(layout)
        else:
            source = f"{document.file}, {document.place(key)}"
            given.append(Given(name=key, value=value, source=source, text=True))


def _add_choice(study: Study, text: str, layouts: dict[str, dict[str, Any]]) -> None:
    """A ``--choose`` on top of the files; ``INPUT.KIND=NAME`` chooses for another input than the first."""
    name, kind, value = _targeted(study, text)
    if not kind or not value:
        fix = "Write --choose metric=NAME; several are a list in -f."
        raise ParameterError(Fault(place=f"--choose {text}", what="is not KIND=NAME", fix=fix))
    choose = layouts.setdefault(name, {}).setdefault("choose", {})
    if not isinstance(choose, dict):
        raise ParameterError(Fault(place=f"--choose {text}", what="`choose` in the params file is not a mapping"))
    choose[kind] = value


def _targeted(study: Study, text: str) -> tuple[str, str, str]:
    """Input, target and value of ``[INPUT.]TARGET=VALUE``; without an input it is the study's first."""
    names = [spec.schema.name for spec in study.inputs]
    target, _, value = text.partition("=")
    prefix, dot, rest = target.partition(".")
    return (prefix, rest, value) if dot and prefix in names else (names[0], target, value)


def _add_map(study: Study, text: str, layouts: dict[str, dict[str, Any]]) -> None:
    """A ``--map`` on top of the files; ``INPUT.COLUMN=SOURCE`` maps another input than the first."""
    name, target, source = _targeted(study, text)
    if not target or not source:
        raise ParameterError(
            Fault(place=f"--map {text}", what="is not COLUMN=SOURCE", fix="A mapping file is given with -f.")
        )
    columns = layouts.setdefault(name, {}).setdefault("columns", {})
    if not isinstance(columns, dict):
        raise ParameterError(Fault(place=f"--map {text}", what="`columns` in the params file is not a mapping"))
    columns[target] = source
