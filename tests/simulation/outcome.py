"""The result of one simulated run: what broke, what was injected, and how to run it again."""

from collections import Counter
from dataclasses import dataclass, field

from tests.simulation.choices import Pick


@dataclass(frozen=True, slots=True)
class Violation:
    """One broken promise. `kind`: the name of the promise; `at`: virtual seconds."""

    kind: str
    at: float
    text: str

    def __str__(self) -> str:
        return f"{self.at:.3f} {self.kind}: {self.text}"


@dataclass(frozen=True, slots=True)
class Outcome:
    """Two runs with the same `digest` took the same steps.

    `trace` has one line for each step; it is empty if the run keeps no trace. `ends`: the
    last phase of each AppWrapper, by its name.
    """

    violations: tuple[Violation, ...]
    digest: str
    deviations: dict[tuple[str, int], int]
    picks: list[Pick]
    ends: dict[str, str]
    lives: int = 0
    virtual_seconds: float = 0.0
    faults: Counter[str] = field(default_factory=Counter)
    trace: tuple[str, ...] = ()

    def kinds(self) -> tuple[str, ...]:
        """Return the names of the broken promises, each once, in the order in which they broke."""
        return tuple(dict.fromkeys(each.kind for each in self.violations))
