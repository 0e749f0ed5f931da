"""Compare the Pod Security level of a team's namespace with its quota. Pure."""

from collections.abc import Iterator

from cli.pod_security import ENFORCE, PodSecurity, level_of, rdma_among
from cli.teams.manifests import TeamSettings
from cli.teams.plan import Live
from shared.api.objects import JsonObject, labels
from shared.waits.quota import written_quotas


def pod_security_needed(settings: TeamSettings, live: Live) -> str:
    """Return why the admin must choose a level for a new namespace; "" if baseline is right."""
    rdma = rdma_among(settings.quotas)
    if not rdma or settings.pod_security or ("Namespace", settings.name) in live:
        return ""
    return (
        f"the quota has {', '.join(rdma)}, and pods with RDMA usually need the capability IPC_LOCK,"
        " which Pod Security's level baseline forbids. Choose: --pod-security baseline-ipc-lock"
        " allows it and keeps the rest of baseline, --pod-security baseline (or restricted) is for"
        " pods without IPC_LOCK, --pod-security privileged allows everything"
    )


def pod_security_warnings(settings: TeamSettings, live: Live, queue: JsonObject) -> Iterator[str]:
    """Describe what an existing namespace lacks. `team create` never changes its level."""
    namespace = live.get(("Namespace", settings.name))
    if namespace is None:
        return
    level = level_of(labels(namespace))
    if not level and settings.pod_security is None:
        yield (
            f"namespace {settings.name} has no label {ENFORCE}, so its users may run privileged"
            " pods, and this command changes no existing namespace. Set it by kubectl label"
            f" namespace {settings.name} {ENFORCE}={PodSecurity.BASELINE} (add --dry-run=server to"
            " see which pods violate it)"
        )
    rdma = rdma_among(resource for (_, resource), _ in written_quotas(queue))
    if rdma and level in (PodSecurity.BASELINE, PodSecurity.RESTRICTED):
        yield (
            f"the quota has {', '.join(rdma)}, and the Pod Security level {level} of namespace"
            f" {settings.name} forbids the capability IPC_LOCK, which pods with RDMA usually need."
            " docs/admins/pod-security.md describes the level baseline-ipc-lock"
        )
