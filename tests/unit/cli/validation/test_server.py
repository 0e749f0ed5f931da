"""What a server's dry run says, at its place in the file; nothing is changed."""

from typing import Any

import orjson
import pytest

from cli.cluster.connection import Cluster
from cli.manifests.manifest import Manifest, manifests_of
from cli.validation.server import validated_by_server
from shared.api.objects import APPWRAPPERS, GroupVersionKind, JsonObject, Resource
from shared.kube import responses
from shared.kube.client import AlreadyExists, ApiError, Conflict, KubeError
from shared.kube.discovery import UnknownKind
from shared.kube.requests import Request
from tests.support.builders.packed import PACKED
from tests.support.fakes.fake_clock import FakeClock

DRY = "dryRun=All&fieldValidation=Strict"
PATH = "/apis/workload.codeflare.dev/v1beta2/namespaces/team1/appwrappers"
(MANIFEST,) = manifests_of(PACKED, "aw.yaml")
JOBS = Resource("batch", "v1", "jobs", "Job")
OF_JOB = "POST /apis/batch/v1/namespaces/team1/jobs?dryRun=All"


class _Client:
    """Answers in turn; notes what it was asked."""

    def __init__(self, *answers: JsonObject | Exception) -> None:
        self.answers = list(answers)
        self.asked: list[str] = []
        self.bodies: list[JsonObject] = []

    async def send(self, request: Request, *, retry: bool = True) -> JsonObject:
        self.asked.append(f"{request.method} {request.target}")
        self.bodies.append(orjson.loads(request.body or b"{}"))
        answer = self.answers.pop(0) if self.answers else {}
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def get(self, *where: Any, metadata_only: bool = False) -> JsonObject:
        self.asked.append("GET")
        return {"metadata": {"resourceVersion": "7"}}


class _Discovery:
    async def resource_for(self, gvk: GroupVersionKind) -> Resource:
        if gvk.kind == "Job":
            return JOBS
        if gvk.kind != "AppWrapper":
            raise UnknownKind(gvk, "")
        return APPWRAPPERS


async def reported(client: _Client, manifest: Manifest = MANIFEST) -> list[str]:
    cluster: Any = Cluster(client, _Discovery(), FakeClock(), "team1")  # type: ignore[arg-type]
    untried: list[str] = []
    found, findings = await validated_by_server(cluster, manifest, [], untried)
    return [*map(str, findings), str(found), *untried]


def error(code: int, reason: str, message: str, **details: Any) -> ApiError:
    status = {"kind": "Status", "reason": reason, "message": message, "details": details}
    return responses._of_status(code, status)


async def test_it_would_be_created() -> None:
    client = _Client({})
    assert await reported(client) == [
        "aw.yaml:1: AppWrapper/train: valid: it would be created in team1"
    ]
    assert client.asked == [f"POST {PATH}?{DRY}", OF_JOB]


async def test_an_existing_object_would_be_replaced() -> None:
    client = _Client(AlreadyExists(409, "AlreadyExists", "there"), {})
    assert await reported(client) == [
        "aw.yaml:1: AppWrapper/train: valid: it would replace the one in team1"
    ]
    assert client.asked == [f"POST {PATH}?{DRY}", "GET", f"PUT {PATH}/train?{DRY}", OF_JOB]


async def test_an_object_that_changes_meanwhile_is_read_again() -> None:
    there, changed = AlreadyExists(409, "AlreadyExists", "there"), Conflict(409, "Conflict", "no")
    client = _Client(there, changed, changed, {})
    assert await reported(client) == [
        "aw.yaml:1: AppWrapper/train: valid: it would replace the one in team1"
    ]
    assert client.asked[1:] == [*["GET", f"PUT {PATH}/train?{DRY}"] * 3, OF_JOB]


async def test_an_object_that_changes_all_the_time_is_refused() -> None:
    there, changed = AlreadyExists(409, "AlreadyExists", "there"), Conflict(409, "Conflict", "no")
    client = _Client(there, *[changed] * 5)
    assert (await reported(client))[-1] == "aw.yaml:1: AppWrapper/train: refused"
    assert client.answers == []


async def test_an_old_version_in_the_manifest_is_refused_at_once() -> None:
    old = PACKED.replace("  name: train\nspec", '  name: train\n  resourceVersion: "1"\nspec')
    (manifest,) = manifests_of(old, "aw.yaml")
    client = _Client(AlreadyExists(409, "AlreadyExists", "there"), Conflict(409, "Conflict", "no"))
    assert (await reported(client, manifest))[-1] == "aw.yaml:1: AppWrapper/train: refused"
    assert client.answers == []


async def test_it_is_refused_field_by_field() -> None:
    causes = [{"field": "spec.components[0].template.spec.template", "message": "Invalid: no"}]
    assert await reported(_Client(error(422, "Invalid", "all", causes=causes))) == [
        "aw.yaml:14:9: error: spec.components[0].template.spec.template: Invalid: no",
        "aw.yaml:1: AppWrapper/train: refused",
    ]


async def test_it_is_refused_as_a_whole() -> None:
    message = 'User "ann" cannot create resource "appwrappers"'
    assert await reported(_Client(error(403, "Forbidden", message))) == [
        f"aw.yaml:1:1: error: {message}",
        "aw.yaml:1: AppWrapper/train: refused",
    ]


async def test_a_field_that_the_server_does_not_know() -> None:
    message = 'strict decoding error: unknown field "spec.components[0].template.spec.no"'
    assert await reported(_Client(error(400, "BadRequest", message))) == [
        f"aw.yaml:13:7: error: spec.components[0].template.spec.no: {message}",
        "aw.yaml:1: AppWrapper/train: refused",
    ]


async def test_all_errors_come_in_one_round() -> None:
    """The API server reports the wrong fields alone, and the webhook is not asked."""
    text = PACKED.replace("components:", "componets:").replace(
        "  name: train\nspec", "  name: train\n  labels: {a: 5}\nspec"
    )
    (manifest,) = manifests_of(text, "aw.yaml")
    causes = [{"field": "metadata.name", "message": "Invalid: the webhook's words"}]
    name = [{"field": "metadata.name", "message": "Invalid: the server's"}]
    client = _Client(
        error(422, "Invalid", "all", causes=causes), error(422, "Invalid", "all", causes=name)
    )
    assert await reported(client, manifest) == [
        "aw.yaml:7:3: error: spec.componets: Invalid value: unknown field; did you mean"
        ' "components"?',
        "aw.yaml:5:12: error: metadata.labels[a]: Invalid value: must be a string, but is a number;"
        " put it in quotes",
        "aw.yaml:4:3: error: metadata.name: Invalid: the webhook's words",
        "aw.yaml:13:9: error: spec.components[0].template.metadata.name: Invalid: the server's",
        "aw.yaml:1: AppWrapper/train: refused",
    ]
    sent = client.bodies[0]
    assert (sent["metadata"]["labels"], list(sent["spec"])) == ({"a": "5"}, ["components"])


async def test_components_that_could_not_be_tried_are_named() -> None:
    message = 'User "ann" cannot create resource "jobs"'
    client = _Client({}, error(403, "Forbidden", message))
    assert await reported(client) == [
        "aw.yaml:1: AppWrapper/train: valid: it would be created in team1",
        "spec.components[0].template: you may not create jobs yourself, so only the controller's"
        " own create has them validated",
    ]


async def test_a_kind_that_is_not_served() -> None:
    (pod,) = manifests_of("apiVersion: v2\nkind: Pod\nmetadata: {name: p}\n", "p.yaml")
    assert await reported(_Client(), pod) == [
        'p.yaml:1:1: error: no matches for kind "Pod" in version "v2"',
        "p.yaml:1: Pod/p: refused",
    ]


@pytest.mark.parametrize("code", [401, 429, 500, 503])
async def test_a_server_without_the_webhook(code: int) -> None:
    with pytest.raises(KubeError):
        await reported(_Client(error(code, "InternalError", "the webhook did not answer")))
