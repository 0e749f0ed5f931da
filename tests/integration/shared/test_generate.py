"""What `appwrapper generate` prints: the real webhook and a strict API server take all of it."""

import json
from collections.abc import Iterator

import yaml

from cli.generation.describe import example
from cli.generation.generator import generate
from cli.reports import to_text
from localcluster.access.running import RunningCluster
from shared.api.objects import APPWRAPPERS, JsonObject
from tests.support.builders.generated_jobs import VERSION
from tests.support.cluster.another_team import member_of
from tests.support.cluster.kubectl import Kubectl
from tests.support.cluster.life import Life
from tests.support.cluster.people import admin
from tests.support.cluster.removed import removed
from tests.support.cluster.sample_team import RUNNING, SUCCEEDED, row_of
from tests.support.manifests import ROOT
from tests.support.team import NAMESPACE

GOLDEN = ROOT / "tests" / "unit" / "cli" / "generation" / "golden"
# The cluster names no image of the recorder.
NEEDS_AN_IMAGE = "#recorder: "
# What the chart cannot express, or did not quote.
REPAIRS = """\
jobName: repairs
containerImage: registry.test/torch@sha256:0000
numPods: 2
numCpusPerPod: 0.5
totalMemoryPerPod: 1.5Gi
customLabels: {Year: 2024, example.com/flag: true, empty: ""}
environmentVariables:
- {name: EMPTY, value: ""}
- {name: "OFF", value: false}
- {name: EXPONENT, value: 1e3}
- {name: LINES, value: "a: b\\n  # c\\n\\ttab"}
- {name: NODE, fieldRef: {fieldPath: spec.nodeName}}
- {name: MEMORY, resourceFieldRef: {resource: limits.memory, divisor: 1Mi}}
setupCommands:
- |
  cat <<END
    yes: no
  END
mainProgram: |
  train.py
    --name "a: b"
initContainers: [{name: lines, image: busybox, command: "echo 1\\necho 2"}]
mountNVMe: {storage: 1.5Ti, storageClassName: fast}
schedulerName: sakkara-scheduler
successTTLDuration: 2d
deletionOnFailureGracePeriodDuration: 1h30m
terminalExitCodes: [3, 10]
retryableExitCodes: 42
"""
SUCCEEDING = """\
jobName: generated
containerImage: registry.test/torch
numPods: 2
numGpusPerPod: 1
setupCommands: [sleep 3]
mainProgram: train.py
"""


def values() -> dict[str, str]:
    """By the name of the job."""
    files = sorted(GOLDEN.glob("*.yaml"))
    golden = {file.stem: file.read_text().split("\n---\n")[0] for file in files}
    lines = (each for each in example().splitlines() if not each.startswith(NEEDS_AN_IMAGE))
    uncommented = "\n".join(
        each.removeprefix("#") if each[1:2].isalpha() else each for each in lines
    )
    return golden | {"repairs": REPAIRS, "my-job": uncommented}


def made(text: str) -> JsonObject:
    """In no namespace of its own: kubectl's is the team's."""
    return generate([("values.yaml", text)], [("--set", "namespace=null")]).appwrapper


def stream(objects: list[JsonObject]) -> str:
    return "---\n".join(to_text(each, "yaml") for each in objects)


def documents(text: str) -> Iterator[JsonObject]:
    """JSON objects that follow each other."""
    decoder, rest = json.JSONDecoder(), text.lstrip()
    while rest:
        document, end = decoder.raw_decode(rest)
        yield document
        rest = rest[end:].lstrip()


async def taken(who: Kubectl, objects: list[JsonObject]) -> list[str]:
    """What a strict dry run says, a line each."""
    strict = ("--dry-run=server", "--validate=strict", "-n", NAMESPACE, "-f", "-")
    return (await who("create", *strict, stdin=stream(objects))).splitlines()


async def test_a_team_may_create_all_of_it(cluster: RunningCluster) -> None:
    appwrappers = [made(text) for text in values().values()]
    assert len(appwrappers) >= 12
    assert await taken(member_of(cluster, NAMESPACE), appwrappers) == [
        f"appwrapper.workload.codeflare.dev/{name} created (server dry run)" for name in values()
    ]


async def test_kubectl_reads_the_texts_that_were_written(cluster: RunningCluster) -> None:
    """Its YAML is 1.1, and Go's."""
    appwrappers = [made(text) for text in values().values()]
    shown = await admin(cluster)(
        "create", "--dry-run=client", "-o", "json", "-f", "-", stdin=stream(appwrappers)
    )
    read = list(documents(shown))
    for each in read:
        each["metadata"].pop("namespace", None)
    assert read == appwrappers


async def test_the_api_server_takes_what_is_wrapped_and_its_pods(cluster: RunningCluster) -> None:
    """The template of an AppWrapper is judged when it is unwrapped: here, at once."""
    jobs = [made(text)["spec"]["components"][0]["template"] for text in values().values()]
    pods = [
        each["spec"]["pytorchReplicaSpecs"]["Master"]["template"]
        | {"apiVersion": "v1", "kind": "Pod"}
        for each in jobs
    ]
    for name, pod in zip(values(), pods, strict=True):
        pod["metadata"] = {**pod.get("metadata", {}), "name": name}
        # Which account is there is a matter of the team.
        pod["spec"] = {**pod["spec"], "serviceAccountName": "default"}

    reported = await taken(admin(cluster), [*jobs, *pods])

    assert reported == [
        *(f"pytorchjob.kubeflow.org/{name} created (server dry run)" for name in values()),
        *(f"pod/{name} created (server dry run)" for name in values()),
    ]


async def test_one_runs_to_success(cluster: RunningCluster) -> None:
    name = "generated"
    text = to_text(made(SUCCEEDING), "yaml")
    assert yaml.safe_load(text)["metadata"]["annotations"][VERSION] == "1.1.12+appwrapper.1"
    try:
        async with Life(cluster.client, NAMESPACE, name) as life:
            await member_of(cluster, NAMESPACE)("create", "-n", NAMESPACE, "-f", "-", stdin=text)
            await life.until(lambda item: row_of(item) == RUNNING, f"the row {RUNNING}")
            await life.until(lambda item: row_of(item) == SUCCEEDED, f"the row {SUCCEEDED}")
    finally:
        await removed(cluster.client, APPWRAPPERS, NAMESPACE, name)
