"""How both programs run in a cluster. That an API server takes it: tests/integration."""

import tomllib

import pytest

from controller import replica
from shared.api.objects import JsonObject
from shared.config.configuration import Configuration
from shared.config.loading import load_config
from shared.config.values import parse_bind_address
from tests.support.manifests import MANIFESTS, ROOT, document, objects_under
from webhook.serving.server import LONGEST_END

PROGRAMS = ("webhook", "controller")
BASE = MANIFESTS / "base"
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
OVERLAYS = [
    load_config(MANIFESTS / "overlays" / name / "config.yaml").config
    for name in ("default", "mlbatch")
]


def deployment(program: str) -> JsonObject:
    return document(BASE / program / "deployment.yaml")


def pod(program: str) -> JsonObject:
    found: JsonObject = deployment(program)["spec"]["template"]["spec"]
    return found


def container(program: str) -> JsonObject:
    (only,) = pod(program)["containers"]
    found: JsonObject = only
    return found


def labels(program: str) -> dict[str, str]:
    return {
        "app.kubernetes.io/name": "appwrapper",
        "app.kubernetes.io/component": program,
        "control-plane": f"appwrapper-{program}",
    }


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_image_is_of_this_version(program: str) -> None:
    assert container(program)["image"] == f"localhost/appwrapper-{program}:{VERSION}"
    assert container(program)["imagePullPolicy"] == "IfNotPresent"


@pytest.mark.parametrize("program", PROGRAMS)
def test_it_runs_under_its_own_identity(program: str) -> None:
    spec = pod(program)
    account = document(BASE / program / "service-account.yaml")
    assert account["metadata"]["name"] == spec["serviceAccountName"] == f"appwrapper-{program}"
    # The token is for these pods alone.
    assert spec["automountServiceAccountToken"] is True
    assert account["automountServiceAccountToken"] is False


@pytest.mark.parametrize("program", PROGRAMS)
def test_it_may_do_nothing_on_its_node(program: str) -> None:
    """As the namespace's level "restricted" asks, and more. The image says as which user.

    One that is said here is refused where users are assigned (OpenShift, restricted-v2).
    """
    assert pod(program)["securityContext"] == {
        "runAsNonRoot": True,
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    assert container(program)["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert pod(program).keys().isdisjoint({"hostNetwork", "hostPID", "hostIPC", "tolerations"})


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_configuration_is_mounted_where_the_program_looks(program: str) -> None:
    assert container(program)["args"] == ["--config", "/etc/appwrapper/config.yaml"]
    # No subPath: what is mounted so is never brought up to date, and pauseResets counts at once.
    assert container(program)["volumeMounts"] == [
        {"name": "config", "mountPath": "/etc/appwrapper", "readOnly": True}
    ]
    config_map = document(BASE / "configuration" / "configuration.yaml")
    assert pod(program)["volumes"] == [
        {"name": "config", "configMap": {"name": config_map["metadata"]["name"]}}
    ]


@pytest.mark.parametrize("config", [Configuration(), *OVERLAYS], ids=str)
def test_ports_are_those_that_the_programs_listen_on(config: Configuration) -> None:
    bound = config.controller_manager
    expected = {
        "webhook": {"https": bound.webhook.bind_address, "metrics": bound.metrics.bind_address},
        "controller": {"health": bound.health.bind_address, "metrics": bound.metrics.bind_address},
    }
    for program, listeners in expected.items():
        ports = {one["name"]: one["containerPort"] for one in container(program)["ports"]}
        addresses = {name: parse_bind_address(text) for name, text in listeners.items()}
        assert ports == {name: each.port for name, each in addresses.items() if each is not None}


@pytest.mark.parametrize(("program", "port"), [("webhook", "https"), ("controller", "health")])
def test_liveness_needs_an_answer_and_readiness_a_positive_one(program: str, port: str) -> None:
    """Neither the start nor the life is ended by an API server that is away."""
    paths = {"startupProbe": "/healthz", "livenessProbe": "/healthz", "readinessProbe": "/readyz"}
    scheme = {"scheme": "HTTPS"} if port == "https" else {}
    for probe, path in paths.items():
        asked = container(program)[probe]
        assert asked["httpGet"] == {"path": path, "port": port} | scheme, probe
        # Longer than any pause of a healthy process.
        assert asked["timeoutSeconds"] == 5
    assert patience(program, "startupProbe") == 120
    assert patience(program, "livenessProbe") == 60


def patience(program: str, probe: str) -> int:
    """Seconds without an answer after which the kubelet ends it."""
    asked = container(program)[probe]
    seconds: int = asked["periodSeconds"] * asked["failureThreshold"]
    return seconds


@pytest.mark.parametrize("config", [Configuration(), *OVERLAYS], ids=str)
def test_it_has_the_time_to_end_that_it_takes(config: Configuration) -> None:
    drains = config.controller_manager.webhook.drain_period.total_seconds()
    # As docs/admins/operations.md asks for, and the code needs less.
    assert pod("webhook")["terminationGracePeriodSeconds"] >= drains + 15 > drains + LONGEST_END
    assert pod("controller")["terminationGracePeriodSeconds"] >= 2 * replica.GRACE


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_rollout_always_leaves_two_and_a_drain_takes_one(program: str) -> None:
    spec = deployment(program)["spec"]
    assert spec["replicas"] == 2
    assert spec["strategy"] == {
        "type": "RollingUpdate",
        "rollingUpdate": {"maxUnavailable": 0, "maxSurge": 1},
    }
    assert document(BASE / program / "disruption-budget.yaml")["spec"] == {
        "maxUnavailable": 1,
        "unhealthyPodEvictionPolicy": "AlwaysAllow",
        "selector": spec["selector"],
    }


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_is_selected_by_its_own_labels(program: str) -> None:
    """The Go operator's pods have the first two as well, and its Service selects by the third."""
    spec = deployment(program)["spec"]
    assert spec["selector"] == {"matchLabels": labels(program)}
    assert spec["template"]["metadata"]["labels"] == labels(program)
    services = [one for one in objects_under(BASE / program) if one["kind"] == "Service"]
    assert services
    for service in services:
        assert service["spec"]["selector"] == labels(program)
        ports = {one["name"] for one in container(program)["ports"]}
        assert {one["targetPort"] for one in service["spec"]["ports"]} <= ports


@pytest.mark.parametrize("program", PROGRAMS)
def test_replicas_are_on_different_nodes_and_zones_if_there_are_several(program: str) -> None:
    keys = []
    for constraint in pod(program)["topologySpreadConstraints"]:
        keys.append(constraint["topologyKey"])
        assert constraint["whenUnsatisfiable"] == "ScheduleAnyway"
        wanted = constraint["labelSelector"]["matchLabels"]
        assert wanted == {"control-plane": f"appwrapper-{program}"}
        assert constraint["matchLabelKeys"] == ["pod-template-hash"]
    assert keys == ["kubernetes.io/hostname", "topology.kubernetes.io/zone"]


@pytest.mark.parametrize("program", PROGRAMS)
def test_memory_is_limited_and_cpu_is_not(program: str) -> None:
    resources = container(program)["resources"]
    assert set(resources["requests"]) == {"cpu", "memory"}
    assert resources["limits"] == {"memory": "1Gi"}


@pytest.mark.parametrize("program", PROGRAMS)
def test_users_pods_do_not_drive_it_out(program: str) -> None:
    """And the namespace has the quota without which some clusters do not admit such pods."""
    assert pod(program)["priorityClassName"] == "system-cluster-critical"
    quota = document(BASE / "namespace" / "resource-quota.yaml")["spec"]
    (scope,) = quota["scopeSelector"]["matchExpressions"]
    assert scope == {
        "scopeName": "PriorityClass",
        "operator": "In",
        "values": ["system-cluster-critical"],
    }
    assert list(quota["hard"]) == ["pods"]


@pytest.mark.parametrize("program", PROGRAMS)
def test_its_last_words_are_in_its_status(program: str) -> None:
    assert container(program)["terminationMessagePolicy"] == "FallbackToLogsOnError"
    assert pod(program)["enableServiceLinks"] is False
