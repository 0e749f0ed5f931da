"""Who may create what: `appwrapper.allowedKinds`, `teamNamespaceSelector`, `exemptions`."""

from collections.abc import Mapping
from typing import Final, Literal

from pydantic import Field

from shared.config.values import Section

# The seeds' lists. An entry is `group/Kind`, `Kind` in the core group, or '*' for every Kind.
_DIRECT: Final = (
    "workload.codeflare.dev/AppWrapper",
    "kubeflow.org/PyTorchJob",
    "ray.io/RayJob",
    "ray.io/RayCluster",
    "Service",
    "Secret",
    "ConfigMap",
    "PersistentVolumeClaim",
    "scheduling.x-k8s.io/PodGroup",
)
_WRAPPED: Final = (
    "kubeflow.org/PyTorchJob",
    "ray.io/RayJob",
    "ray.io/RayCluster",
    "apps/Deployment",
    "apps/StatefulSet",
    "Pod",
    "batch/Job",
    "ServiceAccount",
    "Service",
    "Secret",
    "ConfigMap",
    "PersistentVolumeClaim",
    "scheduling.x-k8s.io/PodGroup",
    # Beyond the seeds.
    "jobset.x-k8s.io/JobSet",
    "leaderworkerset.x-k8s.io/LeaderWorkerSet",
    "kubeflow.org/MPIJob",
)


class AllowedKinds(Section):
    """Checked on CREATE: `direct` in team namespaces, `wrapped` inside every AppWrapper."""

    direct: tuple[str, ...] = _DIRECT
    wrapped: tuple[str, ...] = _WRAPPED


class LabelSelectorRequirement(Section):
    """As in Kubernetes."""

    key: str
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist"]
    values: tuple[str, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """As the API server evaluates it: NotIn also matches where the label is absent."""
        match self.operator:
            case "In":
                return self.key in labels and labels[self.key] in self.values
            case "NotIn":
                return self.key not in labels or labels[self.key] not in self.values
            case "Exists":
                return self.key in labels
            case "DoesNotExist":
                return self.key not in labels


class LabelSelector(Section):
    """As in Kubernetes; an empty one selects everything."""

    match_labels: dict[str, str] = Field(default_factory=dict)
    match_expressions: tuple[LabelSelectorRequirement, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether everything that it requires holds of an object with these labels."""
        return all(labels.get(key) == value for key, value in self.match_labels.items()) and all(
            requirement.matches(labels) for requirement in self.match_expressions
        )


def team_namespaces() -> LabelSelector:
    """The label that the seeds put on a team's namespace."""
    return LabelSelector(match_labels={"mlbatch-team-namespace": "true"})


class Exemptions(Section):
    """Identities that some rules leave alone."""

    # May start a suspended AppWrapper and write its podSetInfos.
    quota_managers: tuple[str, ...] = (
        "system:serviceaccount:kueue-system:kueue-controller-manager",
    )
    # Their service accounts create pods and jobs on behalf of what was admitted.
    service_account_namespaces: tuple[str, ...] = (
        "kube-system",
        "kueue-system",
        "appwrapper-system",
        "kubeflow",
        "ray-system",
        "jobset-system",
        "lws-system",
        "mpi-operator",
    )
