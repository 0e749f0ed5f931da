"""`appwrapper submit` as people call it, with an API server in memory."""

import asyncio
import json
import signal
from collections.abc import Callable
from typing import Any

import orjson
import pytest

from cli.submitting import running
from shared.api.objects import JsonObject
from shared.kube.client import AlreadyExists, Forbidden, Invalid, KubeError, Unreachable
from shared.kube.requests import Request
from shared.kube.responses import Cause
from tests.support.builders.explained.objects import RUNS, condition, container, pod
from tests.support.builders.packed import JOB
from tests.support.fakes.log_session import connected_to, run_command
from tests.support.fakes.log_session import train as train_of
from tests.support.fakes.logged_pods import LoggedPods, lines

ENDED = container({"terminated": {"exitCode": 1}})
CAUSE = {"attempt": 1, "pod": "train-0-x7k2p", "message": "ValueError: shard 7", "source": "Log"}
AW = """\
apiVersion: workload.codeflare.dev/v1beta2
kind: AppWrapper
metadata: {name: train}
spec: {components: []}
"""


def train(phase: str, attempt: int = 1, **status: Any) -> JsonObject:
    return train_of(phase, pods=1, attempt=attempt, **status)


class Creating(LoggedPods):
    """Stores what is created, in the first phase; `stages` follow as soon as it is watched."""

    def __init__(self, *stages: JsonObject | Callable[[], None] | None) -> None:
        super().__init__({"appwrappers": [], "pods": [], "namespaces": []})
        self.stages = list(stages)
        self.refusals: dict[bool, KubeError] = {}
        self.created: list[tuple[str, JsonObject]] = []
        self.tried: list[str] = []  # components
        self.untried: KubeError | None = None

    async def send(self, request: Request, *, retry: bool = True) -> JsonObject:
        if request.method != "POST":
            return await super().send(request, retry=retry)
        path, _, query = request.target.partition("?")
        dry_run = "dryRun=All" in query
        body: JsonObject = orjson.loads(request.body or b"")
        if not path.endswith("/appwrappers"):
            assert (dry_run, "fieldValidation" in query) == (True, False)
            self.tried.append(f"{body['kind']} {body['metadata']['name']}")
            if self.untried is not None:
                raise self.untried
            return body
        assert "fieldValidation=Strict" in query
        if dry_run in self.refusals:
            raise self.refusals[dry_run]
        if dry_run:
            return body
        self.created.append((path.split("/")[5], body))
        item = train("", attempt=0)
        item["metadata"]["name"] = body["metadata"]["name"]
        self.put("appwrappers", item)
        return item

    async def get_path(self, path: str) -> JsonObject:
        assert path == "/apis/batch/v1"
        return {"resources": [{"name": "jobs", "kind": "Job", "namespaced": True}]}

    async def watch(self, resource: Any, *arguments: Any, **options: Any) -> Any:
        if resource.plural == "appwrappers" and self.stages:
            asyncio.get_running_loop().call_soon(self._next)
        async for each in super().watch(resource, *arguments, **options):
            yield each
            if self.stages:
                asyncio.get_running_loop().call_later(0.02, self._next)

    def _next(self) -> None:
        if not self.stages:
            return
        stage = self.stages.pop(0)
        if stage is None:
            self.remove("appwrappers", "train")
        elif callable(stage):
            stage()
            self._next()
        else:
            self.put("appwrappers", stage)


@pytest.fixture
def submit(monkeypatch: pytest.MonkeyPatch) -> Any:
    def run(
        client: LoggedPods, *words: str, stdin: str = AW, **options: Any
    ) -> tuple[int, str, str]:
        monkeypatch.setattr(running, "connected", connected_to(client))
        return run_command("submit", "-", *words, stdin=stdin, **options)

    return run


def test_it_returns_once_the_appwrapper_is_created(submit: Any) -> None:
    client = Creating()
    assert submit(client, "--queue", "urgent") == (0, "train is created in namespace team1\n", "")
    [(namespace, body)] = client.created
    assert namespace == "team1"
    assert body["metadata"]["labels"] == {"kueue.x-k8s.io/queue-name": "urgent"}


def test_a_job_is_wrapped_first(submit: Any) -> None:
    client = Creating()
    code, out, _ = submit(client, "-o", "name", "--name", "run-7", stdin=JOB)
    assert (code, out) == (0, "appwrapper.workload.codeflare.dev/run-7\n")
    [(_, body)] = client.created
    assert body["spec"]["components"][0]["template"]["kind"] == "Job"
    assert client.tried == ["Job train"]


def test_components_that_the_server_could_not_check_are_named(submit: Any) -> None:
    """As for members under overlay mlbatch, who may wrap what they may not create."""
    client = Creating()
    message = 'jobs.batch is forbidden: User "ann" cannot create resource "jobs"'
    client.untried = Forbidden(403, "Forbidden", message)
    assert submit(client, stdin=JOB) == (
        0,
        "train is created in namespace team1\n",
        "not checked: spec.components[0].template: you may not create jobs yourself, so only the"
        " controller's own create has them validated\n",
    )


def test_several_appwrappers_are_created_in_order(submit: Any) -> None:
    client = Creating()
    two = f"{AW}---\n{AW.replace('name: train', 'name: other')}"
    code, out, _ = submit(client, "-o", "json", stdin=two)
    assert [each["metadata"]["name"] for each in json.loads(out)] == ["train", "other"]
    assert (code, len(client.created)) == (0, 2)


def test_nothing_is_created_if_one_is_refused(submit: Any) -> None:
    client = Creating()
    causes = (Cause("spec.components", "Required value: at least one"),)
    client.refusals[True] = Invalid(422, "Invalid", "…", causes=causes)
    assert submit(client) == (
        1,
        "",
        "standard input:4:8: error: spec.components: Required value: at least one\n",
    )
    assert client.created == []


def test_a_name_that_is_taken_is_refused(submit: Any) -> None:
    client = Creating()
    client.refusals[True] = AlreadyExists(409, "AlreadyExists", "…")
    assert submit(client) == (
        1,
        "",
        "error: train exists already in namespace team1: delete it, or choose another name with"
        " --name\n",
    )


def test_a_create_without_an_answer_may_have_created_it(submit: Any) -> None:
    client = Creating()
    client.refusals[False] = Unreachable("no answer in time")
    assert submit(client) == (
        2,
        "",
        "error: no answer in time. train may have been created: check it with appwrapper"
        " list -n team1\n",
    )


WAITS = condition("QuotaReserved", "False", "Pending", "12 more needed")


def suspended() -> JsonObject:
    item = train("Suspended", attempt=0)
    item["status"]["conditions"] = [WAITS]
    return item


def texts(err: str) -> list[str]:
    return [line.partition("UTC  ")[2] or line for line in err.splitlines()]


def test_waiting_prints_each_stage_and_ends_with_the_success(submit: Any) -> None:
    client = Creating(suspended(), train("Running"), train("Running"), train("Succeeded"))
    code, out, err = submit(client, "--wait", "-o", "name")
    assert (code, out) == (0, "appwrapper.workload.codeflare.dev/train\n")
    assert texts(err) == [
        "train is created",
        "train waits for its quota: 12 more needed",
        "train runs (attempt 1)",
        "train succeeded",
    ]


def test_a_failure_names_the_cause_and_is_the_exit_code(submit: Any) -> None:
    client = Creating(train("Running"), train("Failed", rootCause=CAUSE))
    code, out, err = submit(client, "--wait", "-o", "json")
    assert (code, json.loads(out)["status"]["phase"]) == (1, "Failed")
    assert texts(err)[2:] == [
        "train: first failure of attempt 1: train-0-x7k2p: ValueError: shard 7",
        "train failed (attempt 1)",
    ]


def test_a_deletion_ends_the_wait(submit: Any) -> None:
    code, _, err = submit(Creating(train("Running"), None), "--wait")
    assert (code, texts(err)[-1]) == (1, "train was deleted before its end")


def test_another_of_its_name_is_not_awaited(submit: Any) -> None:
    another = train("Succeeded")
    another["metadata"]["uid"] = "another"
    code, _, err = submit(Creating(train("Running"), another), "--wait")
    assert (code, texts(err)[-1]) == (1, "train was deleted before its end")


def test_a_person_sees_one_line_that_changes(submit: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    client = Creating(suspended(), train("Failed", rootCause=CAUSE))
    _, _, err = submit(client, "--wait", err_window=True)
    shown = err.split("\r\x1b[2K")
    assert [each.partition("UTC  ")[2] for each in shown] == [
        "",
        "train is create"[:15],
        "train waits for"[:15],
        "train: first failure of attempt 1: train-0-x7k2p: ValueError: shard 7\n",
        "train failed (a\n",
    ]


def test_following_shows_the_logs_of_each_attempt(submit: Any) -> None:
    client = Creating()

    def puts(plural: str, *items: JsonObject) -> Callable[[], None]:
        def change() -> None:
            for each in items:
                client.put(plural, each)

        return change

    def failed(attempt: int) -> JsonObject:
        return pod(0, "Failed", containers=[ENDED], attempt=attempt)

    client.stages = [
        puts("pods", pod(0, containers=[RUNS])),
        train("Running"),
    ]
    second = pod(0, containers=[RUNS], attempt=2)
    client.logs["train-0-x7k2p"] = [
        [
            lines("a"),
            puts("pods", failed(1)),
            puts("appwrappers", train("Resetting", rootCause=CAUSE)),
            lambda: client.remove("pods", "train-0-x7k2p"),
            puts("pods", second),
            puts("appwrappers", train("Running", attempt=2)),
        ],
        [
            lines("b", second=9),
            puts("pods", failed(2)),
            puts("appwrappers", train("Succeeded", attempt=2)),
        ],
        [],
    ]
    code, out, err = submit(client, "--follow")
    assert (code, out) == (0, "train is created in namespace team1\na\nb\n")
    assert texts(err)[-1] == "note: attempt 2 has ended: train is Succeeded"


def test_the_logs_of_several_are_not_followed(submit: Any) -> None:
    two = f"{AW}---\n{AW.replace('name: train', 'name: other')}"
    assert submit(Creating(), "--follow", stdin=two) == (
        2,
        "",
        "error: --follow shows the logs of one AppWrapper, and there are 2: use --wait\n",
    )


def test_ctrl_c_leaves_it_running_and_names_the_next_steps(submit: Any) -> None:
    client = Creating(train("Running"), lambda: signal.raise_signal(signal.SIGINT))
    code, out, err = submit(client, "--wait")
    assert (code, out) == (130, "train is created in namespace team1\n")
    assert err.endswith(
        "\ntrain continues in the cluster.\n"
        "  appwrapper logs -f train -n team1            # follow it again\n"
        "  appwrapper explain train -n team1            # why it runs or waits\n"
        "  appwrapper cancel train -n team1             # stop it\n"
    )


def test_ctrl_c_before_the_creation_is_quiet(submit: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    async def interrupted(*_: object) -> None:
        signal.raise_signal(signal.SIGINT)
        await asyncio.sleep(1)

    monkeypatch.setattr(running, "create_all", interrupted)
    assert submit(Creating(), "--wait") == (130, "", "")
