"""Which pods are counted, and for which component."""

from typing import Any

import pytest

from controller.facts.pod_counts import Membership
from controller.phases.snapshot import Component, Presence
from tests.support.builders.remembered_pods import pod, with_uids
from tests.support.decisions import JOB, SERVICE

SERVE = Component(name="serve", kind="Deployment", presence=Presence.PRESENT, expected_pods=2)
BARE = {"appwrapper_uid": "", "attempt": ""}


def membership(*components: Component, taken_over: bool = False, attempt: int = 1) -> Membership:
    """The first component has the UID `first`, the second `job`."""
    return Membership(
        appwrapper_uid="u1",
        attempt=attempt,
        components=with_uids(components, "first", "job", ""),
        taken_over=taken_over,
    )


@pytest.mark.parametrize(
    ("changes", "taken_over", "own"),
    [
        pytest.param({}, False, True, id="our UID label"),
        pytest.param({"appwrapper_uid": "u2"}, True, False, id="another AppWrapper of that name"),
        pytest.param({"owner_uid": "their-job"}, False, True, id="all labels, another owner"),
        pytest.param(BARE, False, True, id="owned by a component"),
        pytest.param({**BARE, "owner_uid": "u1"}, False, True, id="itself a component"),
        pytest.param(
            {**BARE, "owner_uid": "their-job"}, False, False, id="the name label was copied"
        ),
        pytest.param({**BARE, "owner_uid": ""}, True, False, id="a user's own pod"),
        pytest.param(
            {**BARE, "owner_uid": "replica-set"},
            True,
            True,
            id="under the Go operator's ReplicaSet",
        ),
    ],
)
def test_the_name_label_alone_proves_nothing(
    changes: dict[str, Any], taken_over: bool, own: bool
) -> None:
    one = pod("a", **changes)
    found = membership(SERVICE, JOB, SERVE, taken_over=taken_over)
    assert (found.is_own(one), found.is_current(one)) == (own, own)


@pytest.mark.parametrize(("attempt", "current"), [("1", False), ("2", True), ("", True)])
def test_attempts(attempt: str, current: bool) -> None:
    one = pod("a", attempt=attempt)
    found = membership(SERVICE, JOB, attempt=2)
    assert (found.is_own(one), found.is_current(one)) == (True, current)


@pytest.mark.parametrize(
    ("changes", "components", "index"),
    [
        pytest.param({"component": 2}, (SERVICE, JOB, SERVE), 2, id="by its label"),
        pytest.param({"component": 3}, (SERVICE, JOB, SERVE), 1, id="by its owner"),
        pytest.param(
            {"owner_uid": "u1", "uid": "first"}, (SERVICE, JOB, SERVE), 0, id="it is the component"
        ),
        pytest.param({"owner_uid": "rs"}, (SERVICE, SERVE), 1, id="only one has pods"),
        pytest.param({"owner_uid": "rs"}, (SERVICE, JOB, SERVE), None, id="nothing tells"),
        pytest.param({"owner_uid": ""}, (SERVICE, JOB, SERVE), None, id="no owner, no UID"),
    ],
)
def test_the_component_of_a_pod(
    changes: dict[str, Any], components: tuple[Component, ...], index: int | None
) -> None:
    found = membership(*components)
    one = pod("a", **changes)
    assert found.index_of(one) == index
    assert found.component_of(one) is (None if index is None else found.components[index])
