"""`hold` and `release` as users call them: the question, the patch and the answer."""

import io
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from cli import main as program
from cli.cluster.connection import Cluster
from cli.holding import hold, release
from cli.terminal import CommandTerminal
from shared.api.objects import JsonObject
from shared.kube.client import ApiError, Conflict, Forbidden, NotFound
from shared.kube.discovery import Discovery
from tests.support.builders.explained.objects import NOW, appwrapper, held
from tests.support.builders.listed import REVIEWS, called
from tests.support.fakes.changed_objects import ChangedObjects
from tests.support.fakes.fake_clock import FakeClock

ME = {"status": {"userInfo": {"username": "alice@x"}}}
PREFIX = "workload.codeflare.dev.appwrapper/"
HELD = {f"{PREFIX}hold": "true", f"{PREFIX}held-by": "alice@x"}


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> ChangedObjects:
    ready = held(ready=True)
    items = {
        "runs": appwrapper("Running", *ready, attempt=1),
        "waits": appwrapper("Suspended"),
        "new": appwrapper(""),
        "stops": appwrapper("Suspending", attempt=1),
        "ended": appwrapper("Failed", attempt=1),
        "ending": appwrapper("Running", *ready, attempt=1),
        "held": appwrapper("Suspended", annotations={"hold": "true", "held-by": "bob"}),
        "elsewhere": appwrapper("", spec={"managedBy": "kueue.x-k8s.io/multikueue"}),
    }
    items["ending"]["metadata"]["deletionTimestamp"] = "2026-03-02T14:00:00Z"
    made = [called(item, name, "alice@x") for name, item in items.items()]
    client = ChangedObjects(*made, paths={REVIEWS: ME})

    @asynccontextmanager
    async def connected(*_: object) -> AsyncIterator[Cluster]:
        yield Cluster(client, Discovery(client, FakeClock()), FakeClock(NOW), "team1")

    monkeypatch.setattr(hold, "connected", connected)
    monkeypatch.setattr(release, "connected", connected)
    return client


class Window(io.StringIO):
    def isatty(self) -> bool:
        return True


def run(*arguments: str, answer: str | None = None) -> tuple[int, str, str]:
    """`answer`: what a person types at the question."""
    out, err = io.StringIO(), io.StringIO()
    stdin = io.StringIO() if answer is None else Window(answer)
    code = program.main([*arguments], CommandTerminal(stdin, out, err, {}))
    return code, out.getvalue(), err.getvalue()


def patches(client: ChangedObjects, *errors: ApiError) -> list[JsonObject]:
    """Return the metadata of all patches to come. `errors`: the answers to the first ones."""
    found, answers = list[JsonObject](), [*errors]

    def patched(body: JsonObject) -> None:
        assert body.keys() == {"metadata"}
        found.append(body["metadata"])
        if answers:
            raise answers.pop(0)

    client.on_patch = patched
    return found


def stored(client: ChangedObjects, name: str) -> Any:
    items = client.objects["appwrappers"]
    return next(each for each in items if each["metadata"]["name"] == name)


UNTIL = "until you run: appwrapper release {0} -n team1\n"


@pytest.mark.parametrize("name", ["waits", "new", "stops"])
def test_one_without_running_pods_is_held_without_a_question(
    client: ChangedObjects, name: str
) -> None:
    sent = patches(client)
    assert run("hold", name) == (0, f"{name} is held " + UNTIL.format(name), "")
    assert sent == [{"uid": f"uid-of-{name}", "resourceVersion": "100", "annotations": HELD}]


LISTING = """\
1 AppWrapper of namespace team1:
  runs  Running       10m  alice@x
Stop it and delete all pods? [y/N] """


def test_a_person_confirms_that_pods_are_deleted(client: ChangedObjects) -> None:
    sent = patches(client)
    code, out, err = run("hold", "runs", "waits", answer="y\n")
    assert (code, err) == (0, LISTING)
    stops = "runs stops: its pods are being deleted, and it stays held "
    assert out == stops + UNTIL.format("runs") + "waits is held " + UNTIL.format("waits")
    assert [each.get("resourceVersion") for each in sent] == [None, "100"]


@pytest.mark.parametrize(
    ("answer", "code", "error"),
    [
        ("n\n", 1, f"{LISTING}error: nothing was held\n"),
        (None, 2, "error: nothing was held: confirm it in a terminal, or add --yes\n"),
    ],
)
def test_without_a_yes_nothing_is_held(
    client: ChangedObjects, answer: str | None, code: int, error: str
) -> None:
    sent = patches(client)
    assert run("hold", "waits", "runs", answer=answer) == (code, "", error)
    assert sent == []


def test_with_yes_it_does_not_ask(client: ChangedObjects) -> None:
    sent = patches(client)
    assert run("hold", "runs", "--yes")[0] == 0
    assert sent == [{"uid": "uid-of-runs", "annotations": HELD}]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("ended", "ended has ended (Failed): there is nothing to hold"),
        ("ending", "ending is being deleted: there is nothing to hold"),
        ("elsewhere", "elsewhere is managed by kueue.x-k8s.io/multikueue, which knows no hold"),
    ],
)
def test_one_that_cannot_be_held_hides_no_other(
    client: ChangedObjects, name: str, text: str
) -> None:
    sent = patches(client)
    code, out, err = run("hold", name, "waits")
    assert (code, err) == (1, f"warning: {text}\n")
    assert out == "waits is held " + UNTIL.format("waits")
    assert len(sent) == 1


def test_one_that_is_held_already_keeps_its_holder(client: ChangedObjects) -> None:
    sent = patches(client)
    assert run("hold", "held") == (0, "held is held by bob already.\n", "")
    assert sent == []


CONFLICT = Conflict(409, "Conflict", "newer")


def test_a_waiting_one_that_starts_meanwhile_is_not_stopped(client: ChangedObjects) -> None:
    def started(body: JsonObject) -> None:
        if body["metadata"].get("resourceVersion") == "100":
            stored(client, "waits")["status"]["phase"] = "Resuming"
            raise CONFLICT
        raise AssertionError("it was stopped without a question")

    client.on_patch = started
    text = "waits has started meanwhile: to stop it run: appwrapper hold waits -n team1"
    assert run("hold", "waits") == (1, "", f"warning: {text}\n")


def test_a_new_version_of_a_waiting_one_is_held(client: ChangedObjects) -> None:
    sent = patches(client, CONFLICT)
    assert run("hold", "waits")[0] == 0
    assert len(sent) == 2


def test_a_new_one_of_the_name_is_left_alone(client: ChangedObjects) -> None:
    def replaced(_body: JsonObject) -> None:
        stored(client, "runs")["metadata"]["uid"] = "another"
        raise CONFLICT

    client.on_patch = replaced
    text = "runs was replaced by a new AppWrapper meanwhile"
    assert run("hold", "runs", "--yes") == (1, "", f"warning: {text}\n")


def test_endless_conflicts_end(client: ChangedObjects) -> None:
    patches(client, *[CONFLICT] * 10)
    text = "waits changes all the time: try again"
    assert run("hold", "waits") == (1, "", f"warning: {text}\n")


@pytest.mark.parametrize("command", ["hold", "release"])
def test_one_that_is_gone_meanwhile_is_fine(client: ChangedObjects, command: str) -> None:
    patches(client, NotFound(404, "NotFound", ""))
    name = "waits" if command == "hold" else "held"
    assert run(command, name) == (0, f"{name} is gone.\n", "")


def test_an_error_hides_no_other_result(client: ChangedObjects) -> None:
    patches(client, Forbidden(403, "Forbidden", "you may not"))
    warning = "warning: {0}: 403 Forbidden: you may not\n"
    expected = "new is held " + UNTIL.format("new")
    assert run("hold", "waits", "new") == (1, expected, warning.format("waits"))
    patches(client, Forbidden(403, "Forbidden", "you may not"))
    expected = "waits is not held: nothing changed.\n"
    assert run("release", "held", "waits") == (1, expected, warning.format("held"))


def test_one_that_vanishes_after_a_conflict_hides_no_other(client: ChangedObjects) -> None:
    def vanishes(_body: JsonObject) -> None:
        client.on_patch = lambda _: None
        client.objects["appwrappers"].remove(stored(client, "waits"))
        raise CONFLICT

    client.on_patch = vanishes
    code, out, err = run("hold", "waits", "new")
    assert (code, out) == (1, "new is held " + UNTIL.format("new"))
    assert err.startswith('warning: waits: there is no AppWrapper "waits" in namespace team1')


def test_a_wrong_name_holds_nothing(client: ChangedObjects) -> None:
    sent = patches(client)
    code, _, err = run("hold", "waits", "run", "--yes")
    assert (code, sent) == (2, [])
    assert "Did you mean runs" in err


def test_a_release_removes_both_annotations(client: ChangedObjects) -> None:
    sent = patches(client)
    text = "held is released: it waits in queue default-queue again.\n"
    assert run("release", "held") == (0, text, "")
    assert sent == [{"uid": "uid-of-held", "annotations": dict.fromkeys(HELD)}]


@pytest.mark.parametrize(
    ("phase", "changes", "text"),
    [
        ("Suspending", {}, ": when its pods are gone, it waits in queue default-queue again"),
        ("Suspended", {"queue": None}, ": it stays suspended (spec.suspend: true)"),
        ("Suspended", {"queue": None, "suspend": None}, ": it starts again"),
        ("Failed", {}, ", and has ended (Failed)"),
    ],
)
def test_a_release_reports_what_follows(
    client: ChangedObjects, phase: str, changes: dict[str, None], text: str
) -> None:
    item = stored(client, "held")
    item["status"]["phase"] = phase
    if "queue" in changes:
        del item["metadata"]["labels"]["kueue.x-k8s.io/queue-name"]
    if "suspend" in changes:
        del item["spec"]["suspend"]
    assert run("release", "held") == (0, f"held is released{text}.\n", "")


def test_one_that_is_not_held_needs_no_release(client: ChangedObjects) -> None:
    sent = patches(client)
    assert run("release", "waits") == (0, "waits is not held: nothing changed.\n", "")
    assert sent == []


def test_one_that_is_being_deleted_is_not_released(client: ChangedObjects) -> None:
    text = "ending is being deleted: there is nothing to release"
    assert run("release", "ending") == (1, "", f"warning: {text}\n")


def test_a_release_of_a_namesake_fails(client: ChangedObjects) -> None:
    patches(client, CONFLICT)
    text = "held was replaced by a new AppWrapper meanwhile"
    assert run("release", "held") == (1, "", f"warning: {text}\n")
