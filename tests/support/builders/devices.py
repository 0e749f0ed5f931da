"""Builds ResourceSlices, ResourceClaims and DeviceTaintRules, and what the controller keeps."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, TypeVar

from controller.facts.devices import DeviceClaim, project_claim, project_rule, project_slice
from controller.fleet.device_index import DeviceIndex
from shared.api.objects import JsonObject
from shared.kube.object_cache import Change
from tests.support.fakes.fake_clock import START

T = TypeVar("T")

DRIVER = "gpu.example.com"
BAD = {"key": "example.com/health", "value": "bad", "effect": "NoExecute"}
BAD_WORDS = "taint example.com/health=bad:NoExecute"


def raw_slice(
    pool: str,
    *devices: str,
    generation: int = 1,
    name: str = "",
    taints: Mapping[str, JsonObject] = MappingProxyType({}),
) -> JsonObject:
    """Builds a slice of a node's devices; `taints` by the device's name."""
    listed = [
        {"name": each, **({"taints": [taints[each]]} if each in taints else {})} for each in devices
    ]
    return {
        "metadata": {"name": name or f"{pool}-{DRIVER}"},
        "spec": {
            "driver": DRIVER,
            "nodeName": pool,
            "pool": {"name": pool, "generation": generation, "resourceSliceCount": 1},
            "devices": listed,
        },
    }


def raw_rule(
    name: str, selector: JsonObject | None = None, taint: JsonObject | None = None
) -> JsonObject:
    """Builds a rule; without a selector it selects nothing."""
    spec: JsonObject = {"taint": taint or BAD}
    if selector is not None:
        spec["deviceSelector"] = selector
    return {"metadata": {"name": name}, "spec": spec}


def raw_claim(
    name: str, pool: str, *devices: str, pod: str = "", uid: str = "", tolerations: Any = ()
) -> JsonObject:
    """Builds an allocated claim that a pod uses."""
    results = [
        {
            "request": "gpu",
            "driver": DRIVER,
            "pool": pool,
            "device": each,
            **({"tolerations": list(tolerations)} if tolerations else {}),
        }
        for each in devices
    ]
    users = [{"resource": "pods", "name": pod, "uid": uid}] if uid else []
    return {
        "metadata": {"namespace": "team1", "name": name},
        "spec": {"devices": {"requests": [{"name": "gpu"}]}},
        "status": {"allocation": {"devices": {"results": results}}, "reservedFor": users},
    }


class Devices:
    """An index of devices, and the claims of pods, that a test changes."""

    def __init__(self, *, known: bool = True) -> None:
        self.claims: dict[str, JsonObject] = {}
        self.pods: set[str] = set()
        self._slices: dict[str, JsonObject] = {}
        self._rules: dict[str, JsonObject] = {}
        self.now = START
        self.index = DeviceIndex(self._claims_of, lambda _namespace, _name, uid: uid in self.pods)
        self.index.known = known

    def _claims_of(self, uid: str) -> list[DeviceClaim]:
        found = map(project_claim, self.claims.values())
        return [each for each in found if uid in dict(each.pods)]

    def slice(self, raw: JsonObject | None, name: str = "") -> frozenset[tuple[str, str]]:
        """Sets a slice; None removes the one of that name."""
        name = raw["metadata"]["name"] if raw else name
        old = self._slices.pop(name, None)
        if raw is not None:
            self._slices[name] = raw
        return self.index.update_slice(_change(name, project_slice, old, raw), self.now)

    def rule(self, raw: JsonObject | None, name: str = "") -> None:
        """Sets a rule; None removes the one of that name."""
        name = raw["metadata"]["name"] if raw else name
        old = self._rules.pop(name, None)
        if raw is not None:
            self._rules[name] = raw
        self.index.update_rule(_change(name, project_rule, old, raw), self.now)

    def claim(self, raw: JsonObject | None, name: str = "") -> None:
        """Sets a claim; None removes the one of that name."""
        name = raw["metadata"]["name"] if raw else name
        old = self.claims.pop(name, None)
        if raw is not None:
            self.claims[name] = raw
        self.index.update_claim(_change(name, project_claim, old, raw))

    def held(self, uid: str) -> list[str]:
        """Returns the taints of the pod's devices as text."""
        return [
            f"{each.device} {each.words}" + (" (tolerated)" if each.tolerated else "")
            for each in self.index.taints()(uid)
        ]


def _change(
    name: str, project: Callable[[JsonObject], T], old: JsonObject | None, new: JsonObject | None
) -> Change[T]:
    before, after = (None if each is None else project(each) for each in (old, new))
    return Change(("", name), before, after)


def full_pools(number: int, *, known: bool = True) -> Devices:
    """Returns an index with pools n0, n1, … of two devices each; pod `p0` holds gpu-0 of n0, …"""
    devices = Devices(known=known)
    for each in range(number):
        devices.slice(raw_slice(f"n{each}", "gpu-0", "gpu-1"))
        devices.pods.add(f"p{each}")
        devices.claim(raw_claim(f"c{each}", f"n{each}", "gpu-0", pod=f"p{each}", uid=f"p{each}"))
    return devices
