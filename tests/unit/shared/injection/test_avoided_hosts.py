from copy import deepcopy
from typing import Any

import pytest

from shared.injection.avoided_hosts import AvoidedHosts, keep_off
from shared.injection.fields import InjectionConflict

GPU, NIC = "nvidia.com/gpu", "nvidia.com/roce_gdr"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
AVOIDED = AvoidedHosts(
    by_resource={GPU: ("bad-1", "bad-2"), NIC: ("bad-3",)},
    unwanted=("odd",),
)


def template(*resources: str, **spec: Any) -> dict[str, Any]:
    container = {"name": "main", "resources": {"limits": dict.fromkeys(resources, 1)}}
    return {"spec": {"containers": [container], **spec}}


def not_in(*hosts: str) -> dict[str, Any]:
    return {"key": "kubernetes.io/hostname", "operator": "NotIn", "values": list(hosts)}


def affinity_after(given: dict[str, Any], avoided: AvoidedHosts = AVOIDED) -> Any:
    keep_off(given, avoided, "template")
    again = deepcopy(given)
    keep_off(again, avoided, "template")
    assert again == given
    return given["spec"].get("affinity")


def required(*hosts: str) -> dict[str, Any]:
    return {REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": [not_in(*hosts)]}]}}


UNWANTED = {PREFERRED: [{"weight": 100, "preference": {"matchExpressions": [not_in("odd")]}}]}


@pytest.mark.parametrize(
    ("resources", "hosts"),
    [
        ((), ()),
        ((GPU,), ("bad-1", "bad-2")),
        ((NIC, GPU), ("bad-1", "bad-2", "bad-3")),
        (("cpu",), ()),
    ],
)
def test_a_pod_is_kept_off_the_hosts_of_the_resources_that_it_asks_for(
    resources: tuple[str, ...], hosts: tuple[str, ...]
) -> None:
    forbidden = required(*hosts) if hosts else {}
    assert affinity_after(template(*resources)) == {"nodeAffinity": forbidden | UNWANTED}


def test_nothing_to_avoid_changes_nothing() -> None:
    assert affinity_after(template(GPU), AvoidedHosts()) is None
    assert affinity_after(template(), AvoidedHosts(by_resource={GPU: ("bad-1",)})) is None


def test_the_users_own_affinity_stays() -> None:
    theirs = {"nodeAffinity": required("mine")}
    found = affinity_after(template(GPU, affinity=theirs))
    [term] = found["nodeAffinity"][REQUIRED]["nodeSelectorTerms"]
    assert term["matchExpressions"] == [not_in("mine"), not_in("bad-1", "bad-2")]


def test_if_kueue_chooses_the_nodes_nothing_is_injected() -> None:
    gates = [{"name": "kueue.x-k8s.io/topology"}]
    assert affinity_after(template(GPU, schedulingGates=gates)) is None
    assert affinity_after(template(schedulingGates=[{"name": "other"}])) is not None


def test_a_field_of_another_type_is_refused() -> None:
    with pytest.raises(InjectionConflict) as caught:
        keep_off(template(GPU, affinity=[]), AVOIDED, "template")
    assert str(caught.value) == "template.spec.affinity is an array, not an object"
