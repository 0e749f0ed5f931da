"""`appwrapper pack` and `validate` beside the real API server, kubectl and webhook.

kubectl reads YAML as the command believes; what is packed is accepted; what is refused without a
cluster is refused in the same words with one; and a dry run changes nothing.
"""

import asyncio
import json
import sys
from pathlib import Path

import pytest
import pytest_asyncio

from cli.manifests.manifest import manifests_of
from cli.manifests.scalars import plain_value
from cli.manifests.yaml_text import parse_yaml
from localcluster.access.running import RunningCluster
from shared.api.objects import APPWRAPPERS, JsonObject
from tests.support.builders.packed import JOB, PACKED, SERVICE
from tests.support.cluster.another_team import member_of
from tests.support.cluster.answers import created
from tests.support.cluster.kubectl import TRIES, UNANSWERED, Kubectl
from tests.support.cluster.people import admin
from tests.support.cluster.refusals import WRAP_IT, refused
from tests.support.cluster.removed import removed
from tests.support.command import appwrapper
from tests.support.manifests import ROOT
from tests.support.patience import comes_to
from tests.support.team import NAMESPACE
from webhook.rules.json_patch import is_identical

SCALARS = [
    *["y", "Y", "yes", "Yes", "YES", "true", "on", "On", "n", "N", "no", "off", "OFF", "False"],
    *["~", "null", "Null", "yEs", "text", "0", "-0", "+12", "-12", "1_000", "08", "09.5", "1__0"],
    *["0777", "0o777", "-0777", "0x1F", "0b101", "-0b101", "9223372036854775807", "1.0", "1e3"],
    *["1E-1", "1.5", ".5", "-.5", "1.", "1e", "0x", "0xg", "12e03", "="],
    *["1:30", "190:20:30", "2026-01-02", "2026-01-02T03:04:05Z", "1.2.3", "+", ".", "500m", "1Gi"],
]
WRITTEN = "".join(f"- {each}\n" for each in SCALARS)
MORE = r"""
spec:
  quoted: ["on", '0777', "\ud83d\ude00" ]
  merged: &base {l: w, k: v}
  late: {l: own, <<: *base}
  early: {<<: *base, l: own}
  both: {<<: [{a: 1}, {a: 2, b: 3}]}
  keys: {1: a, on: b, 0x10: c}
  text: |
    a

     b
  folded: >-
    a
    b

    c
  tabs:\tx\t# y
""".replace(r', "\ud83d\ude00" ', "").replace(r"\t", "\t")


PACKER = "packer"
LIMIT = "workload.codeflare.dev.appwrapper/retryLimit"
BINDING: JsonObject = {
    "apiVersion": "rbac.authorization.k8s.io/v1",
    "kind": "RoleBinding",
    "metadata": {"name": PACKER, "namespace": NAMESPACE},
    "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "edit"},
    "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": PACKER}],
}


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def team(cluster: RunningCluster) -> Kubectl:
    """A user of the team who may create Jobs as well, so that wrapping them is allowed."""
    await cluster.apply([BINDING])
    user = member_of(cluster, NAMESPACE, PACKER)

    async def may_wrap() -> int:
        wrapped = parse_yaml(PACKED)[0].value
        return (await created(user, wrapped, NAMESPACE, dry_run=True)).code

    await comes_to(may_wrap, 201)
    return user


async def by_server(who: Kubectl, *files: str, stdin: str = "") -> tuple[int, list[str]]:
    """`appwrapper validate --server` as a process of its own, as this user: code, and lines.

    Typed again, as a user would, if the webhook got no answer about the user's rights in time.
    """
    for _ in range(TRIES):
        code, out = await _validated(who, *files, stdin=stdin)
        if not UNANSWERED.search(out):
            break
    return code, out.splitlines()


async def _validated(who: Kubectl, *files: str, stdin: str) -> tuple[int, str]:
    identity = [f"--as={who.user}", *(f"--as-group={each}" for each in who.groups)]
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "cli", "validate", *files, "--server", "-n", NAMESPACE, *identity),
        *("--kubeconfig", str(who.kubeconfig)),
        cwd=ROOT,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await process.communicate(stdin.encode())
    assert err == b""
    return process.returncode or 0, out.decode()


async def test_kubectl_reads_yaml_as_the_command_does(cluster: RunningCluster) -> None:
    listed = "".join(f"  {line}" for line in WRITTEN.splitlines(True))
    text = f"apiVersion: v1\nkind: Anything\nmetadata: {{name: a}}\ndata:\n{listed}{MORE}"
    # The API server is not asked: a patch of nothing, of a local file, prints what kubectl read.
    read = json.loads(
        await admin(cluster)(
            "annotate", "--local", "-f", "-", "read=true", "-o", "json", "--overwrite", stdin=text
        )
    )
    del read["metadata"]["annotations"]
    (manifest,) = manifests_of(text, "x.yaml")
    assert is_identical(dict(manifest.value), read)
    assert manifest.value["data"] == [plain_value(each) for each in SCALARS]


async def test_the_command_that_the_webhook_names(cluster: RunningCluster, team: Kubectl) -> None:
    """`appwrapper pack FILE | kubectl apply -f -`, and afterwards everything is gone again."""
    ended = appwrapper("pack", stdin=f"{JOB}---\n{SERVICE}")
    assert (ended.code, ended.err) == (0, "")
    packed = ended.out
    for who in (team, admin(cluster)):
        reported = await created(who, parse_yaml(packed)[0].value, NAMESPACE, dry_run=True)
        assert (reported.code, reported.warnings) == (201, ())
    assert await team("apply", "-n", NAMESPACE, "-f", "-", stdin=packed) == (
        "appwrapper.workload.codeflare.dev/train created\n"
    )

    async def is_started() -> bool:
        stored = await cluster.client.get(APPWRAPPERS, NAMESPACE, "train")
        return not stored["spec"].get("suspend")

    try:
        await comes_to(is_started, True)  # until then there is a warning, too
        code, lines = await by_server(team, stdin=packed)
        assert (code, lines[0]) == (
            0,
            f"standard input:1: AppWrapper/train: valid: it would replace the one in {NAMESPACE}",
        )
    finally:
        await removed(cluster.client, APPWRAPPERS, NAMESPACE, "train")


def wrong(old: str, new: str) -> JsonObject:
    value: JsonObject = parse_yaml(PACKED.replace(old, new))[0].value
    return value


REFUSED = {
    "a misspelt field": wrong("image:", "imag:"),
    "a Kind that may not be wrapped": wrong("kind: Job", "kind: CronJob"),
    "another namespace": wrong("short\n", "short\n        namespace: other\n"),
    "a name with a dot": wrong("  name: train\nspec", "  name: tr.ain\nspec"),
    "an annotation": wrong(
        "  name: train\nspec",
        "  name: train\n  annotations:\n"
        "    workload.codeflare.dev.appwrapper/retryLimit: many\nspec",
    ),
    "a priority of the system": wrong("restartPolicy: Never", "priorityClassName: system-x"),
}


@pytest.mark.parametrize("title", REFUSED)
async def test_offline_validation_reports_the_webhooks_errors(
    cluster: RunningCluster, title: str
) -> None:
    made = REFUSED[title]
    reported = await created(admin(cluster), made, NAMESPACE, dry_run=True)
    ended = appwrapper("validate", "-n", NAMESPACE, "-o", "json", stdin=json.dumps(made))
    assert (ended.code, ended.err) == (1, "")
    findings = json.loads(ended.out)["findings"]
    assert [each["message"] for each in findings if each["severity"] == "error"] == reported.errors
    assert [each["message"] for each in findings if each["severity"] == "warning"] == list(
        reported.warnings
    )


async def test_validation_by_the_server_changes_nothing(team: Kubectl, tmp_path: Path) -> None:
    (tmp_path / "aw.yaml").write_text(PACKED.replace("image:", "imag:"))
    (tmp_path / "fine.yaml").write_text(PACKED)
    (tmp_path / "job.yaml").write_text(JOB)
    code, lines = await by_server(team, str(tmp_path))
    assert code == 1
    assert [each.replace(f"{tmp_path}/", "") for each in lines] == [
        "aw.yaml:19:15: error: spec.components[0].template.spec.template.spec.containers[0].imag:"
        ' Invalid value: unknown field; did you mean "image"?',
        "aw.yaml:18:15: error: spec.components[0].template.spec.template.spec.containers[0].image:"
        " Required value",
        f"job.yaml:2:1: error: {refused('Job.batch', WRAP_IT, 'train')}",
        "aw.yaml:1: AppWrapper/train: refused",
        f"fine.yaml:1: AppWrapper/train: valid: it would be created in {NAMESPACE}",
        "job.yaml:2: Job/train: refused",
        "checked by the cluster, by a dry run",
        "not checked:",
        "- whether Kueue will ever have the quota: `appwrapper explain` shows it once the workload "
        "waits",
    ]
    both = ("appwrapper/train", "job/train")
    assert await team("get", *both, "-n", NAMESPACE, "--ignore-not-found", "-o", "name") == ""


async def test_a_field_that_the_api_does_not_have(team: Kubectl) -> None:
    """The API server rejects it, as kubectl asks for, and calls no webhook then."""
    stdin = PACKED.replace("spec:\n  components", "spec:\n  suspended: true\n  components", 1)
    code, lines = await by_server(team, stdin=stdin)
    assert (code, lines[0]) == (
        1,
        "standard input:6:3: error: spec.suspended: Invalid value: unknown field; did you mean"
        ' "suspend"?',
    )


MISTAKEN = (
    PACKED.replace("components:", "componets:")
    .replace("name: train   # short", "name: broken_Name")
    .replace("  name: train\nspec", f"  name: train\n  annotations: {{{LIMIT}: 5}}\nspec")
    .replace('command: ["sh", "-c"]', "resources: {limits: {nvidia.com/gpu: 1.5}}")
    .replace("restartPolicy: Never", "priorityClassName: hi-prio")
)


async def test_all_mistakes_are_found_at_once(team: Kubectl, cluster: RunningCluster) -> None:
    """Of fields, of the webhook's rules, and of what the API server requires of a Job."""
    code, lines = await by_server(team, stdin=MISTAKEN)
    assert code == 1
    found = [each for each in lines if each.startswith("standard input:")]
    places = [each.partition(": error: ")[::2] for each in found if ": error: " in each]
    template = "spec.components[0].template"
    assert {(place, message.partition(": ")[0]) for place, message in places} >= {
        ("standard input:7:3", "spec.componets"),
        ("standard input:5:17", f"metadata.annotations[{LIMIT}]"),
        ("standard input:13:9", f"{template}.metadata.name"),
        ("standard input:17:13", f"{template}.spec.template.spec.priorityClassName"),
        (
            "standard input:21:36",
            f"{template}.spec.template.spec.containers[0].resources.limits[nvidia.com/gpu]",
        ),
    }
    [unknown] = [each for each in found if "hi-prio" in each]
    assert 'Invalid value: "hi-prio": this cluster has no such PriorityClass: name ' in unknown


async def test_kinds_that_a_member_may_not_create_are_named(cluster: RunningCluster) -> None:
    """The role of overlay mlbatch lets nobody create a Job without wrapping it."""
    member = member_of(cluster, NAMESPACE)
    _, lines = await by_server(member, stdin=PACKED)
    assert "- spec.components[0].template: you may not create jobs yourself, so only the" in (
        "\n".join(lines)
    )
    assert not [each for each in lines if ": error: spec.components[0].template.metadata" in each]


async def test_who_may_not(cluster: RunningCluster) -> None:
    stranger = admin(cluster).impersonating("stranger")
    code, lines = await by_server(stranger, stdin=PACKED)
    assert (code, lines[0]) == (
        1,
        "standard input:1:1: error: appwrappers.workload.codeflare.dev is forbidden: User"
        ' "stranger" cannot create resource "appwrappers" in API group'
        f' "workload.codeflare.dev" in the namespace "{NAMESPACE}"',
    )
