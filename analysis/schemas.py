"""JSON Schemas made from what is declared, for editors that complete and check as one types."""

from __future__ import annotations

from typing import Any

from analysis.catalogue import STUDIES
from analysis.parameters import comment, describe, model_of
from analysis.results import dumps
from analysis.study import Study

DRAFT = "https://json-schema.org/draft/2020-12/schema"


def rule_schema() -> str:
    """The JSON Schema of a rule or pre-registration file, of whatever study."""
    kinds, shared = [], {}
    for study in STUDIES:
        kind = _whole(study) if study.rule_parameter else _of_parameters(study)
        shared.update(kind.pop("$defs", {}))
        kinds.append(kind)
    return dumps({"$schema": DRAFT, "title": "a decision rule of Gatebook", "oneOf": kinds, "$defs": shared})


def parameters_schema(study: Study) -> dict[str, Any]:
    """The parameters of a study by name; which values fit is told when they are read."""
    return {
        "type": "object",
        "propertyNames": {"enum": list(study.params.model_fields)},
        "properties": {
            item.name: {"description": comment(item), "default": item.default} for item in describe(study.params)
        },
    }


def _of_parameters(study: Study) -> dict[str, Any]:
    """A rule that fixes parameters of a study."""
    return {
        "title": f"a rule for {study.slug}",
        "type": "object",
        "properties": {
            "version": {"const": 1},
            "study": {"const": study.slug},
            "decision_rule": {"type": "string", "description": "what the rule is called"},
            "parameters": {**parameters_schema(study), "minProperties": 1},
        },
        "required": ["version", "study", "decision_rule", "parameters"],
        "additionalProperties": False,
    }


def _whole(study: Study) -> dict[str, Any]:
    """A rule whose clauses are one parameter of the study."""
    model = model_of(study.params.model_fields[str(study.rule_parameter)].annotation)
    if model is None:
        raise TypeError(f"{study.slug}: {study.rule_parameter} is no model")
    schema = model.model_json_schema()
    schema["title"] = f"a rule for {study.slug}"
    schema["properties"] = {"version": {"const": 1}, **schema["properties"]}
    schema["required"] = ["version", *schema.get("required", [])]
    return schema
