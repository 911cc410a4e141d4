"""What a study is, and the one way from its inputs to a signed result, shared by command line, library and notebook."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from pydantic import BaseModel, ValidationError

import analysis
from analysis import parameters, rules, sections
from analysis.errors import Fault, GatebookError, InputError, ParameterError, close_match, is_whole, plain, raise_all
from analysis.inputs import Input, from_frame, read
from analysis.layouts import SHAPES, UNION_TAGS, Layout
from analysis.parameters import Given
from analysis.present.format import safe_words
from analysis.present.prose import Sentence
from analysis.present.table import Table
from analysis.readers.files import Advance
from analysis.results import Outcome, StudyResult, dumps
from analysis.rules import Rule
from analysis.schema import Demanded, Schema


@dataclass(frozen=True, slots=True, kw_only=True)
class InputSpec:
    """One input of a study. ``demands`` says which columns the parameters ask for beyond the schema."""

    schema: Schema
    help: str
    required: bool = True
    demands: Callable[[Any], Demanded] = lambda params: Demanded()


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """A study: what it reads, what can be set, how it decides, which notebook shows it.

    ``decide`` gets the checked inputs and the parameters; ``check`` finds the same faults without deciding and says what
    would be judged; ``files`` are what a report folder holds beside the common
    ones; ``size`` answers how much data a question needs. ``rule_parameter`` is the parameter that a rule file is as a whole;
    ``next_questions`` are cells, prose and code, that a working copy in JupyterLab ends with.
    """

    slug: str
    title: str
    question: str
    decides: str
    inputs: tuple[InputSpec, ...]
    params: type[BaseModel]
    decide: Callable[[Mapping[str, Input], Any], Outcome]
    check: Callable[[Mapping[str, Input], Any], str]
    notebook: str
    example: Mapping[str, tuple[str, ...]]
    files: Callable[[StudyResult], Mapping[str, str]]
    size_params: type[BaseModel]
    size: Callable[[Any], tuple[Sentence, Table]]
    rule_parameter: str | None = None
    next_questions: tuple[tuple[str, str], ...] = ()

    @property
    def notebook_path(self) -> Path:
        """Where its notebook lies."""
        return share_folder() / "notebooks" / self.notebook

    def spec(self, name: str) -> InputSpec:
        """The input of that name.

        Raises
        ------
        InputError
            With the known names.
        """
        for spec in self.inputs:
            if spec.schema.name == name:
                return spec
        known = [spec.schema.name for spec in self.inputs]
        raise InputError(
            Fault(what=f"{self.slug} has no input {plain(repr(name))}", fix=close_match(name, known) + ".")
        )

    def load(
        self,
        data: Mapping[str, Sequence[str | Path]],
        params: BaseModel,
        layouts: Mapping[str, Layout] | None = None,
        advance: Advance | None = None,
    ) -> dict[str, Input]:
        """Read and check every input; all faults of all inputs at once. ``advance`` is told how many bytes were read.

        Raises
        ------
        InputError
            With file, line, column and value of every fault.
        """
        faults: list[Fault] = []
        inputs: dict[str, Input] = {}
        for name, paths in data.items():
            spec = self.spec(name)
            try:
                inputs[name] = read(
                    paths,
                    spec.schema,
                    layout=(layouts or {}).get(name),
                    demanded=spec.demands(params),
                    advance=advance,
                )
            except InputError as error:
                faults += error.faults
        for spec in self.inputs:
            if spec.required and spec.schema.name not in data:
                faults.append(
                    Fault(
                        what=f"the input {spec.schema.name} is missing: {spec.help}",
                        fix=f"Give it: --data {spec.schema.name}=PATH.",
                    )
                )
        raise_all(InputError, faults)
        return inputs

    def run(
        self,
        inputs: Mapping[str, Input | pd.DataFrame],
        params: BaseModel,
        *,
        rule: Rule | None = None,
        label: str | None = None,
        layouts: Mapping[str, Layout] | None = None,
    ) -> StudyResult:
        """Decide, label and sign.

        Parameters
        ----------
        inputs
            Data frames or checked inputs, by name.
        params
            An instance of the study's parameter model.

        Raises
        ------
        InputError
            When the data do not fit.
        """
        checked = {name: self._accepted(name, given, params) for name, given in inputs.items()}
        missing = [spec.schema.name for spec in self.inputs if spec.required and spec.schema.name not in checked]
        raise_all(InputError, (Fault(what=f"the input {name} is missing") for name in missing))
        outcome = self.decide(checked, params)
        values = params.model_dump(mode="json")
        described = {
            name: layout.model_dump(mode="json", exclude_defaults=True) for name, layout in (layouts or {}).items()
        }
        data = {name: checked[name].sha256 for name in sorted(checked)}
        tables = [*outcome.tables, sections.parameters_table(params), sections.inputs_table(checked)]
        return StudyResult(
            study=self.slug,
            label=label or default_label(params, data, described),
            signature=signature(self.slug, values, {"files": data, "layouts": described}, rule),
            parameters=values,
            inputs=tuple(
                {"name": name, "file": file.file, "sha256": file.sha256, "rows": file.rows}
                for name, given in checked.items()
                for file in given.files
            ),
            layouts=described,
            rule=rule.to_json() if rule else None,
            gate=outcome.gate,
            headline=outcome.headline,
            units=outcome.units,
            tables={table.id: table for table in tables},
            figures=outcome.figures,
        )

    def resolve(self, given: Sequence[Given], rule_path: Path | None) -> tuple[BaseModel, Rule | None]:
        """Parameters and rule together; a parameter that contradicts the rule is refused.

        Raises
        ------
        ParameterError, RuleError
            With every fault.
        """
        if rule_path is None:
            return parameters.build(self.params, given), None
        rule = rules.load(rule_path, self.slug, whole=self.rule_parameter)
        params = parameters.build(self.params, [*rule.given, *given])
        rules.agree(rule, parameters.build(self.params, rule.given), params)
        return params, rule

    def _accepted(self, name: str, given: Input | pd.DataFrame, params: BaseModel) -> Input:
        if isinstance(given, Input):
            return given
        spec = self.spec(name)
        return from_frame(given, spec.schema, demanded=spec.demands(params))


def parse_layouts(given: Mapping[str, Any], source: str) -> dict[str, Layout]:
    """Column mappings by input name.

    Raises
    ------
    ParameterError
        With every key that does not fit.
    """
    layouts: dict[str, Layout] = {}
    faults: dict[str, Fault] = {}
    for name, values in given.items():
        if not is_whole(json.dumps(values, ensure_ascii=False, default=str)):
            faults[name] = Fault(place=source, what="holds half a character", fix="Write it from text that is whole.")
            continue
        try:
            layouts[name] = Layout.model_validate(values)
        except ValidationError as error:
            for problem in error.errors():
                where = [str(part) for part in problem["loc"]]
                key = where[0] if where else ""
                path = ".".join([key, *(part for part in where[1:] if part not in UNION_TAGS)])
                fix = f"Write {SHAPES[key]}." if key in SHAPES else f"{close_match(key, Layout.model_fields)}."
                faults.setdefault(path, Fault(place=source, what=f"{path}: {plain(problem['msg'])}", fix=fix))
    raise_all(ParameterError, faults.values())
    return layouts


def signature(study: str, values: Mapping[str, Any], data: Mapping[str, Any], rule: Rule | None) -> str:
    """One line that lets a reader reproduce the result."""
    return " ".join(
        [
            f"study={study}",
            f"method={values['method']}",
            f"params={_hex(values)}",
            f"data={_hex(data)}",
            f"rule={rule.sha256[:6] if rule else 'none'}",
            f"seed={values['seed']}",
            f"gatebook={analysis.__version__}",
        ]
    )


def default_label(params: BaseModel, data: Mapping[str, str], layouts: Mapping[str, Any]) -> str:
    """The parameters that differ from their defaults as ``name-value``, then six hex digits of everything."""
    values = params.model_dump(mode="json")
    parts = [safe_words(f"{name} {_words(value)}")[:40] for name, value in parameters.changed(params).items()]
    digest = _hex({"params": values, "data": data, "layouts": layouts})
    return "-".join([part for part in ["-".join(parts)[:90].strip("-.")] if part] + [digest])


def share_folder() -> Path:
    """The folder that holds ``notebooks``, ``templates`` and ``data``: inside an installed package, or the checkout."""
    package = Path(__file__).resolve().parent
    shared = package / "_share"
    return shared if shared.is_dir() else package.parent


def write_files(folder: Path, files: Mapping[str, str]) -> None:
    r"""Write text files, UTF-8 with ``\n`` line ends, below a folder; a path that leaves it is refused.

    Raises
    ------
    GatebookError
        When a name points outside.
    """
    root = folder.resolve()
    for name, text in files.items():
        path = (root / name).resolve()
        if not path.is_relative_to(root):
            raise GatebookError(Fault(what=f"{plain(name)} leaves the report folder"))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")


def _hex(value: Any) -> str:
    return hashlib.sha256(dumps(value).encode()).hexdigest()[:6]


def _words(value: Any) -> str:
    if isinstance(value, dict):
        return " ".join(f"{key} {_words(held)}" for key, held in value.items())
    return " ".join(map(_words, value)) if isinstance(value, list) else str(value)
