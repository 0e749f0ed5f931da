"""The controller's rights. A test compares them with the requests of the code."""

from collections.abc import Iterator
from typing import Final

from controller.fleet.breaker import RECORD_NAME
from shared.api.names import GO_OPERATORS_LEASE, LEASE_NAME
from shared.api.rbac import Role, Rule
from shared.kinds.table import KINDS

_LIFE: Final = ("create", "get", "list", "watch", "delete")
_UNLISTED: Final = ("create", "get", "delete")


def _components() -> Iterator[Rule]:
    """Yield the rules for components, which the controller creates, reads, watches and deletes.

    Kinds of one group with the same explanation share a rule.
    """
    shared: dict[tuple[str, str, bool], list[str]] = {}
    for kind in KINDS:
        key = (kind.granted, kind.resource.group, kind.listed)
        shared.setdefault(key, []).append(kind.resource.plural)
    for (granted, group, listed), resources in shared.items():
        verbs = _LIFE if listed else _UNLISTED
        yield Rule(granted, group, tuple(resources), verbs)


ALWAYS: Final = (
    Role(
        "appwrapper-controller",
        "The rights of the controller in every namespace. Nothing is granted by wildcard: a Kind "
        "that this role does not list cannot be wrapped, even if allowedKinds.wrapped lists it. To "
        "allow another Kind, add it to allowedKinds.wrapped, and bind a ClusterRole with a rule "
        "for it to this ServiceAccount.\n\n"
        "None of the wrapped Kinds needs patch or update: components are created whole, with their "
        "labels and owner reference, and replaced by deleting and creating them.",
        (
            Rule(
                "The AppWrappers themselves: watched; patched to add and remove the finalizer.",
                "workload.codeflare.dev",
                ("appwrappers",),
                ("get", "list", "watch", "patch"),
            ),
            Rule(
                "Phase, conditions, timers and component status, replaced as a whole.",
                "workload.codeflare.dev",
                ("appwrappers/status",),
                ("update",),
            ),
            Rule(
                "The admission plugin OwnerReferencesPermissionEnforcement (on in OpenShift) "
                "requires this right for owner references that block the deletion of an "
                "AppWrapper (blockOwnerDeletion).",
                "workload.codeflare.dev",
                ("appwrappers/finalizers",),
                ("update",),
            ),
            *_components(),
            Rule(
                "Node health: labels that evacuate pods, and capacity that no pod can get. The "
                "controller never writes Nodes.",
                "",
                ("nodes",),
                ("get", "list", "watch"),
            ),
            Rule(
                "Taints of the devices that pods hold (dynamic resource allocation). Without this "
                "right no taint of a device evacuates an AppWrapper.",
                "resource.k8s.io",
                ("resourceslices", "devicetaintrules"),
                ("get", "list", "watch"),
            ),
            Rule(
                "Which pods hold which devices.",
                "resource.k8s.io",
                ("resourceclaims",),
                ("list", "watch"),
            ),
            Rule(
                "Whether a namespace is being deleted: then a missing component is no failure.",
                "",
                ("namespaces",),
                ("get",),
            ),
            Rule(
                "The ReplicaSets of a Deployment. An orphaned one would keep creating pods.",
                "apps",
                ("replicasets",),
                ("get", "list", "delete"),
            ),
            Rule(
                "Why an AppWrapper waits, or why Kueue evicted it, for its condition.",
                "kueue.x-k8s.io",
                ("workloads",),
                ("list", "watch"),
            ),
            Rule(
                "`appwrapper hold`: spec.active of a Workload keeps a held AppWrapper out of the "
                "queue. An annotation records it.",
                "kueue.x-k8s.io",
                ("workloads",),
                ("patch",),
            ),
            Rule(
                "Whether the queue of an AppWrapper exists, is stopped or is inactive.",
                "kueue.x-k8s.io",
                ("localqueues", "clusterqueues"),
                ("get", "list", "watch"),
            ),
            Rule(
                "Topology-aware scheduling: the condition Evicted makes Kueue assign other nodes "
                "if an assigned node accepts no pods.",
                "kueue.x-k8s.io",
                ("workloads/status",),
                ("patch",),
            ),
            Rule(
                "Whether objects of a Kind can exist although the API server does not serve it: "
                "they are gone only if nothing defines the Kind.",
                "apiextensions.k8s.io",
                ("customresourcedefinitions",),
                ("get", "list"),
            ),
            Rule(
                "Whether an operator rejects a component: KubeRay and the MPI Operator report "
                "that in Events alone.",
                "",
                ("events",),
                ("list",),
            ),
            Rule(
                "Events on AppWrappers and Nodes; patch raises the count of a repeated Event.",
                "",
                ("events",),
                ("create", "patch"),
            ),
        ),
        everywhere=True,
    ),
    Role(
        "appwrapper-controller-node-health",
        "The memory of the evacuation breakers and of latched nodes, one ConfigMap of the "
        "controller's own namespace.",
        (
            Rule(
                "A name in a rule allows list and watch of that name only. Not create: the "
                "manifests contain the ConfigMap.",
                "",
                ("configmaps",),
                ("list", "watch", "patch"),
                (RECORD_NAME,),
            ),
        ),
    ),
    Role(
        "appwrapper-controller-lease",
        "Which replica leads: one Lease of the controller's own namespace.",
        (
            Rule(
                "Who holds the Lease; and whether a Go operator runs, for which the controller "
                "waits.",
                "coordination.k8s.io",
                ("leases",),
                ("get",),
                (LEASE_NAME, GO_OPERATORS_LEASE),
            ),
            Rule(
                "To take, renew and release the Lease.",
                "coordination.k8s.io",
                ("leases",),
                ("update",),
                (LEASE_NAME,),
            ),
            Rule(
                "The first replica creates the Lease. RBAC cannot limit a create to a name.",
                "coordination.k8s.io",
                ("leases",),
                ("create",),
            ),
        ),
    ),
)
"""The roles that every configuration needs."""

# The queue is in deploy/team/slack; overlay mlbatch sets `slackQueue.name`.
SLACK_QUEUE_NAME: Final = "slack-cluster-queue"

SLACK_QUEUE: Final = (
    Role(
        "appwrapper-controller-slack-queue",
        "Needed only with `slackQueue.name`: the slack queue's lending limits follow the nodes.",
        (
            Rule(
                "The quotas of other ClusterQueues, and the nodes of each flavor.",
                "kueue.x-k8s.io",
                ("clusterqueues", "resourceflavors"),
                ("list", "watch"),
            ),
            Rule(
                "To write lendingLimit. If slackQueue.name is another name, write that name here.",
                "kueue.x-k8s.io",
                ("clusterqueues",),
                ("patch",),
                (SLACK_QUEUE_NAME,),
            ),
        ),
        everywhere=True,
    ),
)
"""The role that only `slackQueue.name` needs: deploy/manifests/slack-queue."""

ROLES: Final = (*ALWAYS, *SLACK_QUEUE)
