"""`appwrapper check --install` on a real cluster: it is sound, and planted faults are found.

In this folder, because another file of it changes the registrations meanwhile.
"""

import json
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import yaml

from localcluster.access import kubeconfig
from localcluster.access.running import RunningCluster
from shared.api.objects import CONFIGMAPS, JsonObject
from tests.support.builders.appwrappers import appwrapper
from tests.support.builders.jobs import job
from tests.support.cluster.checking import check
from tests.support.cluster.fault_proxy import Fault, FaultProxy, Sent
from tests.support.cluster.lives import Lives
from tests.support.patience import comes_to

OPERATOR = ("appwrapper-system", "appwrapper-operator-config", "config.yaml")
KUEUE = ("kueue-system", "kueue-manager-config", "controller_manager_config.yaml")
Settings = Callable[[JsonObject], JsonObject]


async def test_the_installation_is_sound_and_planted_faults_are_found(
    cluster: RunningCluster, lives: Lives, tmp_path: Path
) -> None:
    # Here the controller has no Deployment: what it writes shows that it runs.
    life = await lives.begin(appwrapper("acts", job("acts", run_for="100ms")))
    await life.until_phase("Succeeded")

    async def sound() -> tuple[int, str, str]:
        """The answer to its dry run may be late on a busy machine."""
        code, out, err = await check(cluster, "--install")
        return code, err, out if code else ""

    await comes_to(sound, (0, "", ""))

    async with planted(cluster, tmp_path, {OPERATOR: exempting, KUEUE: spoilt}) as instead:
        code, out, _ = await check(cluster, "--install", "-o", "json", "--kubeconfig", str(instead))
    wrong = {
        each["title"]: each["found"] for each in json.loads(out)["items"] if each["verdict"] != "ok"
    }
    assert code == 1
    assert sorted(wrong) == [
        "Kueue's integrations",
        "admission policies",
        "mutating webhooks",
        "team namespaces",
        "validating webhooks",
        "waitForPodsReady",
    ]
    periods = "timeout is 30m, recoveryTimeout 30m, and the operator"
    assert wrong["waitForPodsReady"].startswith(periods)
    assert wrong["admission policies"].startswith("these do not match the configuration: ")


def exempting(_: JsonObject) -> JsonObject:
    """The operator's configuration with a namespace that the registrations lack."""
    return {"appwrapper": {"exemptions": {"serviceAccountNamespaces": ["mine"]}}}


def spoilt(settings: JsonObject) -> JsonObject:
    """Kueue's configuration with the mistakes that admins make."""
    del settings["waitForPodsReady"]
    settings["integrations"] = {"frameworks": ["batch/job"]}
    settings["managedJobsNamespaceSelector"] = {"matchLabels": {"team": "true"}}
    return settings


@asynccontextmanager
async def planted(
    cluster: RunningCluster, folder: Path, changes: dict[tuple[str, str, str], Settings]
) -> AsyncGenerator[Path, None]:
    """Yields an admin's kubeconfig through which these keys of ConfigMaps have other content.

    The ConfigMaps themselves stay: the controller reads Kueue's, and other tests read both.
    """

    def rule(sent: Sent) -> Fault | None:
        for (namespace, name, key), made in changes.items():
            if sent.path == CONFIGMAPS.path(namespace, name):
                return Fault(changed=partial(with_settings, key, made))
        return None

    admin, access = cluster.access.admin, cluster.access
    async with FaultProxy(access.server, access.authority, folder, identity=admin) as proxy:
        proxy.rule = rule
        yield kubeconfig.write(
            folder / "planted.yaml",
            server=proxy.url,
            authority=proxy.authority,
            user=kubeconfig.with_certificate(admin),
        )


def with_settings(key: str, made: Settings, body: bytes) -> bytes:
    """The ConfigMap whose settings a function has changed."""
    item = json.loads(body)
    item["data"][key] = yaml.safe_dump(made(yaml.safe_load(item["data"][key])))
    return json.dumps(item).encode()
