"""Rules of the webhook that only whole requests show: who asks, what is silent, who is spared.

Through the real API server; docs/maintainers/conformance.md says which test shows which rule.
"""

import copy
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest
import pytest_asyncio

from localcluster.access.running import RunningCluster
from shared.api.objects import APPWRAPPERS, PODS, JsonObject
from tests.support.builders import mlbatch
from tests.support.builders.annotations import PREFIX, prefixed
from tests.support.builders.appwrappers import phase, true_conditions
from tests.support.builders.autopilot import BAD, BY_DEFAULT, GPU, PREFERRED, REQUIRED, WORSE
from tests.support.builders.wrapped_kinds import DEPLOYMENT, kind, pod, pytorch_job, template
from tests.support.cluster.another_team import member_of
from tests.support.cluster.kubectl import Completed, Kubectl
from tests.support.cluster.life import listed
from tests.support.cluster.submitted_case import (
    ANYWHERE,
    DRY,
    NAME,
    QUEUE,
    USER,
    USERID,
    cleaning_admin,
    create,
    created,
    invalid,
    namespace_of_no_team,
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
    "to stop the AppWrapper, delete it and submit it again later, or let an admin run "
    "`kueuectl stop workload WORKLOAD`"
)


@pytest_asyncio.fixture(scope="module", loop_scope="session", autouse=True)
async def anywhere(cluster: RunningCluster) -> AsyncIterator[None]:
    async with namespace_of_no_team(cluster):
        yield


@pytest_asyncio.fixture(loop_scope="session")
async def admin(cluster: RunningCluster) -> AsyncIterator[Kubectl]:
    async with cleaning_admin(cluster) as command:
        yield command


# Queues


@pytest.mark.parametrize("namespace", [NAMESPACE, ANYWHERE])
@pytest.mark.parametrize(
    ("labels", "queue"),
    [(None, "default-queue"), ({QUEUE: ""}, "default-queue"), ({QUEUE: "mine"}, "mine")],
)
async def test_a_queue_is_added_where_none_is_named(
    admin: Kubectl, namespace: str, labels: JsonObject | None, queue: str
) -> None:
    """Cases 1 and 2."""
    fields = {} if labels is None else {"labels": labels}
    stored = await created(admin, wrapped(namespace=namespace, **fields), DRY)
    assert stored["metadata"]["labels"][QUEUE] == queue


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


@pytest.mark.parametrize(
    ("user", "uid", "labels"),
    [
        ("alice", "4-2_b.c", ("alice", "4-2_b.c")),
        ("system:serviceaccount:a:b", "", ("system_serviceaccount_a_b", "")),
        ("J\u00f6rg M\u00fcller@x.org", "7", ("J_rg_M_ller_x.org", "7")),
        ("-._alice_.-", "--", ("alice", "")),
        ("a" * 63, "b" * 64, ("a" * 63, "b" * 54 + "-a0fab137")),
        ("a" * 62 + "-b", "1", ("a" * 54 + "-0a2ffb18", "1")),
    ],
)
async def test_who_asks_is_written_as_labels_can_hold_it(
    admin: Kubectl, user: str, uid: str, labels: tuple[str, str]
) -> None:
    """Cases 4 and 5."""
    somebody = replace(admin.impersonating(user, "system:masters"), uid=uid)
    stored = (await created(somebody, wrapped(), DRY))["metadata"]["labels"]
    assert (stored[USER], stored[USERID]) == labels


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


def asking(part: str, kind_of: str, resource: str = GPU, amount: Any = 1) -> JsonObject:
    container = {"name": "c", "image": "i", "resources": {kind_of: {resource: amount}}}
    idle = [{"name": "idle", "image": "i"}]
    spec: JsonObject = {"containers": [container]}
    if part == "initContainers":
        spec = {"containers": idle, "initContainers": [container]}
    return {**pod(), "spec": spec}


@pytest.mark.parametrize(
    ("asks", "affinity"),
    [
        (asking("containers", "requests"), BY_DEFAULT),
        (asking("containers", "limits"), BY_DEFAULT),
        (asking("initContainers", "requests"), BY_DEFAULT),
        (asking("initContainers", "limits"), BY_DEFAULT),
        (asking("containers", "limits", amount="1m"), BY_DEFAULT),
        (asking("containers", "limits", amount=0), None),
        (asking("containers", "limits", amount="0"), None),
        (asking("initContainers", "requests", amount="0k"), None),
        (asking("containers", "limits", "nvidia.com/roce_gdr"), None),
    ],
)
async def test_just_those_who_ask_for_an_amount_are_kept_off_bad_nodes(
    admin: Kubectl, asks: JsonObject, affinity: JsonObject | None
) -> None:
    [component] = (await created(admin, wrapped(asks), DRY))["spec"]["components"]
    assert component["template"]["spec"].get("affinity") == affinity


async def test_mlbatch_objects_are_stored_as_their_users_wrote_them(
    cluster: RunningCluster,
) -> None:
    """No warning; of its pods only the label and the preference for good nodes are new."""
    file = mlbatch.training()
    stored = await created(member_of(cluster, NAMESPACE), file, DRY)
    [component] = copy.deepcopy(file["spec"]["components"])
    for role in component["template"]["spec"]["pytorchReplicaSpecs"].values():
        role["template"]["metadata"]["labels"][APPWRAPPER] = mlbatch.NAME
        role["template"]["spec"]["affinity"]["nodeAffinity"][PREFERRED] = [WORSE]
        terms = role["template"]["spec"]["affinity"]["nodeAffinity"][REQUIRED]
        assert BAD in terms["nodeSelectorTerms"][0]["matchExpressions"]  # so nothing is missing
    assert stored["spec"]["suspend"] is True
    assert [each["template"] for each in stored["spec"]["components"]] == [component["template"]]
    by = {"workload.codeflare.dev/submitted-by": "alice"}
    assert stored["metadata"]["annotations"] == file["metadata"]["annotations"] | by
    assert stored["metadata"]["labels"] == {
        **file["metadata"]["labels"],
        USER: "alice",
        USERID: "",
    }


# Validation


@pytest.mark.parametrize(
    "declared",
    [["Master"], ["Worker"], ["Master", "Worker", "Worker.template.spec.template"]],
)
async def test_as_many_pod_sets_are_declared_as_kueue_infers(
    admin: Kubectl, declared: list[str]
) -> None:
    """Case 20: another number of them."""
    roles = "template.spec.pytorchReplicaSpecs"
    job = pytorch_job(Master=template(), Worker=template())
    job["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]["spec"]["template"] = template()
    pod_sets = [{"path": f"{roles}.{each.removesuffix('.template')}.template"} for each in declared]
    error = await refusal(admin, wrapped({"template": job, "podSets": pod_sets}))
    assert (
        "spec.components[0].podSets: Invalid value: Kueue infers other pod sets for a PyTorchJob: "
        f"{roles}.Master.template x 1, {roles}.Worker.template x 1; leave podSets out"
    ) in error


def ray_cluster(**group: Any) -> JsonObject:
    workers = {"groupName": "w", "replicas": 2, "template": template(), **group}
    head = {"template": template()}
    return kind("ray.io/v1", "RayCluster", headGroupSpec=head, workerGroupSpecs=[workers])


ROLES = "spec.components[0].template.spec.pytorchReplicaSpecs"
GROUP = "spec.components[0].template.spec.workerGroupSpecs[0]"


@pytest.mark.parametrize(
    ("body", "error"),
    [
        (
            pytorch_job(Master=template(), worker=template(8)),
            f'{ROLES}: Unsupported value: "worker": write "Worker" (replica types are '
            "case-sensitive; Kueue counts only Master and Worker)",
        ),
        (
            ray_cluster(minReplicas=3),
            f"{GROUP}.minReplicas: Invalid value: 3: KubeRay creates at least this many workers, "
            "but quota is reserved for 2: write as many replicas, or a lower minReplicas",
        ),
    ],
)
async def test_no_pods_come_for_certain_beside_those_that_are_counted(
    admin: Kubectl, body: JsonObject, error: str
) -> None:
    assert await refusal(admin, wrapped(body)) == invalid(error)


async def test_pods_beside_the_counted_ones_cause_a_warning(
    admin: Kubectl,
) -> None:
    done = await create(admin, wrapped(ray_cluster(minReplicas=2, numOfHosts=2)), DRY)
    assert (done.code, done.err) == (
        0,
        f"Warning: {GROUP}.numOfHosts: not counted against the quota: Kueue takes each replica for "
        "one pod\n",
    )


TWICE = json.dumps(wrapped()).replace('"image": "i"', '"image": "j", "image": "i"')


@pytest.mark.parametrize(
    ("mode", "code", "said"),
    [
        ("Strict", 1, "strict decoding error: duplicate field"),
        ("Warn", 0, "Warning: duplicate field"),
    ],
)
async def test_a_field_that_stands_twice_never_gets_past_the_api_server(
    admin: Kubectl, mode: str, code: int, said: str
) -> None:
    """It decodes the request first: refused, as for kubectl, or stored once and warned of."""
    path = f"/apis/workload.codeflare.dev/v1beta2/namespaces/{NAMESPACE}/appwrappers"
    raw = f"--raw={path}?dryRun=All&fieldValidation={mode}"
    done = await admin.run("create", raw, "-f", "-", stdin=TWICE)
    assert done.code == code
    assert f'{said} "spec.components[0].template.spec.containers[0].image"' in done.err
    if code == 0:
        [component] = json.loads(done.out)["spec"]["components"]
        assert component["template"]["spec"]["containers"][0]["image"] == "i"


JOB = kind("batch/v1", "Job", template=template())
CLAIM = kind(
    "v1",
    "PersistentVolumeClaim",
    accessModes=["ReadWriteOnce"],
    resources={"requests": {"storage": "1Gi"}},
)


def marked(body: JsonObject, **annotations: str) -> JsonObject:
    return {"template": body, "annotations": prefixed(**annotations)}


@pytest.mark.parametrize(
    "components",
    [
        pytest.param([JOB, marked(CLAIM, keep="true")], id="a volume that is kept"),
        pytest.param([JOB, marked(DEPLOYMENT, helper="true")], id="an endless helper"),
        pytest.param([DEPLOYMENT], id="nothing that ends"),
        pytest.param(
            [{**JOB, "spec": {**JOB["spec"], "ttlSecondsAfterFinished": 60}}],
            id="a Job that stays for a minute",
        ),
        pytest.param([JOB, kind("v1", "ConfigMap") | {"spec": None}], id="a ConfigMap"),
        pytest.param(
            [
                JOB,
                kind("v1", "ConfigMap") | {"spec": None, "data": {"x": "x" * (250 << 10)}},
            ],
            id="just below 256 KiB",
        ),
    ],
)
async def test_harmless_objects_cause_no_warning(
    admin: Kubectl, components: list[JsonObject]
) -> None:
    """The other side of each warning; `created` sees that there is none."""
    await created(admin, wrapped(*components), DRY)


async def test_the_data_of_a_secret_is_not_in_the_log(
    cluster: RunningCluster, admin: Kubectl
) -> None:
    """Nor in what users read of its refusal."""
    secret = {"apiVersion": "v1", "kind": "Secret", "stringData": {"k": "pa55-word"}}
    secret["metadata"] = {"name": "s", "namespace": "elsewhere"}
    said = await refusal(admin, wrapped(JOB, secret))
    path = "spec.components[1].template.metadata.namespace: Forbidden"
    assert path in said
    assert "pa55-word" not in said
    log = (cluster.logs / "webhook.log").read_text()
    assert path in log
    assert "pa55-word" not in log


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
