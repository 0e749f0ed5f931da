"""Rules of the webhook that only whole requests show: who asks, what is silent, who is spared.

Through the real API server; docs/maintainers/conformance.md says which test shows which rule.
"""

import json
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
import pytest_asyncio

from localcluster.access.running import RunningCluster
from shared.api.objects import APPWRAPPERS, PODS, JsonObject
from tests.support.builders.annotations import PREFIX, prefixed
from tests.support.builders.appwrappers import phase, true_conditions
from tests.support.builders.wrapped_kinds import kind, pytorch_job, template
from tests.support.cluster.another_team import member_of
from tests.support.cluster.kubectl import Completed, Kubectl
from tests.support.cluster.life import listed
from tests.support.cluster.submitted_case import (
    NAME,
    QUEUE,
    USER,
    cleaning_admin,
    created,
    patch,
    refusal,
    wrapped,
)
from tests.support.patience import comes_to
from tests.support.team import NAMESPACE

APPWRAPPER = "workload.codeflare.dev/appwrapper"
KUEUE = "system:serviceaccount:kueue-system:kueue-controller-manager"
PUT_BACK = (
    "spec.suspend stays false: it was already true in the file when the AppWrapper was created; "
    "to stop the AppWrapper, run `appwrapper hold NAME`; `appwrapper release NAME` queues it again"
)


@pytest_asyncio.fixture(loop_scope="session")
async def admin(cluster: RunningCluster) -> AsyncIterator[Kubectl]:
    async with cleaning_admin(cluster) as command:
        yield command


# Queues


async def test_only_what_is_suspended_may_go_to_another_queue_and_nothing_to_none(
    cluster: RunningCluster, admin: Kubectl
) -> None:
    """Case 36, for those whose AppWrapper it is. Which queue it may be is Kueue's to say."""
    alice = member_of(cluster, NAMESPACE)
    job = pytorch_job(Master=template())
    await created(alice, wrapped(job, labels={QUEUE: "nowhere"}))

    async def now(label: str | None) -> Completed:
        done = await patch(alice, {"metadata": {"labels": {QUEUE: label}}})
        return replace(done, out="")

    async def stored() -> JsonObject:
        return await cluster.client.get(APPWRAPPERS, NAMESPACE, NAME)

    async def runs() -> bool:
        return phase(await stored()) == "Running"

    for label, queue in (("other", "other"), (None, "other"), ("", "other")):
        assert await now(label) == Completed(0, "", "")
        assert (await stored())["metadata"]["labels"][QUEUE] == queue
    assert await now("default-queue") == Completed(0, "", "")
    await comes_to(runs, True)
    assert (await now("other")).err.endswith(
        'admission webhook "vappwrapper.kb.io" denied the request: '
        f'metadata.labels[{QUEUE}]: Invalid value: "other": field is immutable\n'
    )
    assert await now(None) == Completed(0, "", "")
    assert (await stored())["metadata"]["labels"][QUEUE] == "default-queue"


# Users


# Files


@pytest.mark.parametrize("how", ["apply", "replace"])
@pytest.mark.parametrize("suspend", [True, False])
async def test_a_file_with_a_suspend_field_changes_nothing_when_applied_again(
    cluster: RunningCluster, admin: Kubectl, suspend: bool, how: str
) -> None:
    """Many files written for Kueue say true. Whoever says so by a patch is obeyed."""
    alice = member_of(cluster, NAMESPACE)
    body = wrapped(pytorch_job(Master=template()))
    body["spec"]["suspend"] = suspend
    file = json.dumps(body)
    await alice("apply", "-f", "-", stdin=file)

    async def stored() -> JsonObject:
        return await cluster.client.get(APPWRAPPERS, NAMESPACE, NAME)

    async def is_ready() -> bool:
        return "PodsReady" in true_conditions(await stored())

    async def pods() -> list[str]:
        found = await listed(cluster.client, PODS, NAMESPACE, f"{APPWRAPPER}={NAME}")
        return [each["metadata"]["uid"] for each in found]

    await comes_to(is_ready, True)
    before, running = await stored(), await pods()
    again = await alice.run(how, "-f", "-", stdin=file)
    assert (again.code, again.err) == (0, f"Warning: {PUT_BACK}\n" if suspend else "")
    now = await stored()
    assert (now["spec"], await pods()) == (before["spec"], running)
    assert now["metadata"]["generation"] == before["metadata"]["generation"]
    patched = await patch(alice, {"spec": {"suspend": True}})
    assert json.loads(patched.out)["spec"]["suspend"] is True


# What pods get


# Validation


TWICE = json.dumps(wrapped()).replace('"image": "i"', '"image": "j", "image": "i"')


@pytest.mark.parametrize(
    ("mode", "code", "expected"),
    [
        ("Strict", 1, "strict decoding error: duplicate field"),
        ("Warn", 0, "Warning: duplicate field"),
    ],
)
async def test_a_field_that_stands_twice_never_gets_past_the_api_server(
    admin: Kubectl, mode: str, code: int, expected: str
) -> None:
    """It decodes the request first: refused, as for kubectl, or stored once and warned of."""
    path = f"/apis/workload.codeflare.dev/v1beta2/namespaces/{NAMESPACE}/appwrappers"
    raw = f"--raw={path}?dryRun=All&fieldValidation={mode}"
    done = await admin.run("create", raw, "-f", "-", stdin=TWICE)
    assert done.code == code
    assert f'{expected} "spec.components[0].template.spec.containers[0].image"' in done.err
    if code == 0:
        [component] = json.loads(done.out)["spec"]["components"]
        assert component["template"]["spec"]["containers"][0]["image"] == "i"


JOB = kind("batch/v1", "Job", template=template())


async def test_the_data_of_a_secret_is_not_in_the_log(
    cluster: RunningCluster, admin: Kubectl
) -> None:
    """Nor in what users read of its refusal."""
    secret = {"apiVersion": "v1", "kind": "Secret", "stringData": {"k": "pa55-word"}}
    secret["metadata"] = {"name": "s", "namespace": "elsewhere"}
    message = await refusal(admin, wrapped(JOB, secret))
    path = "spec.components[1].template.metadata.namespace: Forbidden"
    assert path in message
    assert "pa55-word" not in message

    async def log() -> str:
        return (cluster.logs / "webhook.log").read_text(errors="replace")

    async def is_logged() -> bool:
        return path in await log()

    await comes_to(is_logged, True)
    assert "pa55-word" not in await log()


async def test_kueues_own_updates_are_not_checked_and_restrict_no_later_request(
    cluster: RunningCluster, admin: Kubectl
) -> None:
    """What it writes no user could; what is stored then hinders nobody who leaves it alone."""
    alice = member_of(cluster, NAMESPACE)
    await created(alice, wrapped(pytorch_job(Master=template()), labels={QUEUE: "nowhere"}))
    change = {"metadata": {"annotations": prefixed(retryLimit="many"), "labels": {USER: "bob"}}}
    refused = await patch(alice, change)
    assert (refused.code, refused.err) == (
        1,
        f'Warning: metadata.labels[{USER}]: reset to "alice": who submitted an AppWrapper never '
        "changes; remove it from the file\n"
        f'The AppWrapper "{NAME}" is invalid: metadata.annotations[{PREFIX}retryLimit]: Invalid '
        'value: "many": must be a whole number from 0 to 2147483647, such as 5\n',
    )
    done = await patch(admin.impersonating(KUEUE), change)
    assert (done.code, done.err) == (0, "")
    assert json.loads(done.out)["metadata"]["labels"][USER] == "bob"
    other = await patch(
        alice, {"metadata": {"annotations": prefixed(warmupGracePeriodDuration="9m")}}
    )
    assert (other.code, other.err) == (0, "")
