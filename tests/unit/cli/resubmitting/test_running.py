"""`resubmit` as users call it."""

import io
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from cli import main as program
from cli.cluster.connection import Cluster
from cli.resubmitting import running
from cli.terminal import CommandTerminal
from shared.api.objects import JsonObject
from shared.kube.client import AlreadyExists, Invalid
from shared.kube.discovery import Discovery
from tests.support.builders.annotations import prefixed
from tests.support.builders.explained.objects import NOW, appwrapper, condition
from tests.support.builders.listed import called
from tests.support.fakes.changed_objects import ChangedObjects
from tests.support.fakes.fake_clock import FakeClock, ImpatientClock

COLLECTION = "/apis/workload.codeflare.dev/v1beta2/namespaces/team1/appwrappers"
RETRIES = "workload.codeflare.dev.appwrapper/retryLimit"


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> ChangedObjects:
    client = ChangedObjects(
        called(appwrapper("Failed", attempt=1), "train", "alice"),
        called(appwrapper("Running", attempt=1), "runs", "alice"),
        called(appwrapper(""), "new", "alice"),
    )

    @asynccontextmanager
    async def connected(_arguments: object, _on_warning: object) -> AsyncIterator[Cluster]:
        yield Cluster(client, Discovery(client, FakeClock()), ImpatientClock(NOW), "team1")

    monkeypatch.setattr(running, "connected", connected)
    return client


def resubmit(*arguments: str) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    code = program.main(["resubmit", *arguments], CommandTerminal(io.StringIO(), out, err, {}))
    return code, out.getvalue(), err.getvalue()


def test_it_creates_a_new_one_and_prints_its_name(client: ChangedObjects) -> None:
    assert resubmit("train", "--set", "retryLimit=5") == (
        0,
        "train-2 was created from train.\n",
        "",
    )
    ((target, body),) = client.creates
    assert target == COLLECTION
    assert body["metadata"]["name"] == "train-2"
    assert body["metadata"]["annotations"][RETRIES] == "5"
    assert body["spec"]["suspend"] is True


def test_outputs(client: ChangedObjects) -> None:
    assert resubmit("train", "-o", "name") == (0, "train-2\n", "")
    assert json.loads(resubmit("train", "-o", "json")[1]) == client.creates[1][1]
    assert resubmit("train", "-o", "yaml")[1].startswith("apiVersion: workload.codeflare.dev/")


def test_a_dry_run_stores_nothing(client: ChangedObjects) -> None:
    assert resubmit("train", "--dry-run")[1] == "train-2 would be created from train.\n"
    assert client.creates[0][0] == f"{COLLECTION}?dryRun=All"


def test_a_name_that_is_taken_meanwhile_gets_the_next_number(client: ChangedObjects) -> None:
    client.refusing = [AlreadyExists(409, "AlreadyExists", "exists")]
    assert resubmit("train", "-o", "name") == (0, "train-3\n", "")
    client.refusing = [AlreadyExists(409, "AlreadyExists", "exists")] * 5
    code, _, err = resubmit("train")
    assert (code, err) == (
        2,
        "error: names such as train-6 are taken again and again: try once more\n",
    )


@pytest.mark.parametrize(("name", "state"), [("runs", "Running"), ("new", "new")])
def test_a_living_one_is_refused(client: ChangedObjects, name: str, state: str) -> None:
    assert resubmit(name) == (
        2,
        "",
        f"error: {name} has not ended (it is {state}): resubmit copies AppWrappers that are"
        f" Succeeded or Failed. End it first: appwrapper cancel {name} -n team1. Then submit"
        " its file again\n",
    )
    assert client.creates == []


def test_a_wrong_name_or_setting_is_explained(client: ChangedObjects) -> None:
    assert "Did you mean train?" in resubmit("trian")[2]
    assert resubmit("train", "--set", "retrylimit=5") == (
        2,
        "",
        "error: --set retrylimit: unknown key; did you mean retryLimit?\n",
    )
    assert client.creates == []


def test_the_webhooks_refusal_is_the_error(client: ChangedObjects) -> None:
    client.refusing = [Invalid(422, "Invalid", "retryLimit: must be a whole number")]
    code, out, err = resubmit("train", "--set", "retryLimit=x")
    assert (code, out) == (2, "")
    assert "retryLimit: must be a whole number" in err


def deployed(status: str) -> JsonObject:
    return condition("ResourcesDeployed", status, "ComponentsCreated")


@pytest.fixture
def kept(client: ChangedObjects) -> JsonObject:
    """`train` has succeeded and still has its Job."""
    item = client.objects["appwrappers"][0]
    item["status"] |= {"phase": "Succeeded", "conditions": [deployed("True")]}
    return item


@pytest.mark.usefixtures("kept")
def test_components_that_still_exist_are_refused(client: ChangedObjects) -> None:
    """The new one would fail: its Job exists already and is another AppWrapper's."""
    assert resubmit("train") == (
        1,
        "",
        "error: train still has Job train, and the new one needs the same names. Add --remove-old:"
        " the components and pods of train, also kept volumes, are deleted first, and AppWrapper"
        " train stays\n",
    )
    assert client.creates == []
    assert resubmit("train", "--dry-run")[0] == 0


@pytest.mark.parametrize(
    ("phase", "annotation", "period"),
    [
        ("Succeeded", "successTTLDuration", "1s"),
        ("Failed", "deletionOnFailureGracePeriodDuration", "0s"),
    ],
)
def test_remove_old_ends_their_time_and_waits(
    client: ChangedObjects, kept: JsonObject, phase: str, annotation: str, period: str
) -> None:
    kept["status"]["phase"] = phase

    def patched(body: JsonObject) -> None:
        assert body["metadata"]["annotations"] == prefixed(**{annotation: period})
        kept["status"]["conditions"] = [deployed("False")]

    client.on_patch = patched
    assert resubmit("train", "--remove-old")[0] == 0
    ((_, body),) = client.creates
    assert prefixed(**{annotation: period}).keys().isdisjoint(body["metadata"]["annotations"])


def test_a_deletion_that_takes_long_ends_the_command(
    client: ChangedObjects, kept: JsonObject
) -> None:
    text = "Pod train-0 on node gpu-1, which is unreachable"
    blocked = condition("DeletingResources", "True", "DeletionBlocked", text)
    kept["status"]["conditions"].append(blocked)
    code, _, err = resubmit("train", "--remove-old")
    assert (code, err) == (2, f"error: train still has components: {text}. Run this again\n")
    assert client.creates == []
    kept["status"]["conditions"].remove(blocked)
    assert resubmit("train", "--remove-old")[2] == (
        "error: train still has components: appwrapper explain train -n team1 shows why. Run this"
        " again\n"
    )
