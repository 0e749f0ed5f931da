from dataclasses import replace
from typing import Any, ClassVar

import pytest

from tests.support.builders.admission import (
    POD,
    appwrapper,
    component,
    facts,
    queued,
    request,
    team_facts,
)
from tests.support.builders.known_facts import KnownFacts
from tests.support.builders.pod_schema import POD_SCHEMA
from webhook.admission_review import AdmissionRequest
from webhook.judge import Judge
from webhook.rules.submission import CannotGather, Facts
from webhook.verdicts import Allowed, Denied, Errored, ErrorReason, Patched

JOB: dict[str, Any] = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}}
BROKEN = Judge(KnownFacts(CannotGather("the API server is away")))


def judge(**config: Any) -> Judge:
    known = facts(**config)
    return Judge(KnownFacts(Facts(known.config, pod_schema=POD_SCHEMA, is_team_namespace=True)))


@pytest.mark.parametrize("answer", [BROKEN.mutate, BROKEN.validate])
@pytest.mark.parametrize("judged", [request(appwrapper()), request(JOB, group_kind="batch/Job")])
async def test_an_unknown_fact_is_an_error_and_never_an_admission(
    answer: Any, judged: AdmissionRequest
) -> None:
    assert await answer(judged) == Errored(500, "the API server is away", ErrorReason.MISSING_FACTS)


@pytest.mark.parametrize(
    "ignored",
    [
        request(appwrapper(), old=appwrapper(), subresource="status"),
        request(JOB, old=JOB, group_kind="batch/Job"),
        request(POD, group_kind="Pod", subresource="binding"),
    ],
)
async def test_nothing_is_gathered_for_what_is_not_judged(ignored: AdmissionRequest) -> None:
    assert await BROKEN.mutate(ignored) == Allowed()
    assert await BROKEN.validate(ignored) == Allowed()


async def test_an_appwrapper_is_checked_by_its_own_rules() -> None:
    assert isinstance(await judge().mutate(request(appwrapper())), Patched)
    queued = appwrapper(labels={"kueue.x-k8s.io/queue-name": "q"})
    assert await judge().validate(request(queued)) == Allowed()


class Classes(KnownFacts):
    """The cache knows class `old` only; a live list has `live` too, or fails."""

    live: ClassVar[frozenset[str] | CannotGather] = frozenset({"old", "new"})

    async def with_live_priority_classes(self, facts: Facts) -> Facts:
        if isinstance(self.live, CannotGather):
            raise self.live
        return replace(facts, priority_classes=self.live)


def with_class(name: str) -> AdmissionRequest:
    body = {**POD, "spec": {**POD["spec"], "priorityClassName": name}}
    return request(queued(component(body)))


async def test_a_class_that_the_cache_lacks_is_looked_up_live() -> None:
    known = Classes(replace(team_facts(), priority_classes=frozenset({"old"})))
    assert await Judge(known).validate(with_class("new")) == Allowed()
    denied = await Judge(known).validate(with_class("hi-prio"))
    assert isinstance(denied, Denied)
    assert denied.reasons == (
        'spec.components[0].template.spec.priorityClassName: Invalid value: "hi-prio": this cluster'
        " has no such PriorityClass: name new, old or none",
    )


async def test_without_a_live_list_an_unknown_class_is_an_error_and_a_known_one_is_not() -> None:
    class Broken(Classes):
        live = CannotGather("the priority classes could not be read: 500")

    broken = Judge(Broken(replace(team_facts(), priority_classes=frozenset({"old"}))))
    assert await broken.validate(with_class("old")) == Allowed()
    assert await broken.validate(with_class("new")) == Errored(
        500, "the priority classes could not be read: 500", ErrorReason.MISSING_FACTS
    )


async def test_an_object_created_directly_is_checked_by_other_rules() -> None:
    denied = await judge().validate(request(JOB, group_kind="batch/Job"))
    assert isinstance(denied, Denied)
    assert (denied.status["code"], denied.rules) == (403, ("direct_kinds",))


async def test_an_object_created_directly_gets_a_queue_if_that_is_configured() -> None:
    settings = {"default_queue_name": "q", "default_queue_name_on_direct_kinds": True}
    created = request(JOB, group_kind="kubeflow.org/PyTorchJob")
    assert await judge(**settings).mutate(created) == Patched(
        [
            {
                "op": "add",
                "path": "/metadata/labels",
                "value": {"kueue.x-k8s.io/queue-name": "q"},
            }
        ]
    )
    assert await judge().mutate(created) == Allowed()
