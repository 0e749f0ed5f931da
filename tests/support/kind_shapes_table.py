"""The recorded table: what the real API server and operators made of each shape of each Kind."""

from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Final, Self

import jsonpatch
import yaml

from shared.api.objects import JsonObject
from shared.kinds.table import pod_sets_once_admitted
from tests.support.builders.admission import component, errors_of, patch_of, queued, team_facts
from tests.support.builders.kind_shapes import beside

FILE: Final = Path(__file__).resolve().parents[1] / "golden" / "kind-shapes.yaml"
_HEAD: Final = """\
# What the API server and the Kind's real operator made of each shape, and what our webhook answers.
# Written by `python -m tests.support.record_kind_shapes`; a unit test compares the answers.
# `pods`: the most pods at one time. `server`: why the API server or an operator's webhook refused.
# `counted`: the pods for which an AppWrapper reserves quota. `refused`: our first error.
"""


@dataclass(frozen=True, slots=True)
class Made:
    """What came of an object that was created without an AppWrapper."""

    pods: int
    refused: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """What the webhook answers in a team's namespace to an AppWrapper with the object."""

    counted: int
    refused: str = ""

    @classmethod
    def to(cls, template: JsonObject) -> Self:
        known = team_facts()
        submitted = queued(*map(component, [template, *beside(template)]))
        stored: Any = jsonpatch.apply_patch(submitted, patch_of(submitted, known=known))
        if errors := errors_of(stored, known=known):
            return cls(0, errors[0].removeprefix("spec.components[0]."))
        pod_sets = map(pod_sets_once_admitted, stored["spec"]["components"])
        return cls(sum(each.replicas for each in chain.from_iterable(pod_sets)))


Table = dict[str, dict[str, tuple[Made, Answer]]]


def read_table() -> Table:
    """By Kind and name of the shape."""
    rows = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    return {
        kind: {
            name: (
                Made(row.get("pods", 0), row.get("server", "")),
                Answer(row.get("counted", 0), row.get("refused", "")),
            )
            for name, row in shapes.items()
        }
        for kind, shapes in rows.items()
    }


def write_table(table: Table) -> None:
    """One row a shape."""
    rows = {
        kind: {name: _row(*found) for name, found in shapes.items()}
        for kind, shapes in table.items()
    }
    text = yaml.safe_dump(rows, sort_keys=False, allow_unicode=True, width=1000)
    FILE.write_text(_HEAD + text, encoding="utf-8")


def _row(made: Made, answer: Answer) -> JsonObject:
    server: JsonObject = {"server": made.refused} if made.refused else {"pods": made.pods}
    ours: JsonObject = (
        {"refused": answer.refused} if answer.refused else {"counted": answer.counted}
    )
    return server | ours
