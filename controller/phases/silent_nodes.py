"""Facts about nodes that may be bad: suspects, and the pods on nodes that do not answer."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Suspect:
    """The first failed pod of an attempt, and its node, which may be the cause.

    `unreachable`: the node did not answer.
    """

    node: str
    pod: str
    unreachable: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreachablePods:
    """Awaited pods are on nodes that do not answer, or were: `pods` of them, since `since`.

    `message` names pods and nodes. `suspects`: a pod of each node. `spends_retry`: one of the nodes
    moved this AppWrapper by its silence before, within 24 hours. `resources`: the pods' resources,
    and UNREACHABLE.
    """

    message: str
    since: datetime
    pods: int
    suspects: tuple[Suspect, ...]
    spends_retry: bool = False
    resources: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class CutOff:
    """Pods that are being deleted on a node that does not answer since `since`.

    `message` names them and the node.
    """

    node: str
    since: datetime
    message: str
