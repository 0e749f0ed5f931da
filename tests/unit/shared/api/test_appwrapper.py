from typing import Any

import pytest

from shared.api.appwrapper import AppWrapper
from shared.api.objects import Owner, controller_of

METADATA = {"namespace": "team1", "name": "train", "uid": "u1", "resourceVersion": "7"}


def appwrapper(spec: Any = None, **metadata: Any) -> AppWrapper:
    raw = {"metadata": {**METADATA, **metadata}}
    return AppWrapper(raw if spec is None else {**raw, "spec": spec})


def test_absent_fields_have_defaults() -> None:
    bare = appwrapper()
    assert (bare.namespace, bare.name, bare.uid, bare.resource_version) == (
        "team1",
        "train",
        "u1",
        "7",
    )
    assert not bare.suspend
    assert not bare.deletion_requested
    assert not bare.has_our_finalizer
    assert bare.is_ours
    assert bare.queue_name == ""
    assert (bare.attempt, bare.retries) == (0, 0)
    assert (bare.components, bare.conditions, bare.component_statuses) == ([], [], [])


@pytest.mark.parametrize(
    ("managed_by", "ours"),
    [
        (None, True),
        ("workload.codeflare.dev/appwrapper-controller", True),
        ("kueue.x-k8s.io/multikueue", False),
    ],
)
def test_whose_it_is(managed_by: str | None, ours: bool) -> None:
    assert appwrapper({"managedBy": managed_by}).is_ours is ours


def test_the_controlling_owner_is_the_one_marked_as_controller() -> None:
    references = [
        {"uid": "a", "kind": "ReplicaSet", "name": "x"},
        {"uid": "b", "kind": "AppWrapper", "name": "train", "controller": True},
    ]
    item = {"metadata": {"ownerReferences": references}}
    assert controller_of(item) == Owner("b", "AppWrapper", "train")
    assert controller_of({"metadata": {"ownerReferences": references[:1]}}) is None
    assert controller_of({"metadata": {}}) is None
