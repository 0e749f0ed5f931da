"""Devices that pods hold by dynamic resource allocation, and the taints on these devices. Pure.

A ResourceSlice lists devices of one pool and their taints. A DeviceTaintRule adds one taint to the
devices that it selects. A ResourceClaim shows which devices are allocated to which pods.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from sys import intern
from typing import Final

from controller.facts.nodes import tolerates
from shared.api.lines import clipped
from shared.api.objects import JsonObject, Resource

SLICES: Final = Resource(
    "resource.k8s.io", "v1", "resourceslices", "ResourceSlice", namespaced=False
)
RULES: Final = Resource(
    "resource.k8s.io", "v1", "devicetaintrules", "DeviceTaintRule", namespaced=False
)
CLAIMS: Final = Resource("resource.k8s.io", "v1", "resourceclaims", "ResourceClaim")

NO_EXECUTE: Final = "NoExecute"
# Kubernetes ignores None, and effects that it does not know.
_EFFECTS: Final = frozenset({"NoSchedule", NO_EXECUTE})
# The reason with which Kubernetes deletes a pod because of a NoExecute taint of its device.
DELETED_BY_TAINT: Final = "DeletionByDeviceTaintManager"

# The beginning of a root cause's infrastructure.
TAINTED_DEVICE: Final = "TaintedDevice"
_LONGEST_TEXT: Final = 128  # bytes: half of a root cause's summary

Pool = tuple[str, str]  # driver, name


@dataclass(frozen=True, slots=True)
class Device:
    """A device. `str()` is the name by which Kubernetes' documentation identifies it."""

    driver: str
    pool: str
    name: str

    def __str__(self) -> str:
        return f"{self.driver}/{self.pool}/{self.name}"


@dataclass(frozen=True, slots=True)
class DeviceTaint:
    """A taint with an effect on scheduling."""

    key: str
    value: str
    effect: str

    def __str__(self) -> str:
        value = f"={self.value}" if self.value else ""
        return f"{self.key}{value}:{self.effect}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Slice:
    """A ResourceSlice. `devices`: names of its devices. `taints`: each with its device's name."""

    name: str
    driver: str
    pool: str
    generation: int
    devices: frozenset[str] = frozenset()
    taints: tuple[tuple[str, DeviceTaint], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TaintRule:
    """A DeviceTaintRule. `taint`: None if it has no effect. A criterion that is None fits all.

    `selects`: False without a selector, which selects nothing. An empty selector selects all.
    """

    name: str
    taint: DeviceTaint | None
    selects: bool = True
    driver: str | None = None
    pool: str | None = None
    device: str | None = None

    def taints(self, device: Device) -> bool:
        """True if the rule taints the device."""
        return self.taints_in((device.driver, device.pool)) and self.device in (None, device.name)

    def taints_in(self, pool: Pool) -> bool:
        """True if the rule may taint devices of the pool."""
        wanted = self.selects and self.taint is not None
        return wanted and self.driver in (None, pool[0]) and self.pool in (None, pool[1])


@dataclass(frozen=True, slots=True)
class Allocated:
    """A device of a claim, with the tolerations of its request."""

    device: Device
    tolerations: tuple[JsonObject, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceClaim:
    """A ResourceClaim. `pods`: UID and name of the pods that use it."""

    namespace: str
    name: str
    allocated: tuple[Allocated, ...] = ()
    pods: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldTaint:
    """A taint of a device that a pod holds, first seen at `since`.

    `rule`: the DeviceTaintRule that adds it; empty if the driver wrote it into `slice`.
    """

    device: Device
    taint: DeviceTaint
    since: datetime
    tolerated: bool = False
    rule: str = ""
    slice: str = ""

    @property
    def words(self) -> str:
        """Return `taint example.com/health=bad:NoExecute of DeviceTaintRule broken`."""
        return f"taint {self.taint}" + (f" of DeviceTaintRule {self.rule}" if self.rule else "")


# Returns the taints of the devices that the pod with this UID holds, sorted.
HeldTaints = Callable[[str], Sequence[HeldTaint]]


def nothing_held(_uid: str) -> Sequence[HeldTaint]:
    """Return no taints: devices are not watched."""
    return ()


def is_tolerated(taint: DeviceTaint, tolerations: Sequence[JsonObject]) -> bool:
    """True if a toleration matches, also if it does so for a limited time.

    Kubernetes deletes the pod when that time is over.
    """
    return any(tolerates(each, (taint.key, taint.value, taint.effect)) for each in tolerations)


def tainted_device(held: Sequence[HeldTaint]) -> str:
    """Return `TaintedDevice gpu.example.com/n1/gpu-3 (example.com/health=bad:NoSchedule)` for the
    first taint that is not tolerated; empty without one.
    """
    first = next((each for each in held if not each.tolerated), None)
    text = "" if first is None else f"{TAINTED_DEVICE} {first.device} ({first.taint})"
    return clipped(text, _LONGEST_TEXT)


def project_slice(item: JsonObject) -> Slice:
    """Project the API server's object; the result holds no reference to it."""
    spec = item["spec"]
    devices = spec.get("devices") or ()
    return Slice(
        name=item["metadata"]["name"],
        driver=intern(spec["driver"]),
        pool=intern(spec["pool"]["name"]),
        generation=spec["pool"].get("generation") or 0,
        devices=frozenset(intern(each["name"]) for each in devices),
        taints=tuple(
            (intern(each["name"]), taint)
            for each in devices
            for written in each.get("taints") or ()
            if (taint := _taint(written)) is not None
        ),
    )


def project_rule(item: JsonObject) -> TaintRule:
    """Project the API server's object, without its status."""
    spec = item["spec"]
    selector = spec.get("deviceSelector")
    wanted = selector or {}
    return TaintRule(
        name=item["metadata"]["name"],
        taint=_taint(spec["taint"]),
        selects=selector is not None,
        driver=wanted.get("driver"),
        pool=wanted.get("pool"),
        device=wanted.get("device"),
    )


def project_claim(item: JsonObject) -> DeviceClaim:
    """Project the API server's object."""
    status = item.get("status") or {}
    allocation = (status.get("allocation") or {}).get("devices") or {}
    return DeviceClaim(
        namespace=intern(item["metadata"]["namespace"]),
        name=item["metadata"]["name"],
        allocated=tuple(
            Allocated(
                Device(intern(each["driver"]), intern(each["pool"]), intern(each["device"])),
                tuple(each.get("tolerations") or ()),
            )
            for each in allocation.get("results") or ()
        ),
        pods=tuple(
            (each["uid"], each["name"])
            for each in status.get("reservedFor") or ()
            if each.get("resource") == "pods" and not each.get("apiGroup")
        ),
    )


def _taint(written: JsonObject) -> DeviceTaint | None:
    effect = written.get("effect") or ""
    if effect not in _EFFECTS:
        return None
    return DeviceTaint(intern(written["key"]), intern(written.get("value") or ""), intern(effect))
