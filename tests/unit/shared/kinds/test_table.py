"""Every Kind that may be wrapped has every part of a record: none is admitted and never ends."""

import pytest

from shared.api.objects import PODS
from shared.config.configuration import AllowedKinds
from shared.kinds.kind import Kind
from shared.kinds.pod import POD
from shared.kinds.table import BY_GROUP_KIND, KINDS

WITH_PODS = [each for each in KINDS if each.pod_sets is not None and not each.pods_by]


def test_each_kind_that_may_be_wrapped_has_a_record_and_each_record_may_be_wrapped() -> None:
    assert set(BY_GROUP_KIND) == set(AllowedKinds().wrapped)
    assert len(BY_GROUP_KIND) == len(KINDS)


@pytest.mark.parametrize("kind", WITH_PODS, ids=lambda kind: kind.group_kind)
def test_the_record_of_a_kind_with_pods_is_complete(kind: Kind) -> None:
    assert kind.versions
    assert {version.rpartition("/")[0] for version in kind.versions} == {kind.resource.group}
    assert kind.resource.gvk.api_version in kind.versions
    assert kind.report is not None
    assert kind.ends is not None
    assert PODS in kind.owns or kind is POD
    assert {maker.resource for maker in kind.makers} <= set(kind.owns)


def test_the_kind_that_makes_the_pods_of_another_is_complete() -> None:
    for kind in (each for each in KINDS if each.pods_by):
        assert BY_GROUP_KIND[kind.pods_by] in WITH_PODS
        assert kind.marked
        assert kind.owns == ()


@pytest.mark.parametrize(
    "kind", [each for each in KINDS if each.pod_sets is None], ids=lambda kind: kind.group_kind
)
def test_the_record_of_a_kind_without_pods_has_no_pod_fields(kind: Kind) -> None:
    assert kind == Kind(resource=kind.resource, granted=kind.granted, listed=kind.listed)
