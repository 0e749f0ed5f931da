"""What a dry run of the components finds, and what is no error of the AppWrapper."""

from typing import Any

import pytest

from cli.cluster.connection import Cluster
from cli.validation.components import ComponentFindings, component_findings
from shared.api.objects import GroupVersionKind, JsonObject, Resource
from shared.kube import responses
from shared.kube.client import AlreadyExists, ApiError, Unreachable
from shared.kube.discovery import UnknownKind
from shared.kube.requests import Request
from tests.support.fakes.fake_clock import FakeClock

JOB: JsonObject = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {"name": "broken_Name"},
    "spec": {"template": {"spec": {"containers": []}}},
}
SOUND = {**JOB, "metadata": {"name": "train"}}
AT = "spec.components[0].template"


class Server:
    """Answers creates in turn, the last answer again and again; `heard` gets its warnings."""

    def __init__(self, *answers: Exception | str | None) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[str, Any]] = []
        self.heard: list[str] = []

    async def send(self, request: Request, *, retry: bool = True) -> JsonObject:
        path, _, query = request.target.partition("?")
        assert (request.method, query) == ("POST", "dryRun=All")
        self.asked.append((path, request.body))
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        self.heard += [answer] if answer else []
        return {}

    async def resource_for(self, gvk: GroupVersionKind) -> Resource:
        if gvk.kind == "Odd":
            raise UnknownKind(gvk, "")
        is_namespaced = gvk.kind != "Node"
        return Resource(gvk.group, gvk.version, f"{gvk.kind.lower()}s", gvk.kind, is_namespaced)

    async def findings(
        self, *templates: JsonObject, known: tuple[str, ...] = (), is_new: bool = True
    ) -> ComponentFindings:
        cluster: Any = Cluster(self, self, FakeClock(), "team1")  # type: ignore[arg-type]
        body = {"spec": {"components": [{"template": each} for each in templates]}}
        return await component_findings(
            cluster, body, "team1", self.heard, known=known, is_new=is_new
        )


def error(code: int, reason: str, message: str, **details: Any) -> ApiError:
    status = {"kind": "Status", "reason": reason, "message": message, "details": details}
    return responses._of_status(code, status)


def forbidden(message: str) -> ApiError:
    return error(403, "Forbidden", message)


INVALID = error(
    422,
    "Invalid",
    "all",
    causes=[
        {"field": "metadata.name", "message": 'Invalid value: "broken_Name": a DNS label'},
        {
            "field": "spec.template.spec.containers[0].resources.limits[nvidia.com/gpu]",
            "message": 'Invalid value: "1500m": must be an integer',
        },
    ],
)


async def test_each_error_has_its_place_in_the_appwrapper() -> None:
    server = Server(None, INVALID)
    found = await server.findings(JOB, JOB)
    assert found.errors == [
        'spec.components[1].template.metadata.name: Invalid value: "broken_Name": a DNS label',
        "spec.components[1].template.spec.template.spec.containers[0].resources.limits"
        '[nvidia.com/gpu]: Invalid value: "1500m": must be an integer',
    ]
    assert (found.warnings, list(found.not_checked())) == ([], [])
    assert [path for path, _ in server.asked] == ["/apis/batch/v1/namespaces/team1/jobs"] * 2


async def test_errors_that_are_reported_already_are_not_repeated() -> None:
    """Another error about the same field is another fault."""
    server = Server(INVALID)
    server.heard.append('unknown field "spec.a"')  # of an earlier request
    name = f"{AT}.metadata.name: Invalid value: "
    found = await server.findings(JOB, known=(f'{name}"broken_Name": a DNS label',))
    limits = f"{AT}.spec.template.spec.containers[0].resources.limits[nvidia.com/gpu]"
    assert [each.partition(": ")[0] for each in found.errors] == [limits]
    found = await server.findings(JOB, known=(f"{name}too long",))
    assert [each.partition(": ")[0] for each in found.errors] == [f"{AT}.metadata.name", limits]
    assert found.warnings == []


async def test_unknown_fields_are_warnings_at_their_place() -> None:
    found = await Server('unknown field "spec.paralelism"').findings(JOB)
    assert found.warnings == [f'{AT}.spec.paralelism: unknown field "spec.paralelism"']
    assert found.errors == []


async def test_a_value_of_another_type() -> None:
    message = (
        'Job in version "v1" cannot be handled as a Job: json: cannot unmarshal string into Go'
        " struct field JobSpec.spec.parallelism of type int32"
    )
    found = await Server(error(400, "BadRequest", message)).findings(JOB)
    assert found.errors == [f"{AT}.spec.parallelism: {message}"]


RIGHT = 'jobs.batch is forbidden: User "ann" cannot create resource "jobs" in API group "batch"'


async def test_components_without_the_right_to_create_are_named() -> None:
    found = await Server(forbidden(RIGHT)).findings(SOUND, SOUND)
    assert (found.errors, found.warnings) == ([], [])
    assert list(found.not_checked()) == [
        "spec.components[0].template, spec.components[1].template: you may not create jobs"
        " yourself, so only the controller's own create has them validated"
    ]


async def test_without_that_right_names_and_whole_devices_are_checked_here() -> None:
    limits = {"nvidia.com/gpu": "1500m", "cpu": "1500m", "pod.alpha.kubernetes.io/a": "0.5"}
    containers = [{"name": "main", "resources": {"limits": limits}}]
    job = {**JOB, "spec": {"template": {"spec": {"containers": containers}}}}
    role = {**JOB, "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role"}
    found = await Server(forbidden(RIGHT)).findings(job, role)
    assert found.errors == [
        f'{AT}.metadata.name: Invalid value: "broken_Name": write up to 253 lower-case letters,'
        " digits, '-' and '.', with a letter or digit at both ends of each part",
        f"{AT}.spec.template.spec.containers[0].resources.limits[nvidia.com/gpu]: Invalid value:"
        ' "1500m": must be a whole number',
    ]
    assert (await Server(forbidden(RIGHT)).findings(SOUND)).errors == []
    assert (await Server(None).findings(job)).errors == [], "the API server has checked it"


@pytest.mark.parametrize(
    "message",
    [
        'admission webhook "vdirectkinds.workload.codeflare.dev" denied the request: Job.batch "a"'
        " is forbidden: in a team's namespace it has to be wrapped",
        "jobs.batch \"a\" is forbidden: ValidatingAdmissionPolicy 'appwrapper-counted' with binding"
        " 'appwrapper-counted-others' denied request: no",
    ],
)
async def test_this_operators_refusal_of_direct_objects_is_no_finding(message: str) -> None:
    """The API server calls these after its own validation, which has passed."""
    found = await Server(forbidden(message)).findings(JOB)
    assert (found.errors, found.warnings, list(found.not_checked())) == ([], [], [])


@pytest.mark.parametrize(
    "message",
    [
        'admission webhook "policy.example.com" denied the request: no latest',
        'pods "a" is forbidden: violates PodSecurity "baseline:latest": hostNetwork',
        'jobs.batch "a" is forbidden: exceeded quota: compute',
    ],
)
async def test_other_refusals_are_warnings(message: str) -> None:
    found = await Server(forbidden(message)).findings(JOB)
    assert found.warnings == [f"{AT}: the cluster refuses this Job to you: {message}"]
    assert found.errors == []


@pytest.mark.parametrize(
    ("code", "reason", "message"),
    [
        (400, "", 'admission webhook "policy.example.com" denied the request: no latest'),
        (
            422,
            "Invalid",
            "jobs.batch \"a\" is forbidden: ValidatingAdmissionPolicy 'limits' with binding 'all'"
            " denied request: too many",
        ),
    ],
)
async def test_another_policy_may_refuse_with_any_status(
    code: int, reason: str, message: str
) -> None:
    found = await Server(error(code, reason, message)).findings(JOB)
    assert found.warnings == [f"{AT}: the cluster refuses this Job to you: {message}"]
    assert found.errors == []


async def test_a_name_that_is_taken_is_a_warning_for_a_new_appwrapper() -> None:
    taken = AlreadyExists(409, "AlreadyExists", "there")
    found = await Server(taken).findings(JOB)
    assert found.warnings == [
        f"{AT}.metadata.name: Job broken_Name exists already: the AppWrapper can start only after"
        " its deletion"
    ]
    assert (await Server(taken).findings(JOB, is_new=False)).warnings == []


async def test_kinds_that_no_appwrapper_can_create() -> None:
    odd, node = ({**JOB, "kind": kind} for kind in ("Odd", "Node"))
    found = await Server(None).findings(odd, node)
    assert found.errors == [
        f'{AT}: no matches for kind "Odd" in version "batch/v1"',
        "spec.components[1].template: Node is not namespaced: no AppWrapper can own it",
    ]


async def test_the_pods_of_other_kinds_are_tried_too() -> None:
    server = Server(None, INVALID, forbidden("cannot create resource"))
    role = {"replicas": 1, "template": {"spec": {"containers": [{"name": "pytorch"}]}}}
    training = {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {"name": "Train"},
        "spec": {"pytorchReplicaSpecs": dict.fromkeys(ROLES, role)},
    }
    found = await server.findings(training)
    assert [path.rpartition("/")[2] for path, _ in server.asked] == ["pytorchjobs", "pods", "pods"]
    master, worker = (f"{AT}.spec.pytorchReplicaSpecs.{each}.template" for each in ROLES)
    assert found.errors[0].startswith(f"{master}.metadata.name: ")
    assert list(found.not_checked()) == [
        f"{worker}: you may not create pods yourself, so only the controller's own create has them"
        " validated"
    ]


ROLES = ("Master", "Worker")


async def test_an_answer_without_a_result_is_shown_and_no_answer_ends_the_command() -> None:
    failed = error(500, "InternalError", 'failed calling webhook "mjob.kb.io"')
    found = await Server(failed).findings(JOB)
    assert list(found.not_checked()) == [
        f"{AT}: the API server gave no answer: 500 InternalError: failed calling webhook"
        ' "mjob.kb.io"'
    ]
    with pytest.raises(Unreachable):
        await Server(Unreachable("connection refused")).findings(JOB)


async def test_malformed_components_are_the_webhooks_to_report() -> None:
    server = Server(None)
    cluster: Any = Cluster(server, server, FakeClock(), "team1")  # type: ignore[arg-type]
    for spec in (None, {}, {"components": "text"}, {"components": [1, {}, {"template": {}}]}):
        await component_findings(cluster, {"spec": spec}, "team1", [], known=(), is_new=True)
    assert server.asked == []
