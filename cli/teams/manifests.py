"""Build the objects of a team, the same as in deploy/team/team1.yaml. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from cli.pod_security import PodSecurity, labels_for
from shared.api.objects import NAMESPACES, JsonObject, JsonValue, Resource
from shared.config.configuration import LabelSelector
from shared.waits.quota import CLUSTER_QUEUES, LOCAL_QUEUES

KUEUE: Final = f"{CLUSTER_QUEUES.group}/{CLUSTER_QUEUES.version}"
RBAC: Final = "rbac.authorization.k8s.io"

LOCAL_QUEUE: Final = "default-queue"
DEFAULT_FLAVOR: Final = "default-flavor"
DEFAULT_COHORT: Final = "default-cohort"
DEFAULT_ROLE: Final = "mlbatch-edit"
# deploy/team/cluster.yaml has both roles. The viewer's role is bound in the whole cluster.
VIEWER_ROLE: Final = "appwrapper-queue-viewer"
# Kubernetes' own role, which may create what AppWrappers wrap.
CREATORS_ROLE: Final = "edit"

ROLE_BINDINGS: Final = Resource(RBAC, "v1", "rolebindings", "RoleBinding")
CLUSTER_ROLE_BINDINGS: Final = Resource(
    RBAC, "v1", "clusterrolebindings", "ClusterRoleBinding", namespaced=False
)
# The Kinds of a team's objects.
RESOURCES: Final = {
    each.kind: each
    for each in (NAMESPACES, CLUSTER_QUEUES, LOCAL_QUEUES, ROLE_BINDINGS, CLUSTER_ROLE_BINDINGS)
}
CLUSTER_ROLES: Final = Resource(RBAC, "v1", "clusterroles", "ClusterRole", namespaced=False)


def queue_name(team: str) -> str:
    return f"{team}-cluster-queue"


def binding_name(team: str) -> str:
    """Return the name of the RoleBinding of the team's users."""
    return f"{team}-edit"


def creators_binding_name(team: str) -> str:
    """Return the name of the RoleBinding that lets the team's users wrap what they may create."""
    return f"{team}-may-create"


def viewer_binding_name(team: str) -> str:
    """Return the name of the ClusterRoleBinding of the team's users."""
    return f"{team}-queue-viewer"


def group(name: str) -> JsonObject:
    return {"apiGroup": RBAC, "kind": "Group", "name": name}


def user(name: str) -> JsonObject:
    """Return a user, or `system:serviceaccount:NAMESPACE:NAME`, as the subject of a binding."""
    return {"apiGroup": RBAC, "kind": "User", "name": name}


def selected_labels(selector: LabelSelector) -> dict[str, str] | None:
    """Return the labels of a team's namespace; None if the selector needs more than matchLabels."""
    labels = dict(selector.match_labels)
    return labels if selector.matches(labels) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class TeamSettings:
    """The settings from the admin. `quotas`: amounts as written, by resource, in order.

    Without `subjects` an existing team keeps its users, and a new team gets the default group.
    `pod_security`: None if the admin chose no level. Then a new team gets baseline.
    `binds_creators`: the webhook lets users wrap only what they may create, and `role` allows less.
    `change_quota`, `adopt`: the changes of existing objects that the admin allows.
    """

    name: str
    labels: Mapping[str, str]
    quotas: Mapping[str, str]
    subjects: tuple[JsonObject, ...] = ()
    flavor: str = DEFAULT_FLAVOR
    cohort: str = DEFAULT_COHORT
    role: str = DEFAULT_ROLE
    pod_security: PodSecurity | None = None
    binds_creators: bool = False
    change_quota: bool = False
    adopt: bool = False


def team_objects(settings: TeamSettings) -> tuple[JsonObject, ...]:
    """Build all objects of a new team in the order of creation: the users' rights last."""
    team = settings.name
    subjects = list(settings.subjects) or [group(f"{team}-edit-group")]
    level = settings.pod_security or PodSecurity.BASELINE
    return (
        {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"name": team, "labels": {**settings.labels, **labels_for(level)}},
        },
        _cluster_queue(settings),
        {
            "apiVersion": KUEUE,
            "kind": "LocalQueue",
            "metadata": {"name": LOCAL_QUEUE, "namespace": team},
            "spec": {"clusterQueue": queue_name(team)},
        },
        {
            "apiVersion": f"{RBAC}/v1",
            "kind": "RoleBinding",
            "metadata": {"name": binding_name(team), "namespace": team},
            "roleRef": _role_ref(settings.role),
            "subjects": subjects,
        },
        *_creators_bindings(settings, subjects),
        {
            "apiVersion": f"{RBAC}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": viewer_binding_name(team)},
            "roleRef": _role_ref(VIEWER_ROLE),
            "subjects": subjects,
        },
    )


def _creators_bindings(settings: TeamSettings, subjects: list[JsonObject]) -> list[JsonObject]:
    if not settings.binds_creators:
        return []
    team = settings.name
    return [
        {
            "apiVersion": f"{RBAC}/v1",
            "kind": "RoleBinding",
            "metadata": {"name": creators_binding_name(team), "namespace": team},
            "roleRef": _role_ref(CREATORS_ROLE),
            "subjects": subjects,
        }
    ]


def resource_group(flavor: str, quotas: Iterable[tuple[str, JsonValue]]) -> JsonObject:
    """Build a resource group of one flavor. Kueue requires the same order in both lists."""
    amounts = list(quotas)
    return {
        "coveredResources": [name for name, _ in amounts],
        "flavors": [
            {
                "name": flavor,
                "resources": [{"name": name, "nominalQuota": each} for name, each in amounts],
            }
        ],
    }


def quota_value(amount: str) -> JsonValue:
    """Return a whole number as int, as manifests have it; otherwise the text."""
    return int(amount) if amount.isascii() and amount.isdigit() else amount


def _cluster_queue(settings: TeamSettings) -> JsonObject:
    quotas = ((name, quota_value(amount)) for name, amount in settings.quotas.items())
    return {
        "apiVersion": KUEUE,
        "kind": "ClusterQueue",
        "metadata": {"name": queue_name(settings.name)},
        "spec": {
            # All namespaces: RBAC restricts who may create LocalQueues for this queue.
            "namespaceSelector": {},
            "cohortName": settings.cohort,
            "preemption": {
                "withinClusterQueue": "LowerOrNewerEqualPriority",
                "reclaimWithinCohort": "Any",
                "borrowWithinCohort": {"policy": "Never"},
            },
            "resourceGroups": [resource_group(settings.flavor, quotas)],
        },
    }


def _role_ref(name: str) -> JsonObject:
    return {"apiGroup": RBAC, "kind": "ClusterRole", "name": name}
