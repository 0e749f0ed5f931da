"""deploy/team/pod-security.yaml against Pod Security itself: the same answers but for IPC_LOCK.

Each pod is created by a dry run in a team's namespace with the policy, and in one with baseline.
"""

import copy
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from localcluster.access.running import RunningCluster
from shared.api.objects import NAMESPACES, PODS, JsonObject
from shared.kube.client import Forbidden, Invalid
from tests.support.cluster.removed import removed
from tests.support.cluster.simulated_pods import service_account_exists
from tests.support.team import NAMESPACE, own

BASELINE = own("baseline")
_POLICY = "appwrapper-baseline-ipc-lock"
_HOST: Any = {"httpGet": {"port": 80, "host": "10.0.0.1"}}
_MINE: Any = {"httpGet": {"port": 80}}
_CAPABILITIES = (
    "containers may add only the capabilities AUDIT_WRITE, CHOWN, DAC_OVERRIDE, FOWNER, FSETID,"
    " IPC_LOCK, KILL, MKNOD, NET_BIND_SERVICE, SETFCAP, SETGID, SETPCAP, SETUID and SYS_CHROOT"
)
_HOSTS = "the pod must not set hostNetwork, hostPID or hostIPC"
_PROBES = "probes and lifecycle handlers must not set a host"
_SYSCTLS = "the pod may set only the sysctls that Pod Security's level baseline allows"
_SELINUX = (
    "seLinuxOptions must not set a user or a role, and the type must be container_t,"
    " container_init_t, container_kvm_t or container_engine_t"
)
_APPARMOR = "an AppArmor profile must be RuntimeDefault or Localhost"
_SECCOMP = "a seccomp profile must be RuntimeDefault or Localhost"


def pod(spec: Any = None, container: Any = None, annotations: Any = None) -> JsonObject:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "secure", "annotations": annotations or {}},
        "spec": {"containers": [{"name": "c", "image": "i", **(container or {})}], **(spec or {})},
    }


def secured(**context: Any) -> JsonObject:
    return pod(container={"securityContext": context})


def adding(*capabilities: str) -> Any:
    return {"capabilities": {"add": [*capabilities]}}


def in_init(context: Any) -> JsonObject:
    first = {"name": "first", "image": "i", "securityContext": context}
    return pod({"initContainers": [first]})


ALLOWED = {
    "nothing special": pod(),
    "capabilities of baseline": secured(**adding("CHOWN", "NET_BIND_SERVICE", "SYS_CHROOT")),
    "dropped capabilities": secured(capabilities={"drop": ["ALL"]}),
    "no privileges": secured(privileged=False, procMount="Default"),
    "profiles": secured(
        seccompProfile={"type": "RuntimeDefault"}, appArmorProfile={"type": "RuntimeDefault"}
    ),
    "a pod's profiles": pod({"securityContext": {"seccompProfile": {"type": "RuntimeDefault"}}}),
    "SELinux": secured(seLinuxOptions={"type": "container_engine_t", "level": "s0:c1,c2"}),
    "probes of the pod": pod(
        container={
            "livenessProbe": _MINE,
            "startupProbe": {"tcpSocket": {"port": 80}},
            "lifecycle": {"postStart": _MINE, "preStop": {"exec": {"command": ["true"]}}},
        }
    ),
    "a port": pod(container={"ports": [{"containerPort": 80}]}),
    "volumes": pod({"volumes": [{"name": "shm", "emptyDir": {"medium": "Memory"}}]}),
    "a sysctl": pod(
        {"securityContext": {"sysctls": [{"name": "net.ipv4.tcp_rmem", "value": "4"}]}}
    ),
    "annotations": pod(annotations={"example.com/a": "b"}),
}
# IPC_LOCK, as `appwrapper generate` adds it for RDMA.
ONLY_HERE = {
    "IPC_LOCK": secured(**adding("IPC_LOCK")),
    "IPC_LOCK beside others": in_init(adding("IPC_LOCK", "CHOWN")),
}
REFUSED: dict[str, tuple[JsonObject, str]] = {
    "hostNetwork": (pod({"hostNetwork": True}), _HOSTS),
    "hostPID": (pod({"hostPID": True}), _HOSTS),
    "hostIPC": (pod({"hostIPC": True}), _HOSTS),
    "privileged": (
        secured(privileged=True),
        "containers must not set securityContext.privileged",
    ),
    "a privileged init container": (
        in_init({"privileged": True}),
        "containers must not set securityContext.privileged",
    ),
    "SYS_ADMIN beside IPC_LOCK": (secured(**adding("IPC_LOCK", "SYS_ADMIN")), _CAPABILITIES),
    "ALL": (in_init(adding("ALL")), _CAPABILITIES),
    "NET_RAW": (secured(**adding("NET_RAW")), _CAPABILITIES),
    "a hostPath": (
        pod({"volumes": [{"name": "v", "hostPath": {"path": "/"}}]}),
        "the pod must not have hostPath volumes",
    ),
    "a hostPort": (
        pod(container={"ports": [{"containerPort": 80, "hostPort": 80}]}),
        "containers must not set a hostPort",
    ),
    "a probe's host": (pod(container={"readinessProbe": _HOST}), _PROBES),
    "a socket's host": (
        pod(container={"livenessProbe": {"tcpSocket": {"port": 80, "host": "10.0.0.1"}}}),
        _PROBES,
    ),
    "a handler's host": (pod(container={"lifecycle": {"preStop": _HOST}}), _PROBES),
    "AppArmor off": (secured(appArmorProfile={"type": "Unconfined"}), _APPARMOR),
    "AppArmor off by annotation": (
        pod(annotations={"container.apparmor.security.beta.kubernetes.io/c": "unconfined"}),
        _APPARMOR,
    ),
    "SELinux type": (secured(seLinuxOptions={"type": "spc_t"}), _SELINUX),
    "SELinux user": (pod({"securityContext": {"seLinuxOptions": {"user": "u"}}}), _SELINUX),
    "SELinux role": (secured(seLinuxOptions={"role": "r"}), _SELINUX),
    "seccomp off": (secured(seccompProfile={"type": "Unconfined"}), _SECCOMP),
    "a pod's seccomp off": (
        pod({"securityContext": {"seccompProfile": {"type": "Unconfined"}}}),
        _SECCOMP,
    ),
    "a sysctl": (
        pod({"securityContext": {"sysctls": [{"name": "kernel.msgmax", "value": "1"}]}}),
        _SYSCTLS,
    ),
    "hostProcess": (
        pod({"securityContext": {"windowsOptions": {"hostProcess": True}}, "hostNetwork": True}),
        _HOSTS,
    ),
}


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def baseline(cluster: RunningCluster) -> AsyncIterator[RunningCluster]:
    """The cluster, with a namespace that enforces baseline."""
    labels = {"pod-security.kubernetes.io/enforce": "baseline"}
    namespace = {"apiVersion": "v1", "kind": "Namespace"}
    metadata = {"metadata": {"name": BASELINE, "labels": labels}}
    await cluster.client.create(NAMESPACES, None, {**namespace, **metadata})
    try:
        await service_account_exists(cluster.client, BASELINE)
        yield cluster
    finally:
        await removed(cluster.client, NAMESPACES, None, BASELINE)


async def refusal(cluster: RunningCluster, namespace: str, body: JsonObject) -> str:
    """What the API server says of the pod; "" if it takes it. Nothing is stored."""
    try:
        await cluster.client.create(PODS, namespace, copy.deepcopy(body), dry_run=True)
    except (Forbidden, Invalid) as error:
        return error.message
    return ""


async def test_pods_that_baseline_allows_are_allowed(baseline: RunningCluster) -> None:
    for name, body in ALLOWED.items():
        answers = [await refusal(baseline, where, body) for where in (BASELINE, NAMESPACE)]
        assert answers == ["", ""], name


async def test_ipc_lock_is_allowed_only_by_the_policy(baseline: RunningCluster) -> None:
    for name, body in ONLY_HERE.items():
        assert "non-default capabilities" in await refusal(baseline, BASELINE, body), name
        assert await refusal(baseline, NAMESPACE, body) == "", name


@pytest.mark.parametrize("name", REFUSED)
async def test_pods_that_baseline_refuses_are_refused(baseline: RunningCluster, name: str) -> None:
    body, message = REFUSED[name]
    assert 'violates PodSecurity "baseline:latest": ' in await refusal(baseline, BASELINE, body)
    assert await refusal(baseline, NAMESPACE, body) == (
        f"pods \"secure\" is forbidden: ValidatingAdmissionPolicy '{_POLICY}' with binding"
        f" '{_POLICY}' denied request: {message}"
    )


async def test_an_ephemeral_container_is_refused_as_another_one_is(cluster: RunningCluster) -> None:
    """It is added by an update of a subresource, which needs a stored pod."""
    body = pod() | {"metadata": {"name": "debugged"}}
    body["spec"] |= {"schedulingGates": [{"name": "example.com/never"}]}
    client = cluster.client
    await client.create(PODS, NAMESPACE, body)

    async def debug(context: Any) -> JsonObject:
        stored = await client.get(PODS, NAMESPACE, "debugged")
        added = {"name": "debugger", "image": "i", "securityContext": context}
        changed = {**stored, "spec": {**stored["spec"], "ephemeralContainers": [added]}}
        where = "ephemeralcontainers"
        return await client.update(PODS, NAMESPACE, "debugged", changed, subresource=where)

    try:
        with pytest.raises(Invalid, match=r"must not set securityContext\.privileged$"):
            await debug({"privileged": True})
        assert (await debug(adding("IPC_LOCK")))["spec"]["ephemeralContainers"]
    finally:
        await removed(client, PODS, NAMESPACE, "debugged")
