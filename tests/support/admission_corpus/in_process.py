"""Answers a case as the API server would, with the webhook's application in process."""

from base64 import b64decode
from typing import Any

import jsonpatch
import orjson

from shared.api.objects import JsonObject
from shared.config.configuration import AppWrapperConfig
from tests.support.admission_corpus.case import ALICE, SCHEDULER, TEAM, Case
from tests.support.builders.admission import review
from tests.support.builders.pod_schema import POD_SCHEMA
from tests.support.cluster.answers import ApiResponse
from tests.support.fakes.in_process_webhook import InProcessWebhook
from webhook.admission_review import User
from webhook.app import MUTATE, VALIDATE
from webhook.rules.submission import Facts

# As the local cluster configures the product.
_CONFIG = AppWrapperConfig(default_queue_name="default-queue", scheduler_name=SCHEDULER)
_GENERATED = "x7k2p"
# Kueue writes such infos into a component when it admits an AppWrapper.
_INFOS = [{"labels": {"kueue.x-k8s.io/podset": "0"}, "nodeSelector": {"flavor": "default"}}]


def facts(namespace: str) -> Facts:
    """Returns the facts of a user who may create everything there, and is no admin."""
    return Facts(_CONFIG, pod_schema=POD_SCHEMA, is_team_namespace=namespace == TEAM)


def answered(webhook: InProcessWebhook, case: Case) -> ApiResponse:
    """Returns the answer to the case's request."""
    webhook.know(facts(case.sent["metadata"]["namespace"]))
    answer = _sent(webhook, case.sent, None, ALICE if case.change else case.user)
    if not case.change:
        return answer
    assert answer.code < 300, (case.name, answer)
    old = answer.object
    old["spec"]["suspend"] = not case.running
    if case.running:
        old["spec"]["components"][0]["podSetInfos"] = _INFOS
    changed = jsonpatch.apply_patch(old, list(case.change))
    return _sent(webhook, changed, old, case.user)


def _sent(
    webhook: InProcessWebhook, sent: JsonObject, old: JsonObject | None, user: User
) -> ApiResponse:
    mutated = _response(webhook, MUTATE, sent, old, user)
    warnings = tuple(mutated.get("warnings", ()))
    if not mutated["allowed"]:
        return _refusal(mutated, warnings)
    made = sent
    if "patch" in mutated:
        made = jsonpatch.JsonPatch(orjson.loads(b64decode(mutated["patch"]))).apply(sent)
    if "name" not in made["metadata"]:
        metadata = made["metadata"]
        made = {**made, "metadata": {**metadata, "name": metadata["generateName"] + _GENERATED}}
    validated = _response(webhook, VALIDATE, made, old, user)
    warnings += tuple(validated.get("warnings", ()))
    if not validated["allowed"]:
        return _refusal(validated, warnings)
    return ApiResponse(200 if old else 201, made, warnings)


def _refusal(response: JsonObject, warnings: tuple[str, ...]) -> ApiResponse:
    status = response["status"]
    return ApiResponse(status["code"], status, warnings)


def _response(
    webhook: InProcessWebhook, path: str, sent: JsonObject, old: JsonObject | None, user: User
) -> dict[str, Any]:
    group, _, version = sent["apiVersion"].rpartition("/")
    asked = review(
        sent,
        old=old,
        operation="UPDATE" if old else "CREATE",
        kind={"group": group, "version": version, "kind": sent["kind"]},
        name=sent["metadata"].get("name", ""),
        namespace=sent["metadata"]["namespace"],
        userInfo={
            "username": user.name,
            "uid": user.uid,
            "groups": [*user.groups, "system:authenticated"],
        },
    )
    return webhook.post(path, orjson.dumps(asked)).response
