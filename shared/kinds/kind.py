"""What a record of a Kind holds. Webhook, controller, roles and documentation read the same one."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from shared.api.component_report import ComponentReport
from shared.api.field_errors import FieldError
from shared.api.json import JsonObject
from shared.api.resource import Resource
from shared.kinds.pod_set import PodSet


def none_uncounted(_template: JsonObject) -> Iterator[FieldError]:
    """The same, as errors."""
    return iter(())


def none_beyond(_template: JsonObject) -> Iterator[tuple[str, str]]:
    """What most Kinds have: all pods that come are counted."""
    return iter(())


@dataclass(frozen=True, slots=True)
class Maker:
    """What stands between a component and its pods, and outlives it where somebody orphans it.

    `label` is the one by which it is found: LABEL_UID holds the AppWrapper's UID, any other the
    component's name.
    """

    resource: Resource
    label: str


@dataclass(frozen=True, slots=True)
class Roles:
    """A map from role to pod template, and the roles that pod sets stand for, written so."""

    path: str
    counted: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class IndexLabel:
    """By which label a pod says which of its owner's pods it is. A replacement has the same.

    `role` is the label within whose value an index is unique; empty: within its owner.
    """

    index: str
    role: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One Kind.

    `resource`: how it is served, in the version that its status is read in. `versions`: the API
    versions in which its pod sets are known. `pod_sets` gives them, in Kueue's order, of an object;
    it may raise PodSetError. None: the Kind holds no pods, and makes none. `inferred`: Kueue infers
    the same; else the webhook writes them into the spec. `report` reads what an object says of
    itself; None: it says nothing that its pods do not. `ends`: a report tells of an end; None where
    its pods must tell. `owns`: what its controllers make of it that is a pod, makes pods, or goes
    with it. `unwrapped`: users of teams create it without wrapping it, and Kueue queues it so.
    `uncounted`: pods that come for certain beside the counted ones, as errors with paths from the
    component on. `beyond`: those that may come, each as field and words.
    """

    resource: Resource
    versions: tuple[str, ...] = ()
    pod_sets: Callable[[JsonObject], tuple[PodSet, ...]] | None = None
    inferred: bool = True
    report: Callable[[JsonObject], ComponentReport] | None = None
    ends: bool | None = None
    owns: tuple[Resource, ...] = ()
    makers: tuple[Maker, ...] = ()
    index_label: IndexLabel | None = None
    roles: Roles | None = None
    unwrapped: bool = False
    uncounted: Callable[[JsonObject], Iterator[FieldError]] = none_uncounted
    beyond: Callable[[JsonObject], Iterator[tuple[str, str]]] = none_beyond

    @property
    def group_kind(self) -> str:
        """`group/Kind`, or `Kind` in the core group."""
        return self.resource.gvk.group_kind
