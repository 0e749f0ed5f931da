import copy
from typing import Any

import jsonpatch
import pytest

from tests.support.builders.admission import (
    appwrapper,
    component,
    errors_of,
    facts,
    patch_of,
    request,
    team_facts,
)
from webhook import chain
from webhook.admission_review import User
from webhook.verdicts import Allowed, Denied

USER = {"workload.codeflare.dev/user": "bob", "workload.codeflare.dev/userid": "1"}
QUEUE = {"kueue.x-k8s.io/queue-name": "q"}
FACTS = facts(default_queue_name="default-queue")
NODE = component({"apiVersion": "v1", "kind": "Node"})


def test_labels_of_a_creation_without_any_take_one_operation() -> None:
    labels = patch_of(appwrapper(), under="/metadata/labels", default_queue_name="default-queue")
    assert labels == [
        {
            "op": "add",
            "path": "/metadata/labels",
            "value": {
                "kueue.x-k8s.io/queue-name": "default-queue",
                "workload.codeflare.dev/user": "alice",
                "workload.codeflare.dev/userid": "42",
            },
        }
    ]


def test_mutating_twice_changes_nothing_more() -> None:
    once = jsonpatch.apply_patch(appwrapper(), patch_of(appwrapper(), default_queue_name="q"))
    assert patch_of(once, default_queue_name="q") == []


def test_applying_the_same_file_again_is_a_no_op() -> None:
    """`kubectl replace` sends the file as it is; what admission added comes back."""
    file = appwrapper()
    stored = jsonpatch.apply_patch(file, patch_of(file, default_queue_name="q"))
    sent_again = jsonpatch.apply_patch(file, patch_of(file, old=stored, default_queue_name="q"))
    assert sent_again == stored
    assert errors_of(sent_again, old=stored) == []


def test_another_users_update_leaves_the_submitter_as_stored() -> None:
    stored = appwrapper(labels={**USER, **QUEUE})
    new = copy.deepcopy(stored)
    new["metadata"]["annotations"] = {"note": "x"}
    judged = request(new, old=stored, user=User("admin", "99"))
    assert chain.mutate(judged, FACTS) == Allowed()
    assert chain.validate(judged, FACTS) == Allowed()


@pytest.mark.parametrize("claims_deletion", [False, True])
def test_an_object_being_deleted_is_neither_changed_nor_refused(claims_deletion: bool) -> None:
    old = appwrapper(labels={**USER, **QUEUE})
    old["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    new = appwrapper(NODE, managedBy="other")
    if claims_deletion:
        new["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    assert not chain.is_checked(request(new, old=old))


def test_only_the_stored_object_shows_that_it_is_being_deleted() -> None:
    new = appwrapper(NODE)
    new["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    assert chain.is_checked(request(new))
    assert chain.is_checked(request(new, old=appwrapper()))


@pytest.mark.parametrize(
    "fields",
    [
        {"group_kind": "batch/Job", "namespace": ""},
        {"group_kind": "batch/Job", "old": appwrapper()},
        {"group_kind": "batch/Job", "subresource": "status"},
        {"subresource": "status"},
    ],
)
def test_no_rule_checks_other_requests(fields: dict[str, Any]) -> None:
    assert not chain.is_checked(request(appwrapper(NODE), **fields))


@pytest.mark.parametrize("kind", ["batch/Job", "example.com/AppWrapper"])
def test_other_kinds_are_checked_as_created_directly(kind: str) -> None:
    created = request(appwrapper(NODE), group_kind=kind)
    assert chain.is_checked(created)
    denied = chain.validate(created, team_facts())
    assert isinstance(denied, Denied)
    assert "direct_kinds" in denied.rules


def test_the_users_object_is_not_written_to() -> None:
    submitted = appwrapper()
    before = copy.deepcopy(submitted)
    chain.mutate(request(submitted), FACTS)
    chain.validate(request(submitted), FACTS)
    assert submitted == before


def test_a_refusal_reads_like_the_api_servers_own() -> None:
    verdict = chain.validate(request(appwrapper(NODE, *[component()] * 9)), FACTS)
    forbidden = (
        "Node may not be wrapped; `kubectl explain appwrapper.spec.components.template` lists the "
        "Kinds that may be wrapped"
    )
    shares = ", ".join(f"spec.components[{index}] (Pod) has 1" for index in range(1, 6))
    too_many = f"9: all components together may have at most 8 pod sets: {shares}, and 4 more"
    assert verdict == Denied(
        {
            "status": "Failure",
            "code": 422,
            "reason": "Invalid",
            "message": (
                'AppWrapper.workload.codeflare.dev "job" is invalid: '
                f"[spec.components[0].template: Forbidden: {forbidden}, "
                f"spec.components: Too many: {too_many}]"
            ),
            "details": {
                "name": "job",
                "group": "workload.codeflare.dev",
                "kind": "AppWrapper",
                "causes": [
                    {
                        "reason": "FieldValueForbidden",
                        "message": f"Forbidden: {forbidden}",
                        "field": "spec.components[0].template",
                    },
                    {
                        "reason": "FieldValueTooMany",
                        "message": f"Too many: {too_many}",
                        "field": "spec.components",
                    },
                ],
            },
        },
        rules=("allowed_kinds", "pod_set_count"),
    )


@pytest.mark.parametrize(
    ("malformed", "nodes", "errors"),
    [
        (60, 39, 99),
        (60, 40, 100),
        (60, 41, 100),
        (60, 99, 100),
        (0, 5000, 100),
        (5000, 0, 100),
        (5000, 5000, 100),
    ],
)
def test_an_answer_has_the_first_hundred_errors_of_all_rules(
    malformed: int, nodes: int, errors: int
) -> None:
    """The user could otherwise get an answer larger than the object."""
    found = errors_of(appwrapper(*["x"] * malformed, *[NODE] * nodes))
    assert len(found) == errors
    paths = [f"spec.components[{index}]" for index in range(malformed + nodes)]
    for index in (0, 59, errors - 1):
        suffix = "" if index < malformed else ".template"
        assert found[index].startswith(f"{paths[index]}{suffix}: ")


def test_an_object_without_name_yet_is_called_by_its_generate_name() -> None:
    submitted = {"metadata": {"generateName": "job-"}, "spec": {}}
    verdict = chain.validate(request(submitted, name=""), FACTS)
    assert isinstance(verdict, Denied)
    assert verdict.status["message"] == (
        'AppWrapper.workload.codeflare.dev "job-" is invalid: spec.components: Required value: '
        "an AppWrapper must contain at least one component"
    )


def test_a_long_generate_name_is_cut() -> None:
    submitted = {"metadata": {"generateName": "n" * 300}}
    assert request(submitted, name="").display_name == "n" * 253


def test_an_update_with_malformed_metadata_is_checked() -> None:
    old = appwrapper(labels=USER)
    new: dict[str, Any] = {**old, "metadata": {"labels": ["x"]}}
    patched = jsonpatch.apply_patch(new, patch_of(new, old=old))
    assert patched["metadata"] == {"labels": USER}
