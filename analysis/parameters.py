"""A study's parameters: from command line, file, rule or notebook to one typed, frozen model, all faults at once."""

from __future__ import annotations

import json
import types
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

from analysis.errors import Fault, ParameterError, close_match, is_whole, plain, raise_all
from analysis.secrets import HIDDEN, Secret

CONFIG = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)
Model = TypeVar("Model", bound=BaseModel)

EXTRA, MISSING = "Extra inputs are not permitted", "Field required"  # pydantic's words


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """One parameter as somebody gave it.

    ``text`` is true where the value is text whose type the declaration decides (YAML), false where it already has a
    type (a notebook, JSON).
    """

    name: str
    value: Any
    source: str
    text: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Described:
    """One declared parameter, for people: name, type, default, range and help."""

    name: str
    type: str
    default: Any
    range: str
    help: str


def from_option(model: type[BaseModel], option: str, flag: str = "-p ") -> Given:
    """Read ``NAME=VALUE`` from the command line. A list or object is JSON; a text parameter keeps its spelling.

    ``flag`` is how the user wrote it, for messages.

    Raises
    ------
    ParameterError
        When there is no ``=`` or the JSON of a list or object is broken.
    """
    name, equals, text = option.partition("=")
    source = f"{flag}{name.rstrip('_')}"
    if not equals:
        raise ParameterError(Fault(place=f"-p {plain(option)}", what="has no value", fix="Write -p NAME=VALUE."))
    field = model.model_fields.get(name)
    if field is None or _accepts_only_text(field.annotation):
        return Given(name=name, value=text, source=source)
    looks_json = text[:1] in {"[", "{"} or not _accepts_text(field.annotation)
    if not looks_json:
        return Given(name=name, value=text, source=source)
    try:
        return Given(name=name, value=json.loads(text, parse_constant=_no_constant), source=source)
    except (ValueError, RecursionError):
        return Given(name=name, value=text, source=source, text=True)


def build(model: type[Model], given: Sequence[Given]) -> Model:
    """The validated parameters; a later value wins over an earlier one.

    Raises
    ------
    ParameterError
        Every unknown name, wrong type and value out of range, each with its source and the way out.
    """
    faults: list[Fault] = []
    values: dict[str, Any] = {}
    sources: dict[str, str] = {}
    for item in given:
        field = model.model_fields.get(item.name)
        if field is None:
            faults.append(
                Fault(
                    place=item.source,
                    what=f"unknown parameter {plain(item.name)}",
                    fix="A rule file is given with --rule."
                    if item.name == "rule"
                    else close_match(item.name, model.model_fields) + ".",
                )
            )
            continue
        try:
            value = _validated(field, item)
        except ValidationError as error:
            faults += [_fault(item, field, problem["msg"], problem["loc"]) for problem in error.errors()]
            continue
        if not is_whole(json.dumps(value, ensure_ascii=False, default=str)):
            faults.append(_fault(item, field, "holds half a character", ()))
        values[item.name], sources[item.name] = value, item.source
    raise_all(ParameterError, faults)
    try:
        return model.model_validate(values)
    except ValidationError as error:
        raise ParameterError(
            *(
                Fault(place=sources.get(str((problem["loc"] or ("",))[0]), "parameters"), what=_clean(problem["msg"]))
                for problem in error.errors()
            )
        ) from error


def describe(model: type[BaseModel]) -> list[Described]:
    """The declared parameters in order."""
    return [
        Described(
            name=name,
            type=type_name(field.annotation),
            default=field.get_default(call_default_factory=True),
            range=_range(field),
            help=field.description or "",
        )
        for name, field in model.model_fields.items()
    ]


def cell_source(model: type[BaseModel], first: str) -> str:
    """The source of a notebook's ``parameters`` cell: ``first`` (the file parameters), then name, type, default, help."""
    lines = [first.rstrip("\n")]
    for item in describe(model):
        annotation = type_name(item.type) if not item.type.startswith("one of") else "str"
        lines.append(f"{item.name}: {annotation} = {item.default!r}  # {comment(item)}")
    return "\n".join(lines)


def comment(item: Described) -> str:
    """Help, choices and range of a parameter in one line."""
    extra = [part for part in (item.type if item.type.startswith("one of") else "", item.range) if part]
    return f"{item.help} ({'; '.join(extra)})" if extra else item.help


def type_name(annotation: Any) -> str:
    """A type as a person writes it.

    >>> type_name(dict[str, str] | None), type_name(Literal["a", "b"])
    ('dict[str, str] | None', 'one of a | b')
    """
    if isinstance(annotation, str):
        return annotation
    if get_origin(annotation) is Literal:
        return "one of " + " | ".join(map(str, get_args(annotation)))
    if get_origin(annotation) in {Union, types.UnionType}:
        return " | ".join("str" if get_origin(part) is Literal else type_name(part) for part in get_args(annotation))
    if annotation is type(None):
        return "None"
    if annotation is Secret:
        return "str"
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return "dict"
    if get_origin(annotation) is not None:
        inner = ", ".join(type_name(part) for part in get_args(annotation))
        return f"{get_origin(annotation).__name__}[{inner}]"
    return str(getattr(annotation, "__name__", annotation))


def secret_names(model: type[BaseModel]) -> set[str]:
    """The parameters that must not be told."""
    return {name for name, field in model.model_fields.items() if _is_secret(field.annotation)}


def changed(params: BaseModel) -> Mapping[str, Any]:
    """The parameters that differ from their defaults."""
    return {
        item.name: getattr(params, item.name)
        for item in describe(type(params))
        if getattr(params, item.name) != item.default
    }


def _adapter(field: FieldInfo) -> TypeAdapter[Any]:
    annotated: Any = Annotated[(field.annotation, *field.metadata)] if field.metadata else field.annotation
    return TypeAdapter(annotated, config=ConfigDict(allow_inf_nan=False))


def _validated(field: FieldInfo, item: Given) -> Any:
    """The value in its declared type; a mapping that stands for a model is checked as JSON, where it may."""
    if isinstance(item.value, dict) and not item.text and model_of(field.annotation) is not None:
        return _adapter(field).validate_json(json.dumps(item.value), strict=True)
    return _adapter(field).validate_python(item.value, strict=not item.text)


def model_of(annotation: Any) -> type[BaseModel] | None:
    """The model among the types of a parameter, if there is one."""
    parts = get_args(annotation) if get_origin(annotation) in {Union, types.UnionType} else (annotation,)
    return next((part for part in parts if isinstance(part, type) and issubclass(part, BaseModel)), None)


def _is_secret(annotation: Any) -> bool:
    return annotation is Secret or any(_is_secret(part) for part in get_args(annotation))


def _accepts_text(annotation: Any) -> bool:
    if get_origin(annotation) in {Union, types.UnionType}:
        return any(_accepts_text(part) for part in get_args(annotation))
    return annotation in {str, Secret} or get_origin(annotation) is Literal


def _accepts_only_text(annotation: Any) -> bool:
    if get_origin(annotation) in {Union, types.UnionType}:
        return all(part is type(None) or _accepts_only_text(part) for part in get_args(annotation))
    return annotation in {str, Secret} or get_origin(annotation) is Literal


def _no_constant(text: str) -> float:
    raise ValueError(text)


def _range(field: FieldInfo) -> str:
    words = {"ge": "≥", "gt": ">", "le": "≤", "lt": "<", "min_length": "at least", "max_length": "at most"}
    parts = []
    for constraint in field.metadata:
        for name, symbol in words.items():
            limit = getattr(constraint, name, None)
            if limit is not None:
                parts.append(f"{symbol} {limit:g}" + (" entries" if "length" in name else ""))
    return ", ".join(parts)


def _fault(item: Given, field: FieldInfo, message: str, where: tuple[int | str, ...]) -> Fault:
    inside = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in where)
    if model_of(field.annotation) is None:
        inside = "".join(f"[{part}]" for part in where if isinstance(part, int))
    allowed = ", ".join(part for part in (type_name(field.annotation), _range(field)) if part)
    value = item.value
    for part in where if model_of(field.annotation) is not None else ():
        value = value[part] if _holds(value, part) else value  # what is not there is the tag of a kind
    shown = HIDDEN if _is_secret(field.annotation) else plain(repr(value), width=60)
    what = f"{item.name}{inside} = {shown}: {_clean(message)}"
    return Fault(
        place=item.source,
        what=f"{item.name}{inside} is missing" if message == MISSING else what,
        fix=f"{item.name}: {field.description} ({allowed}).",
    )


def _holds(value: Any, part: int | str) -> bool:
    return (isinstance(value, dict) and part in value) or (
        isinstance(value, list) and isinstance(part, int) and part < len(value)
    )


def _clean(message: str) -> str:
    return "no such key" if message == EXTRA else plain(message.removeprefix("Value error, ")).rstrip(".")
