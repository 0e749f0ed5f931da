from dataclasses import replace
from typing import Any

import pytest

from tests.support.builders.admission import facts, request
from webhook.rules.json_patch import SetField
from webhook.rules.queue import default_direct_queue_name
from webhook.rules.submission import Facts, Submission

QUEUE = "kueue.x-k8s.io/queue-name"
CONFIGURED: dict[str, Any] = {
    "default_queue_name": "q",
    "default_queue_name_on_direct_kinds": True,
}
JOB: dict[str, Any] = {"kind": "PyTorchJob", "metadata": {"name": "j"}, "spec": {}}
OWNER = {"apiVersion": "ray.io/v1", "kind": "RayJob", "name": "r", "uid": "1"}


def team(**config: Any) -> Facts:
    return replace(facts(**{**CONFIGURED, **config}), is_team_namespace=True)


def queue_of(known: Facts, kind: str = "kubeflow.org/PyTorchJob", **metadata: Any) -> list[Any]:
    created = {**JOB, "metadata": {"name": "j", **metadata}}
    return list(default_direct_queue_name(Submission(request(created, group_kind=kind), known)))


@pytest.mark.parametrize("kind", ["kubeflow.org/PyTorchJob", "ray.io/RayJob", "ray.io/RayCluster"])
@pytest.mark.parametrize("labels", [None, {}, {QUEUE: ""}, {"team": "a"}])
def test_a_direct_kind_without_queue_gets_the_default(
    kind: str, labels: dict[str, str] | None
) -> None:
    metadata = {} if labels is None else {"labels": labels}
    assert queue_of(team(), kind, **metadata) == [SetField(("metadata", "labels", QUEUE), "q")]


@pytest.mark.parametrize(
    ("known", "kind"),
    [
        pytest.param(team(default_queue_name_on_direct_kinds=False), None, id="not configured"),
        pytest.param(team(default_queue_name=""), None, id="no default queue"),
        pytest.param(facts(**CONFIGURED), None, id="in no team's namespace"),
        pytest.param(team(), "batch/Job", id="another kind"),
        pytest.param(team(), "example.com/PyTorchJob", id="the same name in another group"),
    ],
)
def test_otherwise_there_is_no_queue_name(known: Facts, kind: str | None) -> None:
    assert queue_of(known, kind or "kubeflow.org/PyTorchJob") == []


def test_the_setting_is_off_by_default() -> None:
    assert not facts().config.default_queue_name_on_direct_kinds


def test_a_queue_name_of_the_users_own_stays() -> None:
    assert queue_of(team(), labels={QUEUE: "mine"}) == []


def test_an_owned_object_gets_no_queue_of_its_own() -> None:
    assert queue_of(team(), ownerReferences=[OWNER, {**OWNER, "controller": True}]) == []


@pytest.mark.parametrize("owners", [[], [OWNER], [{**OWNER, "controller": False}], "x", ["x"]])
def test_only_a_controller_counts_as_owner(owners: object) -> None:
    assert len(queue_of(team(), ownerReferences=owners)) == 1
