"""Reads the alerts of deploy/monitoring."""

import re
from dataclasses import dataclass
from typing import Final

from shared.api.objects import JsonObject
from tests.support.manifests import ROOT, documents

FOLDER: Final = ROOT / "deploy" / "monitoring"
_THRESHOLD: Final = re.compile(r"(?<= [<>] )\d+$")


@dataclass(frozen=True, slots=True)
class Alert:
    """One rule of rules.yaml."""

    rule: JsonObject

    @property
    def name(self) -> str:
        return str(self.rule["alert"])

    @property
    def runbook(self) -> str:
        """The path of the runbook in this repository, with the section's anchor."""
        return str(self.rule["annotations"]["runbook_url"])

    @property
    def section(self) -> str:
        return self.runbook.partition("#")[2]

    @property
    def threshold(self) -> float:
        """The number at the end of its expression."""
        found = _THRESHOLD.search(self.rule["expr"])
        assert found is not None, f"{self.name} has no threshold"
        return float(found[0])

    def expression(self, threshold: float | None = None) -> str:
        """Its expression, with another threshold if one is given."""
        expression = str(self.rule["expr"])
        return expression if threshold is None else _THRESHOLD.sub(f"{threshold:.15g}", expression)


(_OBJECT,) = documents(FOLDER / "rules.yaml")
ALERTS: Final = [Alert(rule) for group in _OBJECT["spec"]["groups"] for rule in group["rules"]]
