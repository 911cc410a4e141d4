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
from analysis import parameters, rules
from analysis.errors import Fault, GatebookError, InputError, ParameterError, plain, raise_all
from analysis.inputs import Input, Layout, close_match, from_frame, read
from analysis.parameters import Given
from analysis.present.format import safe_words
from analysis.present.prose import Sentence, sentence_case
from analysis.present.table import Table, TableColumn
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

    ``decide`` gets the checked inputs and the parameters; ``files`` are what a report folder holds beside the common
    ones; ``size`` answers how much data a question needs.
    """

    slug: str
    title: str
    question: str
    decides: str
    inputs: tuple[InputSpec, ...]
    params: type[BaseModel]
    decide: Callable[[Mapping[str, Input], Any], Outcome]
    notebook: str
    example: Mapping[str, tuple[str, ...]]
    files: Callable[[StudyResult], Mapping[str, str]]
    size_params: type[BaseModel]
    size: Callable[[Any], tuple[Sentence, Table]]

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
        self, data: Mapping[str, Sequence[str | Path]], params: BaseModel, layouts: Mapping[str, Layout] | None = None
    ) -> dict[str, Input]:
        """Read and check every input; all faults of all inputs at once.

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
        tables = [*outcome.tables, _parameter_table(params), _input_table(checked)]
        return StudyResult(
            study=self.slug,
            label=label or default_label(params, data, described),
            signature=signature(self.slug, values, {**data, **described}, rule),
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
        rule = rules.load(rule_path, self.slug)
        params = parameters.build(self.params, [*rule.given, *given])
        rules.agree(rule, parameters.build(self.params, rule.given), params)
        return params, rule

    def open(self, namespace: Mapping[str, Any]) -> Session:
        """Run the study on the parameters of a notebook.

        Parameters
        ----------
        namespace
            The notebook's ``globals()``; only declared names are read.
        """
        before = {name: namespace[name] for name in self.params.model_fields}
        given = [Given(name=name, value=value, source=f"parameters cell, {name}") for name, value in before.items()]
        rule_path = namespace["rule"]
        params, rule = self.resolve(given, Path(rule_path) if rule_path else None)
        layouts = parse_layouts(namespace["layouts"] or {}, "parameters cell")
        data = {name: [paths] if isinstance(paths, str) else paths for name, paths in namespace["data"].items()}
        inputs = self.load(data, params, layouts)
        result = self.run(inputs, params, rule=rule, label=namespace["label"], layouts=layouts)
        return Session(study=self, result=result, before=before, out_dir=namespace["out_dir"])

    def _accepted(self, name: str, given: Input | pd.DataFrame, params: BaseModel) -> Input:
        if isinstance(given, Input):
            return given
        spec = self.spec(name)
        return from_frame(given, spec.schema, demanded=spec.demands(params))


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A study that ran inside a notebook: its result, and where to write it (nowhere unless ``out_dir`` is set)."""

    study: Study
    result: StudyResult
    before: Mapping[str, Any]
    out_dir: str | None

    @property
    def headline(self) -> Sentence:
        """The verdict in one sentence."""
        return Sentence(f"{sentence_case(self.result.gate.verdict)}. {self.result.headline}")

    @property
    def reason(self) -> Sentence:
        """What decided, in words."""
        return Sentence(f"{sentence_case(self.result.gate.verdict)}: {self.result.gate.reason}.")

    @property
    def standing(self) -> Sentence:
        """Whether the rule was written before the numbers were seen."""
        return Sentence(standing(self.result.rule))

    @property
    def signature(self) -> Sentence:
        """The line that lets a reader reproduce the result."""
        return Sentence(self.result.signature)

    def table(self, name: str) -> Table:
        """A table of the result by its id.

        Raises
        ------
        KeyError
            With the known ids.
        """
        if name not in self.result.tables:
            raise KeyError(f"no table {name!r}. {close_match(name, self.result.tables)}")
        return self.result.tables[name]

    def save(self, namespace: Mapping[str, Any]) -> Sentence:
        """Write the result into ``out_dir``; refuse when a later cell overwrote a parameter.

        Raises
        ------
        ParameterError
            Naming the parameter and both values.
        """
        raise_all(
            ParameterError,
            (
                Fault(what=f"a later cell changed {name} from {before!r} to {namespace[name]!r}")
                for name, before in self.before.items()
                if namespace[name] != before
            ),
        )
        if self.out_dir is None:
            return Sentence("Nothing was written: out_dir is not set.")
        files = {**self.result.files(), **self.study.files(self.result)}
        write_files(Path(self.out_dir), files)
        return Sentence(f"Written: result.json and {len(files) - 1} further files.")


def standing(rule: Mapping[str, Any] | None) -> str:
    """In words whether the decision rule was fixed beforehand.

    >>> standing(None)
    'Exploratory: no rule file was given, so nothing shows that the rule was fixed before the numbers were seen.'
    """
    if rule is None:
        return "Exploratory: no rule file was given, so nothing shows that the rule was fixed before the numbers were seen."
    name = rule["source"]
    if rule["written_before"] is None:
        return f"Exploratory: the rule {name} was never registered (gatebook register {name})."
    if rule["written_before"] is False:
        return f"Exploratory: the rule {name} was changed after it was registered."
    return f"The rule {name} was registered and has not changed since (sha256 {rule['sha256'][:12]}…)."


def parse_layouts(given: Mapping[str, Any], source: str) -> dict[str, Layout]:
    """Column mappings by input name.

    Raises
    ------
    ParameterError
        With every key that does not fit.
    """
    layouts, faults = {}, []
    for name, values in given.items():
        try:
            layouts[name] = Layout.model_validate(values)
        except ValidationError as error:
            faults += [
                Fault(
                    place=source,
                    what=f"{'.'.join(map(str, problem['loc']))}: {plain(problem['msg'])}",
                    fix=close_match(str(problem["loc"][0]) if problem["loc"] else "", Layout.model_fields) + ".",
                )
                for problem in error.errors()
            ]
    raise_all(ParameterError, faults)
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
    return "-".join([*parts, digest])[-100:].lstrip("-.")


def parameters_source(study: Study) -> str:
    """The source of the notebook's ``parameters`` cell: files first, then every parameter of the study."""
    data = {name: [f"../data/examples/{path}" for path in paths] for name, paths in study.example.items()}
    files = "\n".join(
        [
            f"data: dict[str, list[str]] = {data!r}  # input files by name",
            "layouts: dict | None = None  # how the columns of foreign files map, by input name",
            "rule: str | None = None  # decision rule file",
            "label: str | None = None  # name of the report; derived when not given",
            "out_dir: str | None = None  # where to write the result; nothing is written when not set",
        ]
    )
    return parameters.cell_source(study.params, files)


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


def _short(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _parameter_table(params: BaseModel) -> Table:
    rows = tuple(
        (
            item.name,
            _short(getattr(params, item.name)),
            "" if getattr(params, item.name) == item.default else _short(item.default),
            parameters.comment(item),
        )
        for item in parameters.describe(type(params))
    )
    return Table(
        id="parameters",
        title="Every parameter of this report, also those left at their default.",
        columns=(
            TableColumn(key="name", label="Parameter"),
            TableColumn(key="value", label="Value"),
            TableColumn(key="default", label="Default, where it differs"),
            TableColumn(key="help", label="Meaning", kind="text"),
        ),
        rows=rows,
    )


def _input_table(inputs: Mapping[str, Input]) -> Table:
    return Table(
        id="inputs",
        title="Input files.",
        columns=(
            TableColumn(key="name", label="Input"),
            TableColumn(key="file", label="File"),
            TableColumn(key="rows", label="Rows", kind="count"),
            TableColumn(key="sha256", label="SHA-256"),
        ),
        rows=tuple((name, file.file, file.rows, file.sha256) for name, given in inputs.items() for file in given.files),
        notes=tuple(given.reconciliation + "." for given in inputs.values()),
    )
