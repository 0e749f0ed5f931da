"""A run as `python -m bench --json FILE` writes it, to be read again."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Self

import orjson

from bench.circumstances import Circumstances
from bench.report import markdown
from bench.results import ResultSection
from shared.api.objects import JsonObject


@dataclass(frozen=True, slots=True)
class Recorded:
    """One run: its circumstances, and its sections by part of the benchmark."""

    circumstances: Circumstances
    sections: Mapping[str, ResultSection]

    @classmethod
    def read(cls, file: Path) -> Self:
        """Raises ValueError if the file is not as `python -m bench --json` writes it."""
        stored: JsonObject = orjson.loads(file.read_bytes())
        try:
            circumstances = {each.name: stored[each.name] for each in fields(Circumstances)}
            sections = {each["part"]: ResultSection.from_json(each) for each in stored["sections"]}
        except KeyError as missing:
            raise ValueError(f"{file}: there is no {missing}; write it with --json again") from None
        recorded = cls(Circumstances(**circumstances), sections)
        if recorded.as_json() != stored:
            raise ValueError(f"{file}: medians or ratios differ from the rounds; was it edited?")
        return recorded

    def as_json(self) -> JsonObject:
        """Returns the results for programs; each section has the name of its part."""
        sections = [{"part": part} | each.as_json() for part, each in self.sections.items()]
        return self.circumstances.as_json() | {"sections": sections}

    def markdown(self) -> str:
        """Returns the circumstances, then the tables of all sections."""
        return markdown([*self.sections.values()], self.circumstances)
