"""Pod Security of teams' namespaces: its levels, their labels, and the refusals of pods. Pure."""

import re
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Final

from shared.api.names import GROUP

ENFORCE: Final = "pod-security.kubernetes.io/enforce"
# The API server has no level that allows IPC_LOCK only: a policy selects this label.
OWN_LEVEL: Final = f"{GROUP}/pod-security"
# deploy/team/pod-security.yaml: the name of the policy and of its binding.
POLICY: Final = "appwrapper-baseline-ipc-lock"
# Names of device plugins: nvidia.com/roce_gdr, rdma/hca_shared_devices_a, nvidia.com/mlnxnics.
_RDMA: Final = re.compile(r"rdma|roce|infiniband|hca|mlnx|mellanox", re.IGNORECASE)
_REFUSED: Final = re.compile(
    rf"""violates PodSecurity "[^"]*": .*|ValidatingAdmissionPolicy '{POLICY}' .*""", re.DOTALL
)

# The user of a refused pod can do this.
REMEDIES: Final = (
    "Remove these settings from the pod template, delete the AppWrapper and create it again.",
    "If the pods need them, ask an admin for another level of the namespace"
    " (docs/admins/pod-security.md).",
)


class PodSecurity(StrEnum):
    """The values of `team create --pod-security`."""

    BASELINE = "baseline"
    BASELINE_IPC_LOCK = "baseline-ipc-lock"
    RESTRICTED = "restricted"
    PRIVILEGED = "privileged"


def labels_for(level: PodSecurity) -> dict[str, str]:
    if level is PodSecurity.BASELINE_IPC_LOCK:
        return {ENFORCE: "privileged", OWN_LEVEL: level.value}
    return {ENFORCE: level.value}


def level_of(labels: Mapping[str, str]) -> str:
    """Return the level that a namespace's labels ask for; "" if they ask for none."""
    enforced = labels.get(ENFORCE, "")
    own = labels.get(OWN_LEVEL) == PodSecurity.BASELINE_IPC_LOCK
    if own and enforced in ("", PodSecurity.PRIVILEGED):
        return PodSecurity.BASELINE_IPC_LOCK
    return enforced


def rdma_among(resources: Iterable[str]) -> list[str]:
    """Return the resources whose pods probably need the capability IPC_LOCK."""
    return [each for each in resources if _RDMA.search(each)]


def refusal_in(message: str) -> str:
    """Return the part of the API server's message in which Pod Security refuses a pod, or ""."""
    found = _REFUSED.search(message)
    return found[0] if found else ""
