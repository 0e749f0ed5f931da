"""What holds of every answer of the webhook, whatever was asked."""

from base64 import b64decode
from collections.abc import Iterator
from hashlib import sha256
from typing import Any

import jsonpatch
import orjson

from shared.api import names
from shared.api.objects import is_label_value
from tests.support.fakes.in_process_webhook import Answer, InProcessWebhook
from webhook.app import MUTATE, VALIDATE

# Refusals that are the sender's fault. 500 would be a bug: every fact is known here.
_REFUSALS = {400: "BadRequest", 403: "Forbidden", 422: "Invalid"}
# A refusal tells what is wrong and no more: the answer to a body is not much larger than it.
_MOST_PER_BYTE = 20
_ALWAYS_FINE = 100_000
# The API server keeps no more of a warning.
_LONGEST_WARNING = 256
_MOST_COMPONENTS = 100
_LONGEST_LABEL = 63


def check_any(app: InProcessWebhook, body: bytes) -> None:
    """Of any body at all."""
    for path in (MUTATE, VALIDATE):
        check_answer(app.post(path, body), body)


def check_answer(answer: Answer, body: bytes) -> dict[str, Any] | None:
    """The response of a valid answer; None where the body was no review."""
    assert len(answer.body) <= max(_ALWAYS_FINE, _MOST_PER_BYTE * len(body)), "the answer is huge"
    if answer.status == 400:
        assert answer.body.endswith(b"\n"), answer.body
        return None
    assert answer.status == 200, answer
    review = orjson.loads(answer.body)
    assert review.keys() == {"apiVersion", "kind", "response"}, review
    assert (review["apiVersion"], review["kind"]) == ("admission.k8s.io/v1", "AdmissionReview")
    response: dict[str, Any] = review["response"]
    request = orjson.loads(body)["request"]
    assert response["uid"] == request["uid"]
    assert all(
        isinstance(text, str) and 0 < len(text) <= _LONGEST_WARNING
        for text in response.get("warnings", [])
    ), response["warnings"]
    if response["allowed"] is True:
        _check_permission(response, request)
    else:
        assert response["allowed"] is False, response
        _check_refusal(response)
    return response


def _check_permission(response: dict[str, Any], request: dict[str, Any]) -> None:
    assert response.keys() <= {"uid", "allowed", "patchType", "patch", "warnings"}, response
    if "patch" in response:
        assert response["patchType"] == "JSONPatch"
        changed = patched(request["object"], response)
        # Encoded: to Python true is 1.
        assert _encoded(changed) != _encoded(request["object"]), "a patch of nothing"
    assert request["operation"] in ("CREATE", "UPDATE", "DELETE", "CONNECT")
    assert request["userInfo"]["username"], "nobody was judged"


def _check_refusal(response: dict[str, Any]) -> None:
    assert response.keys() <= {"uid", "allowed", "status", "warnings"}, response
    status = response["status"]
    assert status["status"] == "Failure"
    assert _REFUSALS.get(status["code"]) == status["reason"], status
    assert isinstance(status["message"], str), status
    assert status["message"], status
    for cause in status.get("details", {}).get("causes", []):
        assert cause["field"], status
        assert cause["message"], status


def patched(target: Any, response: dict[str, Any]) -> Any:
    """`target` after the response's patch, which must apply cleanly."""
    if "patch" not in response:
        return target
    return jsonpatch.apply_patch(target, orjson.loads(b64decode(response["patch"])))


def check_creation(app: InProcessWebhook, review: dict[str, Any]) -> dict[str, Any] | None:
    """Of a CREATE: the object as it would be stored; None where it is refused.

    What was mutated is mutated no more; what is admitted can be read.
    """
    mutated = _answered(app, MUTATE, review)
    if mutated is None or not mutated["allowed"]:
        return None
    assert not is_appwrapper(review) or not _has_too_many(review["request"]["object"])
    target: dict[str, Any] = patched(review["request"]["object"], mutated)
    review = _with(review, object=target)
    again, validated = (_answered(app, path, review) for path in (MUTATE, VALIDATE))
    assert again is not None
    assert "patch" not in again, ("mutating twice", orjson.loads(b64decode(again["patch"])))
    if validated is None or not validated["allowed"]:
        return None
    assert again["allowed"], again  # what mutation made too large, validation refuses, too
    if is_appwrapper(review):
        _check_admitted(target)
        _check_submitter(target["metadata"], review["request"]["userInfo"])
    return target


def is_appwrapper(review: dict[str, Any]) -> bool:
    """Of our own group."""
    kind = review["request"]["kind"]
    return (kind["group"], kind["kind"]) == (names.GROUP, names.KIND)


def _check_admitted(target: Any) -> None:
    """Told here once more, by other means than the rules'."""
    components = target["spec"]["components"]
    assert components
    for component in components:
        template = component["template"]
        assert template["apiVersion"].count("/") <= 1
        assert template["kind"] != "AppWrapper"
        assert (template.get("metadata") or {}).get("namespace") in (None, "", "team1")
        assert not component.get("podSetInfos"), "quota that nobody granted"
        _check_counted(template)


_LARGEST_COUNT = 2**31 - 1
_MOST_GROUPS = 100
# Kinds with pods, and the versions in which they are counted.
_VERSIONS = {
    ("", "Pod"): ("v1", "/v1"),
    ("batch", "Job"): ("batch/v1",),
    ("apps", "Deployment"): ("apps/v1",),
    ("apps", "StatefulSet"): ("apps/v1",),
    ("jobset.x-k8s.io", "JobSet"): ("jobset.x-k8s.io/v1alpha2",),
    ("kubeflow.org", "PyTorchJob"): ("kubeflow.org/v1",),
    ("kubeflow.org", "MPIJob"): ("kubeflow.org/v1", "kubeflow.org/v2beta1"),
    ("leaderworkerset.x-k8s.io", "LeaderWorkerSet"): ("leaderworkerset.x-k8s.io/v1",),
    ("trainer.kubeflow.org", "TrainingRuntime"): ("trainer.kubeflow.org/v1alpha1",),
    ("trainer.kubeflow.org", "TrainJob"): ("trainer.kubeflow.org/v1alpha1",),
    ("ray.io", "RayCluster"): ("ray.io/v1",),
    ("ray.io", "RayJob"): ("ray.io/v1",),
}


def _check_counted(template: Any) -> None:
    """Neither an unknown version nor an impossible count hides pods."""
    group = template["apiVersion"].rpartition("/")[0]
    versions = _VERSIONS.get((group, template["kind"]))
    if versions is None:
        return
    assert template["apiVersion"] in versions, "pods that nobody counts"
    spec = template.get("spec") or {}
    for groups in _groups_of_pods(template["kind"], spec):
        assert len(groups) <= _MOST_GROUPS, "groups that nobody counts"
        for each in groups:
            replicas = each.get("replicas")
            assert replicas is None or type(replicas) is int, "a count of another type"
            assert 0 <= (replicas or 0) <= _LARGEST_COUNT, "an impossible count"


def _groups_of_pods(kind: str, spec: Any) -> Iterator[list[Any]]:
    """Each part of a spec that says how many pods there are."""
    cluster = (spec.get("rayClusterSpec") if kind == "RayJob" else spec) or {}
    if kind in ("RayCluster", "RayJob"):
        yield cluster.get("workerGroupSpecs") or []
    elif kind == "JobSet":
        yield spec.get("replicatedJobs") or []
    elif kind == "TrainingRuntime":
        yield [spec.get("mlPolicy") or {}]
        yield ((spec.get("template") or {}).get("spec") or {}).get("replicatedJobs") or []
    elif kind in ("PyTorchJob", "MPIJob"):
        roles = spec.get(f"{kind.removesuffix('Job').lower()}ReplicaSpecs") or {}
        yield list(roles.values())
    elif kind not in ("Pod", "Job"):
        yield [spec]


def _has_too_many(target: Any) -> bool:
    """More components, or pod sets in all of them, than anything shall look at."""
    spec = target.get("spec")
    components = spec.get("components") if isinstance(spec, dict) else None
    if not isinstance(components, list):
        return False
    lists = [
        [each[key] for each in components if isinstance(each, dict) and key in each]
        for key in ("podSets", "podSetInfos")
    ]
    counts = [sum(len(each) for each in found if isinstance(each, list)) for found in lists]
    return max(len(components), *counts) > _MOST_COMPONENTS


def _check_submitter(metadata: dict[str, Any], user: dict[str, Any]) -> None:
    """Exactly, and as far as a label can hold it; what had to be cut ends in a hash of it all."""
    name = user["username"]
    assert metadata["annotations"][names.ANNOTATION_SUBMITTED_BY] == name
    value = metadata["labels"][names.LABEL_USER]
    assert len(value) <= _LONGEST_LABEL
    if len(name) > _LONGEST_LABEL:
        assert value.endswith(sha256(name.encode()).hexdigest()[:8])
    elif is_label_value(name):
        assert value == name


def check_replay(app: InProcessWebhook, review: dict[str, Any], stored: dict[str, Any]) -> None:
    """Of what a CREATE stored: sending it, or its file, again disturbs nothing."""
    submitted, submitter = review["request"]["object"], review["request"]["userInfo"]
    # Nobody creates what is being deleted: the API server takes that away.
    metadata = {k: v for k, v in stored["metadata"].items() if k != "deletionTimestamp"}
    stored = {**stored, "metadata": metadata}
    review = _with(review, operation="UPDATE", userInfo={"username": "bob"})
    for old in (stored, as_kueue_holds(stored), as_kueue_starts(stored)):
        for sent in (old, submitted):
            update = _with(review, object=sent, oldObject=old)
            mutated = _answered(app, MUTATE, update)
            assert mutated is not None
            assert mutated["allowed"], mutated
            target = patched(sent, mutated)
            if target["spec"].get("suspend") and not old["spec"].get("suspend"):
                continue  # the file says that it shall stop, and not that it was so from the start
            assert target["spec"]["components"] == old["spec"]["components"], "a replay changes it"
            labels = old["metadata"]["labels"]
            assert labels.items() <= target["metadata"]["labels"].items(), "a replay drops labels"
            _check_submitter(target["metadata"], submitter)
            validated = _answered(app, VALIDATE, _with(update, object=target))
            assert validated is not None
            assert validated["allowed"], validated
            if sent is old:
                assert "patch" not in mutated, orjson.loads(b64decode(mutated["patch"]))


def as_kueue_holds(stored: dict[str, Any]) -> dict[str, Any]:
    """Waiting for quota."""
    return {**stored, "spec": {**stored["spec"], "suspend": True}}


def as_kueue_starts(stored: dict[str, Any]) -> dict[str, Any]:
    """Started: podSetInfos in every component, no suspend, and the controller's finalizer."""
    infos = [{"name": "main", "nodeSelector": {"pool": "a"}}]
    components = [{**each, "podSetInfos": infos} for each in stored["spec"]["components"]]
    spec = {key: value for key, value in stored["spec"].items() if key != "suspend"}
    metadata = {**stored["metadata"], "finalizers": [names.FINALIZER]}
    return {**stored, "metadata": metadata, "spec": {**spec, "components": components}}


def check_update(app: InProcessWebhook, review: dict[str, Any]) -> None:
    """Of any UPDATE: nothing is in it afterwards that neither the sent nor the stored one had."""
    mutated = _answered(app, MUTATE, review)
    if mutated is None or not mutated["allowed"]:
        return
    request = review["request"]
    target = patched(request["object"], mutated)
    added = _paths(target) - _paths(request["object"]) - _paths(request["oldObject"])
    assert not added, ("an UPDATE adds", added)
    review = _with(review, object=target)
    again = _answered(app, MUTATE, review)
    assert again is not None
    assert "patch" not in again, ("mutating twice", orjson.loads(b64decode(again["patch"])))
    _answered(app, VALIDATE, review)


def _answered(app: InProcessWebhook, path: str, review: dict[str, Any]) -> dict[str, Any] | None:
    body = orjson.dumps(review)
    return check_answer(app.post(path, body), body)


def _encoded(value: Any) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


def _with(review: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {**review, "request": {**review["request"], **fields}}


def _paths(value: Any) -> set[tuple[str | int, ...]]:
    """Finalizers are a set: not their place counts but which there are."""
    metadata = value.get("metadata")
    finalizers = metadata.get("finalizers") if isinstance(metadata, dict) else None
    if not isinstance(finalizers, list):
        return set(_each_path(value))
    rest = {**metadata, "finalizers": {str(each): None for each in finalizers}}
    return set(_each_path({**value, "metadata": rest}))


def _each_path(value: Any) -> Iterator[tuple[str | int, ...]]:
    pending: list[tuple[tuple[str | int, ...], Any]] = [((), value)]
    while pending:
        path, found = pending.pop()
        yield path
        if isinstance(found, dict):
            pending += [((*path, key), inner) for key, inner in found.items()]
        elif isinstance(found, list):
            pending += [((*path, index), inner) for index, inner in enumerate(found)]
