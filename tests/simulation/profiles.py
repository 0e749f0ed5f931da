"""Random worlds: what may happen in them, and how likely. Every draw is a pick."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeVar

from shared.api.objects import JsonObject
from tests.simulation import workloads
from tests.simulation.actors.kueue.settings import IMPATIENT, OLDEST, WITH_JOBS, Settings
from tests.simulation.choices import Choices
from tests.simulation.faults import odds
from tests.simulation.scenarios import Act, Scenario
from tests.simulation.workloads import config_map, wrapped

T = TypeVar("T")
Odds = Mapping[str, Sequence[float]]

NOTHING: Final = "nothing"
_HORIZON: Final = 120.0
_MOMENTS: Final = tuple(each / 8 for each in range(8, int(_HORIZON * 8)))
_ARRIVALS: Final = tuple(each / 8 for each in range(8, 240))


@dataclass(frozen=True, slots=True)
class Profile:
    """`acts`: how many acts are drawn, each from `what` with its weight. `odds`: of the faults.

    `kinds`: the weights of the Kinds of components. `pods_fail`: pods may end in other ways than
    their templates prescribe. `pods_vanish`: how probable it is that an ended pod is removed.
    `skews` and `leased`: as in `Scenario`. `kueue`: the configurations of Kueue, each with its
    weight.
    """

    lives: int = 4
    acts: int = 0
    what: Mapping[str, float] = field(default_factory=dict)
    odds: Odds = field(default_factory=dict)
    kinds: Mapping[str, float] = field(default_factory=lambda: {"Job": 1.0})
    pods_fail: bool = False
    pods_vanish: float = 0.0
    skews: tuple[float, ...] = (0.0,)
    leased: bool = False
    kueue: Sequence[tuple[Settings, float]] = ((Settings(), 0.4), (WITH_JOBS, 0.4), (OLDEST, 0.2))


_USERS: Final = {
    "evict": 3.0,
    "delete": 1.0,
    "delete component": 1.0,
    "delete pod": 1.0,
    "evacuate": 1.0,
    "hold": 0.3,
    "deactivate": 0.5,
    "delete Workload": 0.5,
    "hold AppWrapper": 0.5,
}
_LASTS: Final = frozenset(
    {
        "hold",
        "hold AppWrapper",
        "deactivate",
        "evacuate",
        "silence",
        "remove node",
        "lose node",
        "outage",
        "freeze",
    }
)
_NODES: Final = {
    "evacuate": 3.0,
    "silence": 2.0,
    "remove node": 1.0,
    "lose node": 1.0,
    "evict": 1.0,
    "delete pod": 1.0,
}
_LATENCY: Final = {"latency": (0.9, 0.08, 0.015, 0.005), "event": (0.9, 0.06, 0.03, 0.01)}
# Another client acts right after a write.
_OTHERS: Final = {
    "then_annotate": 1.0,
    **dict.fromkeys(
        ("then_suspend", "then_delete_pod", "then_delete_component", "then_delete"), 0.3
    ),
}
_API: Final[Odds] = {
    **_LATENCY,
    "write": odds(
        "write",
        0.08,
        crash_before=0,
        crash_after=0,
        late_2=0,
        late_6=0,
        late_15=0,
        freeze_20=0,
        freeze_90=0,
        **_OTHERS,
    ),
    "read": odds("read", 0.04, crash_before=0, freeze_20=0),
    "watch": odds("watch", 0.2),
}
_FEW: Final = {"429": 0.3, "500": 0.3, "409": 0.3, "freeze_20": 0.0, "freeze_90": 0.0}
_QUIET_CRASHES: Final[Odds] = {
    **_LATENCY,
    "write": odds("write", 0.06, **_FEW),
    "read": odds("read", 0.02, freeze_20=0),
}
_CRASHES: Final[Odds] = {**_QUIET_CRASHES, "write": odds("write", 0.06, **_FEW, **_OTHERS)}
_FREEZES: Final[Odds] = {
    **_LATENCY,
    "write": odds("write", 0.04, **{"429": 0, "500": 0, "409": 0, "freeze_20": 6, "freeze_90": 6}),
    "read": odds("read", 0.02, freeze_20=6),
}
_LEASED: Final[Odds] = {
    **_LATENCY,
    "write": odds("write", 0.04, **{"429": 0.3, "500": 0.3, "409": 0.3, "freeze_20": 3}),
    "read": odds("read", 0.02, freeze_20=3),
    "watch": odds("watch", 0.1),
}
_OPERATED: Final = {
    "Job": 1.0,
    "PyTorchJob": 3.0,
    "JobSet": 2.0,
    "RayCluster": 0.5,
    "LeaderWorkerSet": 0.5,
}

PROFILES: Final[dict[str, Profile]] = {
    "calm": Profile(),
    "events": Profile(acts=6, what=_USERS, pods_fail=True),
    "faults": Profile(acts=6, what={**_USERS, "outage": 1.0}, odds=_API, pods_fail=True),
    "crashes": Profile(acts=8, what={**_USERS, "crash": 3.0}, odds=_CRASHES, pods_fail=True),
    "quiet crashes": Profile(acts=4, what={"crash": 1.0}, odds=_QUIET_CRASHES),
    "nodes": Profile(acts=6, what=_NODES, odds=_LATENCY, pods_fail=True, pods_vanish=0.2),
    "dual": Profile(acts=6, what=_USERS, odds=_LATENCY, pods_fail=True, skews=(0.0, 45.0)),
    "operators": Profile(
        acts=6, what=_USERS, odds=_LATENCY, kinds=_OPERATED, pods_fail=True, pods_vanish=0.1
    ),
    "operators crash": Profile(
        acts=8, what={**_USERS, "crash": 3.0}, odds=_CRASHES, kinds=_OPERATED, pods_fail=True
    ),
    "impatient Kueue": Profile(
        acts=4, what=_USERS, odds=_LATENCY, pods_fail=True, kueue=((IMPATIENT, 1.0),)
    ),
    "freeze": Profile(acts=6, what={**_USERS, "freeze": 3.0}, odds=_FREEZES, pods_fail=True),
    "leases": Profile(
        acts=8,
        what={**_USERS, "crash": 2.0, "freeze": 3.0, "outage": 2.0},
        odds=_LEASED,
        pods_fail=True,
        skews=(0.0, 45.0),
        leased=True,
    ),
}


def draw(choices: Choices, name: str) -> Scenario:
    """Draw a random scenario of a profile."""
    return _Drawing(choices, PROFILES[name]).scenario(name)


_ENDLESS: Final = frozenset({"RayCluster", "LeaderWorkerSet"})


def _is_endless(body: JsonObject) -> bool:
    """True if a user must delete the AppWrapper: a component does not end by itself."""
    return any(each["template"]["kind"] in _ENDLESS for each in body["spec"]["components"])


class _Drawing:
    def __init__(self, choices: Choices, profile: Profile) -> None:
        self._choices = choices
        self._profile = profile

    def scenario(self, name: str) -> Scenario:
        profile = self._profile
        names = [f"a{number}" for number in range(profile.lives)]
        bodies = tuple(
            (self._pick(f"{each} arrives", _ARRIVALS), self._body(each)) for each in names
        )
        acts = [self._act(number, names) for number in range(profile.acts)]
        acts += [
            Act(_HORIZON, "delete", name)
            for name, (_, body) in zip(names, bodies, strict=True)
            if _is_endless(body)
        ]
        return Scenario(
            name,
            bodies,
            tuple(each for each in acts if each.what != NOTHING),
            odds=profile.odds,
            faults_until=_HORIZON,
            pods_fail=profile.pods_fail,
            pods_vanish=profile.pods_vanish,
            skews=profile.skews,
            leased=profile.leased,
            kueue=self._pick("Kueue", *zip(*profile.kueue, strict=True)),
        )

    def _pick(self, place: str, options: Sequence[T], weights: Sequence[float] | None = None) -> T:
        return self._choices.pick(place, options, weights)

    def _act(self, number: int, names: Sequence[str]) -> Act:
        what = {NOTHING: 0.0, **self._profile.what}
        chosen = self._pick(f"act {number}", [*what], [*what.values()])
        at, target = self._pick(f"act {number} at", _MOMENTS), self._pick(f"act {number} on", names)
        seconds = self._pick(f"act {number} lasts", (60.0, 5.0, 20.0, 600.0))
        limit = 30.0 if chosen == "outage" else 600.0
        return Act(at, chosen, target, {"seconds": min(limit, seconds)} if chosen in _LASTS else {})

    def _body(self, name: str) -> JsonObject:
        count = self._pick(f"{name} has components", (1, 2), (0.75, 0.25))
        parts = [self._component(f"{name}-{index}") for index in range(count)]
        extra = self._pick(f"{name} has also", ("", "ConfigMap", "kept ConfigMap"), (0.6, 0.2, 0.2))
        if extra:
            place = self._pick(f"{name} has it at", range(len(parts) + 1))
            parts.insert(place, config_map(f"{name}-c", kept=extra.startswith("kept")))
        periods = {
            "failureGracePeriodDuration": self._pick(f"{name} failure grace", ("0s", "5s", "1m")),
            "retryPausePeriodDuration": self._pick(f"{name} retry pause", ("2s", "0s", "30s")),
            "retryLimit": self._pick(f"{name} retries", ("3", "1", "0", "5")),
        }
        finalizer = self._pick(f"{name} passed the webhook", (True, False), (0.8, 0.2))
        return wrapped(name, *parts, periods=periods, finalizer=finalizer)

    def _component(self, name: str) -> JsonObject:
        kinds = self._profile.kinds
        kind = self._pick(f"{name} is a", [*kinds], [*kinds.values()])
        pods = self._pick(f"{name} has pods", (2, 1, 3))
        fixed = self._pick(f"{name} has a name", (True, False))
        template = {
            "grace": self._pick(f"{name} has a grace period", ("2", "0", "30")),
            "run_for": self._pick(f"{name} runs for", ("5s", "1s", "20s", "45s")),
        }
        match kind:
            case "PyTorchJob":
                return workloads.pytorch(name, pods - 1)
            case "JobSet":
                return workloads.jobs_together(name)
            case "RayCluster":
                return workloads.ray(name)
            case "LeaderWorkerSet":
                return workloads.leader_and_worker(name)
            case _:
                options = ("0", "2", "1000")
                backoff = self._pick(f"{name} has backoffLimit", options, (0.6, 0.2, 0.2))
                return workloads.job(name if fixed else "", pods, backoff=backoff, **template)
