"""`cancel` as users call it: what is chosen, the question, the deletes and the wait."""

import asyncio
import io
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from cli import main as program
from cli.cancelling import running
from cli.cancelling.selection import TEACH
from cli.cancelling.waiting import QUIET, until_gone
from cli.cluster.connection import Cluster
from cli.terminal import CommandTerminal
from shared.kube.client import Forbidden, NotFound
from shared.kube.discovery import Discovery
from tests.support.builders.explained.objects import NOW, appwrapper, condition, held
from tests.support.builders.listed import REVIEWS, USER, called
from tests.support.fakes.changed_objects import ChangedObjects
from tests.support.fakes.fake_clock import FakeClock

ME = {"status": {"userInfo": {"username": "alice@x"}}}


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> ChangedObjects:
    """`runs`, `waits`, `ended`, `ending` are of alice@x, `other` is of alice_x: the same label."""
    ready = held(ready=True)
    items = {
        "runs": ("alice@x", appwrapper("Running", *ready, attempt=1)),
        "waits": ("alice@x", appwrapper("Suspended")),
        "ended": ("alice@x", appwrapper("Failed", attempt=1)),
        "ending": ("alice@x", appwrapper("Terminating", attempt=1)),
        "other": ("alice_x", appwrapper("Running", *ready, attempt=1)),
    }
    items["ending"][1]["metadata"]["deletionTimestamp"] = "2026-03-02T14:00:00Z"
    made = [called(item, name, user) for name, (user, item) in items.items()]
    made[0]["metadata"]["labels"]["project"] = "vision"
    client = ChangedObjects(*made, paths={REVIEWS: ME})

    @asynccontextmanager
    async def connected(_arguments: object) -> AsyncIterator[Cluster]:
        yield Cluster(client, Discovery(client, FakeClock()), FakeClock(NOW), "team1")

    monkeypatch.setattr(running, "connected", connected)
    return client


class Window(io.StringIO):
    def isatty(self) -> bool:
        return True


def cancel(*arguments: str, answer: str | None = None) -> tuple[int, str, str]:
    """`answer`: what a person types at the question."""
    out, err = io.StringIO(), io.StringIO()
    stdin = io.StringIO() if answer is None else Window(answer)
    code = program.main(["cancel", *arguments], CommandTerminal(stdin, out, err, {}))
    return code, out.getvalue(), err.getvalue()


def deleted(client: ChangedObjects) -> list[str]:
    return [name for name, _ in client.deletes]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), TEACH),
        (("--yes",), TEACH),
        (("-l", ""), "-l needs a selector, as in -l project=vision: an empty one would select all"),
        (("--me", "-l", " "), "-l needs a selector, as in -l project=vision: an empty one would"
         " select all"),
        (("runs", "-l", "a=b"), "NAME and -l are two choices: give one of them"),
    ],
)  # fmt: skip
def test_nothing_is_ever_cancelled_by_accident(
    client: ChangedObjects, arguments: tuple[str, ...], message: str
) -> None:
    assert cancel(*arguments) == (2, "", f"error: {message}\n")
    assert client.sent == []


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        (("runs",), ["runs"]),
        (("waits", "runs", "waits"), ["waits", "runs"]),
        (("ended",), ["ended"]),
        (("--me",), ["runs", "waits"]),
        (("-l", "project=vision"), ["runs"]),
        (("--me", "-l", "project=vision"), ["runs"]),
        (("-l", USER), ["other", "runs", "waits"]),
        (("runs", "--me"), ["runs"]),
    ],
)
def test_the_options_choose(
    client: ChangedObjects, arguments: tuple[str, ...], names: list[str]
) -> None:
    """Ended AppWrappers only by name, and another user's never by --me."""
    code, out, err = cancel(*arguments, "--yes")
    assert (code, out, err) == (0, "".join(f"{each} is being deleted.\n" for each in names), "")
    assert deleted(client) == names


def test_a_delete_is_in_the_background_and_names_the_uid(client: ChangedObjects) -> None:
    cancel("runs", "--yes")
    assert client.deletes == [
        (
            "runs",
            {
                "apiVersion": "v1",
                "kind": "DeleteOptions",
                "propagationPolicy": "Background",
                "preconditions": {"uid": "uid-of-runs"},
            },
        )
    ]


def test_a_new_one_of_the_name_survives(
    client: ChangedObjects, monkeypatch: pytest.MonkeyPatch
) -> None:
    def asked(*_: Any) -> None:
        client.objects["appwrappers"][0]["metadata"]["uid"] = "another"

    monkeypatch.setattr(running, "_confirm", asked)
    assert cancel("runs") == (
        1,
        "",
        "warning: runs was replaced by a new AppWrapper meanwhile: left alone\n",
    )
    assert "deletionTimestamp" not in client.objects["appwrappers"][0]["metadata"]


def test_with_me_names_of_other_users_are_refused(client: ChangedObjects) -> None:
    assert cancel("runs", "other", "--me", "--yes") == (
        2,
        "",
        "error: other is of another user (other: user alice_x): nothing was cancelled. Leave out"
        " --me to cancel AppWrappers of other users\n",
    )
    assert client.deletes == []


def test_a_wrong_name_cancels_nothing(client: ChangedObjects) -> None:
    code, _, err = cancel("waits", "run", "--yes")
    assert (code, client.deletes) == (2, [])
    assert "Did you mean runs" in err


def test_nothing_to_cancel_is_no_error(client: ChangedObjects) -> None:
    code, out, _ = cancel("-l", "project=none")
    assert (code, out[:18]) == (0, "Nothing to cancel:")


LISTING = """\
2 AppWrappers of namespace team1:
  runs   Running       10m  alice@x
  waits  Suspended     10m  alice@x
Delete these 2 AppWrappers and all pods? [y/N] """


@pytest.mark.parametrize("answer", ["y\n", "YES\n"])
def test_a_person_sees_what_goes_and_confirms(client: ChangedObjects, answer: str) -> None:
    code, _, err = cancel("--me", answer=answer)
    assert (code, err) == (0, LISTING)
    assert deleted(client) == ["runs", "waits"]


def test_a_deleted_one_is_shown_as_the_list_shows_it(client: ChangedObjects) -> None:
    client.objects["appwrappers"][3]["status"]["phase"] = "Running"
    _, _, err = cancel("ending", answer="n\n")
    assert "\n  ending  Terminating   10m  alice@x\n" in err


@pytest.mark.parametrize("answer", ["\n", "n\n", "", "runs\n"])
def test_any_other_answer_keeps_all(client: ChangedObjects, answer: str) -> None:
    assert cancel("--me", answer=answer) == (1, "", f"{LISTING}error: nothing was cancelled\n")
    assert client.deletes == []


def test_a_program_must_add_yes(client: ChangedObjects) -> None:
    message = "error: nothing was cancelled: confirm it in a terminal, or add --yes\n"
    assert cancel("runs") == (2, "", message)
    assert client.deletes == []


def test_one_that_is_gone_already_is_fine(client: ChangedObjects) -> None:
    client.refusing = [NotFound(404, "NotFound", "")]
    assert cancel("runs", "--yes") == (0, "runs is gone.\n", "")


def test_a_refused_delete_hides_no_other(client: ChangedObjects) -> None:
    client.refusing = [Forbidden(403, "Forbidden", "you may not")]
    code, out, err = cancel("runs", "waits", "--yes")
    assert (code, out) == (2, "waits is being deleted.\n")
    assert "you may not" in err


def test_the_wait_reports_what_blocks_after_two_seconds(client: ChangedObjects) -> None:
    async def waited() -> list[str]:
        clock, reports = FakeClock(NOW), list[str]()
        for each in client.objects["appwrappers"]:
            each["metadata"]["resourceVersion"] = "5"
        cluster = Cluster(client, Discovery(client, clock), clock, "team1")
        uids = {"uid-of-runs", "uid-of-waits"}
        task = asyncio.ensure_future(until_gone(cluster, uids, reports.append))
        await clock.advance(QUIET - 0.1)
        assert reports == []
        await clock.advance(0.2)
        client.gone("waits")
        await clock.advance(0)
        text = "Pod runs-0 on node gpu-1, which is unreachable"
        blocked = condition("DeletingResources", "True", "DeletionBlocked", text)
        client.change("runs", conditions=[blocked])
        await clock.advance(0)
        client.gone("runs")
        await clock.advance(0)
        assert task.done()
        return reports

    assert asyncio.run(waited()) == [
        "waiting until runs and waits are gone",
        "waiting until runs is gone",
        "waiting until runs is gone\n"
        "runs is blocked: Pod runs-0 on node gpu-1, which is unreachable",
    ]


def test_a_quick_deletion_is_reported_at_its_end(
    client: ChangedObjects, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.objects["appwrappers"][0]["metadata"]["resourceVersion"] = "5"
    removed = client.objects["appwrappers"][:1]

    def delete(name: str, _body: Any) -> Any:
        del client.objects["appwrappers"][:]
        return removed[0]

    monkeypatch.setattr(client, "_delete", delete)
    assert cancel("runs", "--yes", "--wait") == (
        0,
        "runs is being deleted.\n1 AppWrapper gone.\n",
        "",
    )
