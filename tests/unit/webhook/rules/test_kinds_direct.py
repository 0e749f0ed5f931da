from typing import Any

import pytest

from shared.config.configuration import AllowedKinds, AppWrapperConfig
from tests.support.builders.admission import request
from webhook import chain
from webhook.admission_review import APPWRAPPER
from webhook.rules.submission import Facts
from webhook.verdicts import Allowed, Denied, Verdict

NAMED: dict[str, Any] = {"metadata": {"name": "mine"}}


def judged(
    group_kind: str, allowed: AllowedKinds | None = None, *, name: str = "mine", **known: Any
) -> Verdict:
    config = AppWrapperConfig(allowed_kinds=allowed or AllowedKinds())
    facts = Facts(config, is_team_namespace=True, **known)
    created = request(
        NAMED if name else {"metadata": {"generateName": "mine-"}}, group_kind=group_kind, name=name
    )
    return chain.validate(created, facts)


@pytest.mark.parametrize(
    ("group_kind", "named"),
    [
        ("apps/Deployment", "Deployment.apps"),
        ("apps/StatefulSet", "StatefulSet.apps"),
        ("batch/Job", "Job.batch"),
        ("Pod", "Pod"),
        ("jobset.x-k8s.io/JobSet", "JobSet.jobset.x-k8s.io"),
    ],
)
def test_a_kind_that_can_be_wrapped_must_be_wrapped(group_kind: str, named: str) -> None:
    assert judged(group_kind) == Denied(
        {
            "status": "Failure",
            "code": 403,
            "reason": "Forbidden",
            "message": f'{named} "mine" is forbidden: in a team\'s namespace it has to be wrapped, '
            "so that it is queued and its quota is counted: "
            "appwrapper pack FILE | kubectl apply -f -",
            "details": {
                "name": "mine",
                "group": group_kind.rpartition("/")[0],
                "kind": group_kind.rpartition("/")[2],
            },
        },
        rules=("direct_kinds",),
    )


def test_the_refusal_of_another_kind_names_the_kinds_that_can_be_wrapped() -> None:
    allowed = AllowedKinds(direct=("Service", "Secret"), wrapped=("Pod", "batch/Job"))
    denied = judged("apps/DaemonSet", allowed, name="")
    assert isinstance(denied, Denied)
    assert denied.status["message"] == (
        'DaemonSet.apps "mine-" is forbidden: in a team\'s namespace it may neither be created nor '
        "wrapped; these Kinds may be wrapped: Pod, batch/Job"
    )


def test_the_nearest_kind_that_may_be_wrapped_is_named() -> None:
    denied = judged("batch/CronJob")
    assert isinstance(denied, Denied)
    assert denied.reasons == (
        "in a team's namespace it may neither be created nor wrapped: create an AppWrapper with a "
        "batch/Job instead; `kubectl explain appwrapper.spec.components.template` lists the Kinds "
        "that may be wrapped",
    )


@pytest.mark.parametrize("group_kind", sorted({*AllowedKinds().direct} - {APPWRAPPER}))
def test_a_listed_kind_is_allowed(group_kind: str) -> None:
    """AppWrappers have rules of their own."""
    assert judged(group_kind) == Allowed()


def test_a_star_allows_everything() -> None:
    assert judged("apps/Deployment", AllowedKinds(direct=("*",))) == Allowed()


@pytest.mark.parametrize("group_kind", ["Job", "example.com/Service", "apps/Service", "service"])
def test_a_kind_of_another_group_is_another_kind(group_kind: str) -> None:
    assert isinstance(judged(group_kind), Denied)


def test_outside_a_teams_namespace_every_kind_is_allowed() -> None:
    owner = {"kind": "AppWrapper", "name": "a", "uid": "1", "controller": True}
    owned = {"metadata": {"name": "mine", "ownerReferences": [owner]}}
    facts = Facts(AppWrapperConfig())
    for created in (
        request(NAMED, group_kind="apps/DaemonSet", name="mine"),
        request(owned, group_kind="kubeflow.org/PyTorchJob", name="mine"),
    ):
        assert chain.validate(created, facts) == Allowed()


def test_the_platform_creates_what_it_wants() -> None:
    assert judged("Pod", is_platform=True) == Allowed()


def test_an_admin_who_is_not_exempt_is_refused() -> None:
    """The registration spares admins; the rule knows nothing of them."""
    assert isinstance(judged("Pod", is_admin=True), Denied)


def test_errors_name_the_fields_of_a_pod_that_may_be_created_directly() -> None:
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "mine", "labels": {"workload.codeflare.dev/appwrapper": "other"}},
        "spec": {
            "containers": [],
            "nodeName": "a",
            "priorityClassName": "system-node-critical",
            "resourceClaims": [{"name": "gpu"}],
        },
    }
    facts = Facts(
        AppWrapperConfig(allowed_kinds=AllowedKinds(direct=("Pod",))), is_team_namespace=True
    )
    denied = chain.validate(request(pod, group_kind="Pod", name="mine"), facts)
    assert isinstance(denied, Denied)
    assert [reason.partition(": ")[0] for reason in denied.reasons] == [
        "spec.resourceClaims",
        "metadata.labels[workload.codeflare.dev/appwrapper]",
        "spec.priorityClassName",
        "spec.nodeName",
    ]
