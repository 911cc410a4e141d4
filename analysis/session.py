"""A study inside a notebook: opened on the notebook's parameters, shown cell by cell, written where it is asked to."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from analysis import parameters
from analysis.errors import Fault, ParameterError, close_match, raise_all
from analysis.inputs import Input
from analysis.parameters import Given
from analysis.present.explore import answers, listed
from analysis.present.prose import Sentence, sentence_case
from analysis.present.table import Table
from analysis.results import StudyResult
from analysis.study import Study, parse_layouts, write_files


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A study that ran inside a notebook: its result, and where to write it (nowhere unless ``out_dir`` is set)."""

    study: Study
    result: StudyResult
    before: Mapping[str, Any]
    out_dir: str | None
    inputs: Mapping[str, Input]

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

    def what_if(self, **values: Any) -> Table:
        """The same data under other parameters, a row for each combination; nothing of it is written.

        Parameters
        ----------
        values
            A value, or a list of values, for each parameter that is to change.

        Raises
        ------
        ParameterError
            A name or a value that the study does not know.
        InputError
            The data do not fit the other parameters.

        Examples
        --------
        In a notebook: ``report.what_if(tau=[0.65, 0.7, 0.75])``.
        """
        rows = []
        for chosen in itertools.product(*map(listed, values.values())):
            result = self.study.run(self.inputs, self._params(dict(zip(values, chosen, strict=True))))
            rows.append((chosen, result.gate.verdict, result.headline))
        return answers(list(values), rows)

    def around(self, name: str, step: float) -> Table:
        """The verdict a step below, at and above the value of a parameter; a step out of its range is left out.

        Raises
        ------
        ParameterError
            A name that the study does not know, or a parameter that is no number.
        """
        value = self.before.get(name, 0)
        if isinstance(value, bool) or not isinstance(value, int | float) or not isinstance(step, int | float):
            raise ParameterError(
                Fault(place="around", what=f"{name}, or the step, is no number", fix=f"report.what_if({name}=[…])")
            )
        near = [value + sign * step if sign else value for sign in (-1, 0, 1)]
        near = [type(value)(round(other, 12)) for other in near]
        return self.what_if(**{name: [other for other in near if other == value or self._allows(name, other)]})

    def _params(self, changes: Mapping[str, Any]) -> BaseModel:
        given = [
            Given(name=name, value=value, source=f"what_if, {name}")
            for name, value in {**self.before, **changes}.items()
        ]
        return parameters.build(self.study.params, given)

    def _allows(self, name: str, value: Any) -> bool:
        try:
            self._params({name: value})
        except ParameterError:
            return False
        return True

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


def open_report(study: Study, namespace: Mapping[str, Any]) -> Session:
    """Run a study on the parameters of a notebook.

    Parameters
    ----------
    namespace
        The notebook's ``globals()``; only declared names are read.

    Raises
    ------
    UsageError
        With every fault of parameters, rule and inputs.
    """
    before = {name: namespace[name] for name in study.params.model_fields}
    given = [Given(name=name, value=value, source=f"parameters cell, {name}") for name, value in before.items()]
    rule_path = namespace["rule"]
    params, rule = study.resolve(given, Path(rule_path) if rule_path else None)
    layouts = parse_layouts(namespace["layouts"] or {}, "parameters cell")
    data = {name: [paths] if isinstance(paths, str) else paths for name, paths in namespace["data"].items()}
    inputs = study.load(data, params, layouts)
    result = study.run(inputs, params, rule=rule, label=namespace["label"], layouts=layouts)
    return Session(study=study, result=result, before=before, out_dir=namespace["out_dir"], inputs=inputs)


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
