"""Reading an installation: what is there, what is not, and what may not be read."""

from datetime import UTC, datetime
from typing import Any

import pytest

from cli.checks.read_installation import gather_installation
from cli.checks.setup_facts import Activity
from shared.api.objects import JsonObject
from shared.kube.client import Forbidden, Unreachable
from shared.kube.discovery import Discovery
from tests.support.builders.queues import operator_config
from tests.support.fakes.fake_clock import FakeClock
from tests.support.fakes.read_only_cluster import ReadOnlyCluster

PATHS: dict[str, JsonObject] = {
    "/version": {"gitVersion": "v1.37.0"},
    "/apis/kubeflow.org/v1": {
        "resources": [{"name": "pytorchjobs", "kind": "PyTorchJob", "namespaced": True}]
    },
}
JUDGED = {"metadata": {"labels": {"workload.codeflare.dev/user": "me"}}}


def cluster(*objects: JsonObject, **options: Any) -> ReadOnlyCluster:
    return ReadOnlyCluster(objects, paths=PATHS, **{"dry_run": JUDGED, **options})


def appwrapper(name: str, *written: str, phase: str = "Running", **spec: Any) -> JsonObject:
    fields = [{"subresource": "status", "time": each} for each in written]
    return {
        "kind": "AppWrapper",
        "metadata": {
            "name": name,
            "namespace": "team1",
            "creationTimestamp": "2026-01-02T00:00:00Z",
            "managedFields": [{"time": "2026-01-02T09:00:00Z"}, *fields],
        },
        "spec": spec,
        "status": {"phase": phase} if phase else {},
    }


async def test_installed_parts_are_found() -> None:
    client = cluster(
        operator_config("appwrapper:\n  maxPodSets: 5\n", "mlbatch-system"),
        {
            "kind": "Deployment",
            "metadata": {"name": "appwrapper-webhook", "namespace": "mlbatch-system"},
        },
        appwrapper("a", "2026-01-02T03:00:00Z", "2026-01-02T02:00:00Z"),
        appwrapper("b", phase=""),
        appwrapper("c", "2026-01-02T04:00:00Z", phase="", managedBy="somebody/else"),
    )
    seen = await gather_installation(client, Discovery(client, FakeClock()))
    assert seen.configuration.config.appwrapper.max_pod_sets == 5
    assert (seen.configuration.namespace, seen.kubernetes) == ("mlbatch-system", "v1.37.0")
    assert seen.webhook is not None
    assert (seen.controller, seen.definition, seen.leases, seen.refused) == (None, None, (), {})
    assert (seen.answer, seen.served) == ("", frozenset({"kubeflow.org/PyTorchJob"}))
    assert seen.activity == Activity(
        datetime(2026, 1, 2, 3, tzinfo=UTC),
        (("team1/b", datetime(2026, 1, 2, tzinfo=UTC)),),
    )


MLBATCH = """\
appwrapper:
  exemptions:
    quotaManagers: ["system:serviceaccount:mlbatch-system:kueue-controller-manager"]
"""


def kueue_in(namespace: str, kind: str, name: str) -> JsonObject:
    return {"kind": kind, "metadata": {"name": name, "namespace": namespace}}


@pytest.mark.parametrize("where", ["mlbatch-system", "kueue-system"])
@pytest.mark.parametrize(
    ("kind", "name"),
    [("Deployment", "kueue-controller-manager"), ("ConfigMap", "kueue-manager-config")],
)
async def test_kueue_is_found_in_its_managers_namespace_and_in_its_own(
    where: str, kind: str, name: str
) -> None:
    client = cluster(operator_config(MLBATCH), kueue_in(where, kind, name))
    seen = await gather_installation(client, Discovery(client, FakeClock()))
    found = (seen.kueue is not None, seen.kueue_config is not None)
    assert (seen.kueue_namespace, found) == (where, (kind == "Deployment", kind == "ConfigMap"))


async def test_without_kueue_its_namespace_is_that_of_the_first_manager() -> None:
    client = cluster(operator_config(MLBATCH))
    seen = await gather_installation(client, Discovery(client, FakeClock()))
    assert (seen.kueue_namespace, seen.kueue, seen.kueue_config) == ("mlbatch-system", None, None)


async def test_unreadable_parts_are_distinguished_from_missing_ones() -> None:
    client = cluster(forbidden=("customresourcedefinitions", "deployments", "leases"))
    seen = await gather_installation(client, Discovery(client, FakeClock()))
    single = ("definition", "webhook", "controller", "kueue", "workload_definition")
    assert seen.refused == {
        **dict.fromkeys(single, "no right to get it"),
        "leases": "no right to list them",
    }
    assert (seen.leases, seen.secret) == (None, None)
    assert seen.configuration.problem == (
        "there is no ConfigMap appwrapper-operator-config in appwrapper-system, mlbatch-system"
    )


@pytest.mark.parametrize(
    ("dry_run", "answer", "refused"),
    [
        (JUDGED, "", None),
        (
            {"metadata": {}},
            "it set no label with the user's name, so the API server did not call it",
            None,
        ),
        (Forbidden(403, "Forbidden", "no"), "", "403 Forbidden: no"),
    ],
)
async def test_results_of_a_dry_run(
    dry_run: JsonObject | Exception, answer: str, refused: str | None
) -> None:
    client = cluster(dry_run=dry_run)
    seen = await gather_installation(client, Discovery(client, FakeClock()))
    assert (seen.answer, seen.refused.get("answer")) == (answer, refused)


async def test_an_api_server_that_is_away_is_an_error() -> None:
    client = cluster(dry_run=Unreachable("nobody is there"))
    with pytest.raises(Unreachable):
        await gather_installation(client, Discovery(client, FakeClock()))
