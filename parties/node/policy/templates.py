"""Templates: questions that a data owner has approved once, with parameters that a proposer chooses within bounds.

Every other setting has the value that the template gives, or else its default. A rule with `template` permits the jobs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from parties.base.text import instead, listed, quoted
from parties.node.policy.values import Bounds
from smc.errors import InputError

ALIGNMENT = "alignment"  # a job names the matching; a template's bounds are on the number of its rows
Choices = Annotated[tuple[str, ...], Field(min_length=1)]


class Template(BaseModel):
    """A `[template.NAME]` table: further keys are settings of the kind, as in a job file."""

    model_config = ConfigDict(extra="allow", frozen=True)

    protocol: str
    table: str = ""
    peer_table: str = ""  # of the peer's table, at a party that proposes
    purpose: str = ""
    parameters: dict[str, Bounds | Choices] = Field(default_factory=dict)

    def job(self, chosen: Mapping[str, Any]) -> dict[str, Any]:
        """Return the job file of this question with the chosen parameters."""
        head = {key: getattr(self, key) for key in ("protocol", "table", "peer_table", "purpose")}
        return {key: value for key, value in head.items() if value} | (self.model_extra or {}) | dict(chosen)

    def objection(self, chosen: Mapping[str, Any]) -> str:
        """Return the first parameter that is missing, unknown or out of bounds, in words; empty if all fit."""
        for key in chosen:
            if key not in self.parameters:
                takes = f"takes {listed(self.parameters)}" if self.parameters else "takes no parameter"
                return f"{key}: is no parameter of the template, which {takes}"
        for key, allowed in self.parameters.items():
            value = chosen.get(key)
            if not isinstance(allowed, Bounds):
                if value not in allowed:
                    return f"{key}: must be one of {listed(allowed)}"
            elif key == ALIGNMENT and isinstance(value, str):
                continue  # its rows are counted where they are kept
            elif isinstance(value, bool) or not isinstance(value, int | float) or not allowed.fits(value):
                what = "the number of matched rows must be" if key == ALIGNMENT else "must be a number"
                fact = "; it is missing" if value is None else f", not {quoted(str(value))}"
                return f"{key}: {what} {allowed.words()}{fact}"
        return ""


def expanded(fields: Mapping[str, Any], templates: Mapping[str, Template]) -> dict[str, Any]:
    """Return a job file in which the name of a template is replaced by the template's question.

    Args:
        fields: Content of a job file; with `template`, its other keys are parameters and `peer`.
        templates: The templates of party.toml.

    Raises:
        InputError: There is no such template, or a parameter does not fit it.
    """
    if "template" not in fields:
        return dict(fields)
    name = fields["template"]
    if not isinstance(name, str) or name not in templates:
        raise InputError(f"template: there is no template {quoted(str(name))}{instead(str(name), templates)}")
    peer = {key: fields[key] for key in ("peer",) if key in fields}
    chosen = {key: value for key, value in fields.items() if key not in ("template", "peer")}
    if why := templates[name].objection(chosen):
        raise InputError(f"template {quoted(name)}: {why}")
    return templates[name].job(chosen) | peer
