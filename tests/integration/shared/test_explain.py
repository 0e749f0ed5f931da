"""`appwrapper explain` in thirty-odd situations, all acted out at once on the real cluster.

What lasts for a moment only, and what a reconfigured controller or a cluster without Kueue shows,
is in the unit tests; resets that are held are in exclusive/test_fleet_safety.py. Kueue's words are
quoted whole, those of the newest version: so this is not for older ones.
"""

from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
import yaml

from localcluster.access.running import RunningCluster
from shared.api.conditions import condition, transition_time
from shared.api.objects import APPWRAPPERS, PODS, JsonObject
from shared.api.times import parse_time
from tests.support.builders.pods import pod
from tests.support.cluster.explained_answers import (
    EXPECTED,
    HIDDEN_FROM_READERS,
    IN_FLAVOR,
    Expected,
    no_fit,
)
from tests.support.cluster.explained_team import (
    BOB,
    ELSEWHERE,
    TEAM,
    UNMANAGED,
    explained_team,
    wraps,
)
from tests.support.cluster.explaining import as_expected, explain, says
from tests.support.cluster.followed import followed
from tests.support.cluster.life import listed
from tests.support.patience import comes_to
from tests.support.team import FLAVOR

ALICE = ("--as", "alice", "--as-group", f"{TEAM}-edit-group")
HOUR = timedelta(hours=1)
# A period ends a tenth later at most; times in the API are cut to the second.
SPREAD = timedelta(minutes=6)
SECONDS = timedelta(seconds=2)


@dataclass(frozen=True, slots=True)
class Acted:
    """The reports by name, to an admin, and the AppWrappers as they were then."""

    cluster: RunningCluster
    reports: dict[str, Any]
    stored: dict[str, JsonObject]

    def began(self, name: str, timer: str) -> datetime:
        """When that period of it began."""
        return parse_time(self.stored[name]["status"]["timers"][timer]["began"])

    def at(self, name: str) -> list[datetime | None]:
        """The times of what happens next."""
        return [parse_time(each["at"]) if "at" in each else None for each in self.next(name)]

    def next(self, name: str) -> Any:
        """What happens next."""
        return self.reports[name]["next"]


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def acted(cluster: RunningCluster) -> AsyncIterator[Acted]:
    """Everything, once each explanation is as expected, or does not come to be."""
    async with explained_team(cluster):
        reports: dict[str, Any] = {}

        async def unsettled() -> list[str]:
            names = [name for name in EXPECTED if not is_expected(name, reports.get(name))]
            if names:
                found = await explain(cluster, TEAM, *names, "-o", "json")
                if found.code:  # something could not be read
                    return names
                # One name is answered by its report, several by a list of theirs.
                several = found.report if len(names) > 1 else [found.report]
                reports.update(zip(names, several, strict=True))
            return [name for name in names if not is_expected(name, reports[name])]

        with suppress(AssertionError):  # the test of each says what is wrong with it
            await comes_to(unsettled, [])
        items = await listed(cluster.client, APPWRAPPERS, TEAM)
        yield Acted(cluster, reports, {each["metadata"]["name"]: each for each in items})


def is_expected(name: str, report: Any) -> bool:
    """Whether the report says of it what it should."""
    return report is not None and shown(report, EXPECTED[name]) == EXPECTED[name]


def shown(report: Any, expected: Expected) -> Expected:
    """What was said; where it is what is expected, in the words of that."""
    return Expected(
        report["situation"],
        expected.answer if says(expected.answer, report["answer"]) else report["answer"],
        tuple(as_expected(expected.details, report["details"])),
        tuple(as_expected(expected.next, [each["what"] for each in report["next"]])),
    )


@pytest.mark.parametrize("name", EXPECTED)
async def test_it_is_explained(acted: Acted, name: str) -> None:
    assert shown(acted.reports[name], EXPECTED[name]) == EXPECTED[name]


async def test_a_waiting_user_sees_the_amounts_and_their_holders(acted: Acted) -> None:
    queue = acted.reports["second"]["queue"]
    since = queue["holders"][0].pop("since")
    holder = acted.stored["holder"]
    reserved = transition_time(holder["status"]["conditions"], "QuotaReserved")
    assert reserved is not None
    # The controller learns of it a moment after Kueue has granted it.
    assert parse_time(since) <= reserved
    workload = queue.pop("workload")
    assert workload.startswith("appwrapper-second-")
    assert queue == {
        "localQueue": "tight",
        "clusterQueue": f"{TEAM}-tight",
        "priority": 5,
        "priorityClass": "default-priority",
        "kueueReason": "Pending",
        "kueueMessage": no_fit("second", f"{IN_FLAVOR}, 60 more needed").partition(": ")[2],
        "position": 2,
        "pending": 3,
        "amounts": [
            {
                "resource": "cpu",
                "flavor": FLAVOR,
                "asked": 60,
                "nominal": 120,
                "used": 120,
                "free": 0,
                "most": 120,
                "isShort": True,
            }
        ],
        "holders": [
            {
                "namespace": TEAM,
                "kind": "AppWrapper",
                "name": "holder",
                "clusterQueue": f"{TEAM}-tight",
                "priority": 5,
                "priorityClass": "default-priority",
                "amounts": {"cpu": 120},
            }
        ],
        "holdersAreAll": True,
    }

    async def holders() -> list[Any]:
        """Kueue writes down whom it admits a moment after it has counted that."""
        found = (await explain(acted.cluster, TEAM, "preempted", "-o", "json")).report
        return [
            (each["name"], each["priority"], each["amounts"]) for each in found["queue"]["holders"]
        ]

    await comes_to(holders, [("urgent", 5, {"cpu": 1})])


@pytest.mark.parametrize("name", ["unschedulable", "giant-pod"])
async def test_the_schedulers_words_are_its_own(acted: Acted, name: str) -> None:
    """It counts all nodes, and other tests beside this one add and remove some."""

    async def differing() -> list[str]:
        item = await acted.cluster.client.get(PODS, TEAM, name)
        scheduled = condition(item["status"]["conditions"], "PodScheduled")
        assert scheduled is not None
        # What preempting others, or claims, would bring is left out.
        words = scheduled["message"].partition(" preemption: ")[0]
        words = words.removesuffix(" no new claims to deallocate,")
        report = (await explain(acted.cluster, TEAM, name, "-o", "json")).report
        [line] = report["pods"]["pods"]
        assert line["state"] == "Unschedulable"
        ends_so = report["answer"].endswith(f"The scheduler reports: {words}")
        return [] if line["trouble"] == words and ends_so else [words, report["answer"]]

    await comes_to(differing, [])

    async def begins_so() -> bool:
        item = await acted.cluster.client.get(APPWRAPPERS, TEAM, name)
        ready = condition(item["status"]["conditions"], "PodsReady")
        message = ready["message"] if ready else ""
        # A request above every node's capacity precedes the scheduler's message.
        above = f"0 of 1 pods run; {name} requests 100 cpu" if name == "giant-pod" else ""
        return (
            message.startswith(above or f"0 of 1 pods run; {name}: ") and f"; {name}: " in message
        )

    await comes_to(begins_so, True)


async def test_when_periods_end(acted: Acted) -> None:
    """The controller's own times: the periods are an hour each."""
    warm = acted.began("warms-up", "warmup")
    assert acted.at("warms-up") == pytest.approx([warm + HOUR, warm + 2 * HOUR], abs=SECONDS)
    for name, timer in (("kept", "deletionOnFailure"), ("grace", "failure")):
        assert acted.at(name) == pytest.approx([acted.began(name, timer) + HOUR], abs=SECONDS)
    ended = transition_time(acted.stored["done"]["status"]["conditions"], "QuotaReserved")
    assert ended is not None
    assert acted.at("done") == pytest.approx([ended + HOUR], abs=SECONDS)
    for name in ("pauses", "evacuated"):
        pause = acted.began(name, "retryPause") + HOUR
        [again] = acted.at(name)
        assert again is not None
        assert pause - SECONDS <= again <= pause + SPREAD
    pods = acted.began("refused", "admission") + HOUR
    assert acted.at("refused") == pytest.approx([pods, pods + HOUR], abs=SECONDS)


async def test_attempts_and_retries(acted: Acted) -> None:
    failed = "FoundFailedPods"
    expected = {
        "exhausted": ("Failed", 1, 1, [(1, failed), (2, failed)]),
        "terminal": ("Failed", 0, 3, [(1, failed)]),
        "robbed": ("Failed", 0, 3, [(1, "MissingComponent")]),
        "pauses": ("Resetting", 1, 3, [(1, failed)]),
        "evacuated": ("Resetting", 0, 3, [(1, "AutopilotNoExecute")]),
        "done": ("Succeeded", 0, 3, [(1, "Succeeded")]),
        "runs": ("Running", 0, 3, [(1, None)]),
        "first": ("Suspended", 0, 3, []),
    }

    async def reports() -> dict[str, Any]:
        """Of an attempt before the last one Events tell, which come after the status."""
        found = await explain(acted.cluster, TEAM, *expected, "-o", "json")
        return {
            each["name"]: (
                each["phase"],
                each["retries"],
                each["retryLimit"],
                [(one["number"], one.get("reason")) for one in each["attempts"]],
            )
            for each in found.report
        }

    await comes_to(reports, expected)


async def test_pods_by_node(acted: Acted) -> None:
    pods = acted.reports["runs"]["pods"]
    live = await listed(acted.cluster.client, PODS, TEAM, "workload.codeflare.dev/appwrapper=runs")
    on = sorted((each["spec"]["nodeName"], each["metadata"]["name"]) for each in live)
    assert [(each["node"], each["name"]) for each in pods["pods"]] == on
    assert [(each["state"], each["restarts"]) for each in pods["pods"]] == [("Running", 0)] * 2
    [crashing] = acted.reports["crashes"]["pods"]["pods"]
    assert (crashing["state"], crashing["restarts"]) == ("CrashLoopBackOff", 5)
    assert acted.reports["evacuated"]["gpuHours"]["gpus"] == 8
    assert acted.reports["evacuated"]["gpuHours"]["productive"] == 0


async def test_a_namespace_that_kueue_does_not_manage(acted: Acted) -> None:
    found = await explain(acted.cluster, ELSEWHERE, UNMANAGED, "-o", "json")
    assert (found.report["situation"], found.report["answer"]) == (
        "NotManagedByKueue",
        f"{UNMANAGED} is not managed by Kueue, so nothing starts it: namespace {ELSEWHERE} does not"
        " match Kueue's managedJobsNamespaceSelector, which asks for the labels"
        " mlbatch-team-namespace=true.",
    )


async def test_a_user_of_the_team_sees_the_same_and_the_names_of_hidden_parts(acted: Acted) -> None:
    others = ("grace", "evacuated")

    async def seen() -> Any:
        asked = ("second", "giant", *others)
        found = await explain(acted.cluster, TEAM, *asked, "-o", "json", *ALICE)
        second, giant, *rest = found.report
        queue = second["queue"]
        return (
            (shown(second, EXPECTED["second"]), second["notReadable"]),
            ([each["name"] for each in queue["holders"]], queue["holdersAreAll"]),
            (shown(giant, EXPECTED["giant"]), giant["notReadable"]),
            [
                (shown(each, EXPECTED[name]), each["notReadable"], each["periods"].get("assumed"))
                for name, each in zip(others, rest, strict=True)
            ],
        )

    # Kueue's visibility server, which knows the positions, may be away for a while.
    await comes_to(
        seen,
        (
            (EXPECTED["second"], []),
            (["holder"], False),
            (EXPECTED["giant"], []),
            [(EXPECTED[name], [], None) for name in others],
        ),
    )


async def test_a_reader_of_appwrappers_alone_sees_their_conditions(acted: Acted) -> None:
    async def seen() -> list[Any]:
        found = await explain(acted.cluster, TEAM, "second", "runs", "-o", "json", "--as", BOB)
        second, runs = found.report
        answers = [(each["situation"], each["answer"]) for each in (second, runs)]
        return [*answers, second["notReadable"]]

    # The controller copies Kueue's reason into the condition seconds after Kueue has written it.
    await comes_to(
        seen,
        [
            (
                "WaitsUnreadable",
                "second waits in LocalQueue tight: Kueue reports: couldn't assign flavors to pod"
                f" set second-0: {IN_FLAVOR}, 60 more needed.",
            ),
            (
                "Running",
                "runs runs according to its status. Not all of its pods and components can be read,"
                " so their state is not known here.",
            ),
            HIDDEN_FROM_READERS,
        ],
    )
    nobody = await explain(acted.cluster, TEAM, "second", "--as", "nobody")
    assert (nobody.code, nobody.out) == (2, "")
    assert 'User "nobody" cannot get resource "appwrappers"' in nobody.err


async def test_no_such_appwrapper(acted: Acted) -> None:
    found = await explain(acted.cluster, TEAM, "secnd")
    assert (found.code, found.out, found.err) == (
        2,
        "",
        f'error: there is no AppWrapper "secnd" in namespace {TEAM}. Did you mean second?\n',
    )
    found = await explain(acted.cluster, f"{TEAM}-none", "train")
    assert (found.code, found.out, found.err) == (
        2,
        "",
        f'error: there is no AppWrapper "train" in namespace {TEAM}-none, which has none at all.'
        " Use -n to name another namespace\n",
    )


async def test_all_of_a_namespace(acted: Acted) -> None:
    """What each says alone; for people a line each."""
    expected = {name: each.situation for name, each in EXPECTED.items()}
    expected |= {"holder": "Running", "urgent": "Running"}

    async def situations() -> dict[str, str]:
        found = await explain(acted.cluster, TEAM, "--all", "-o", "json")
        return {each["name"]: each["situation"] for each in found.report}

    await comes_to(situations, expected)
    lines = (await explain(acted.cluster, TEAM, "--all")).out.splitlines()
    assert lines[0].split() == ["NAME", "STATUS", "WHY"]
    assert [each.split()[0] for each in lines[1:]] == sorted(expected)
    [line] = [each for each in lines if each.startswith("held ")]
    assert line.strip().split(maxsplit=2)[1:] == [
        "Suspended",
        "Waits: an admin stopped LocalQueue held (stopPolicy: Hold). Kueue admits from it again"
        " when stopPolicy is None.",
    ]


async def test_those_of_a_file_as_text(acted: Acted, tmp_path: Path) -> None:
    file = tmp_path / "two.yaml"
    documents = [wraps(name, pod(name)) for name in ("held", "closed")]
    file.write_text(yaml.safe_dump_all(documents))
    found = await explain(acted.cluster, TEAM, "-f", str(file))
    assert (found.code, found.err) == (0, "")
    first, second = found.out.split("\n\nclosed ", 1)
    assert first.splitlines()[0] == EXPECTED["held"].answer
    assert f"closed {second.splitlines()[0]}" == EXPECTED["closed"].answer
    for part in (first, second):
        assert [each for each in part.splitlines()[1:] if each and not each.startswith(" ")] == [
            "What happens next",
            "Its queue",
            "Its life",
            "What helps",
        ]


async def test_it_is_followed_to_its_end(acted: Acted) -> None:
    """The exit code says how it ended."""
    body = wraps("followed", pod("followed", run_for="2s"))
    async with followed(acted.cluster.client, TEAM, body):
        found = await explain(acted.cluster, TEAM, "followed", "--watch")
    assert (found.code, found.err) == (0, "")
    lines = [each.split("  ", 1)[1] for each in found.out.splitlines()]
    assert says("followed succeeded at <ago>.", lines[-1])
    assert len(lines) == len({*lines})
    failed = await explain(acted.cluster, TEAM, "exhausted", "--watch")
    assert failed.code == 1
    assert says(EXPECTED["exhausted"].answer, failed.out.splitlines()[-1].split("  ", 1)[1])
