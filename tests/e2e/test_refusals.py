"""What a researcher may not submit is refused with every reason, and nothing of it is stored."""

import json
from typing import Any

import pytest

from shared.api.objects import APPWRAPPERS, PODS, JsonObject
from tests.e2e.containers import job, pod, pod_template
from tests.e2e.research_team import TEAM, ResearchTeam
from tests.support.builders.appwrappers import appwrapper
from tests.support.cluster.kubectl import Completed
from tests.support.cluster.life import listed
from tests.support.cluster.refusals import REFUSED, WRAP_IT, refused
from tests.support.cluster.resources import DEPLOYMENTS, JOBS
from tests.support.manifests import ROOT, document

OURS = "workload.codeflare.dev.appwrapper/"
STORED = (APPWRAPPERS, PODS, JOBS, DEPLOYMENTS)


async def names(team: ResearchTeam) -> list[str]:
    """Of everything in the team's namespace that could have been created here."""
    return [
        each["metadata"]["name"]
        for resource in STORED
        for each in await listed(team.client, resource, TEAM)
    ]


@pytest.mark.parametrize("file", REFUSED)
async def test_a_sample_of_what_may_not_be_wrapped(team: ResearchTeam, file: str) -> None:
    result = await team.researcher.run("apply", "-n", TEAM, "-f", file)
    assert result == Completed(1, "", REFUSED[file])
    assert document(ROOT / file)["metadata"]["name"] not in await names(team)


async def test_every_error_of_an_invalid_appwrapper_is_named_at_once(team: ResearchTeam) -> None:
    """By the path of its field, in the words of Kubernetes."""
    elsewhere = job("elsewhere", "true")
    elsewhere["metadata"]["namespace"] = "kube-system"
    misspelt = pod("misspelt", "true")
    misspelt["spec"]["containers"][0]["imagee"] = "x"
    body = appwrapper(
        "invalid",
        elsewhere,
        misspelt,
        appwrapper("inner", pod("p", "true")),
        annotations={"retryLimit": "some", "warmupGracePeriodDuration": "soon"},
    )
    result = await team.researcher.run("create", "-n", TEAM, "-f", "-", stdin=json.dumps(body))
    assert (result.code, result.out) == (1, "")
    assert result.err.splitlines() == INVALID
    assert "invalid" not in await names(team)


INVALID = [
    'The AppWrapper "invalid" is invalid: ',
    "* spec.components[2].template: Forbidden: an AppWrapper cannot contain another AppWrapper",
    "* spec.components[0].template.metadata.namespace: Forbidden: an AppWrapper in namespace"
    f" {TEAM} cannot create resources in another namespace",
    "* spec.components[1].template.spec.containers[0].imagee: Invalid value: unknown field; did you"
    ' mean "image"?',
    f"* metadata.annotations[{OURS}warmupGracePeriodDuration]: Invalid value:"
    ' "soon": must be a duration such as 90s, 1h30m or 7d',
    f'* metadata.annotations[{OURS}retryLimit]: Invalid value: "some":'
    " must be a whole number from 0 to 2147483647, such as 5",
]

DEPLOYMENT: JsonObject = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "direct"},
    "spec": {
        "selector": {"matchLabels": {"app": "direct"}},
        "template": {
            "metadata": {"labels": {"app": "direct"}},
            "spec": pod_template("exec sleep 1000")["spec"] | {"restartPolicy": "Always"},
        },
    },
}
DIRECT: list[Any] = [
    pytest.param(DEPLOYMENT, "Deployment.apps", id="Deployment"),
    pytest.param(job("direct", "true"), "Job.batch", id="Job"),
    pytest.param(pod("direct", "true"), "Pod", id="Pod"),
]


@pytest.mark.parametrize(("body", "kind"), DIRECT)
async def test_objects_with_pods_are_not_created_without_the_queue(
    team: ResearchTeam, body: JsonObject, kind: str
) -> None:
    """The researcher may create it, says RBAC; the webhook does not."""
    right = kind.partition(".")[0].lower() + "s"
    assert await team.researcher("auth", "can-i", "create", right, "-n", TEAM) == "yes\n"
    result = await team.researcher.run("create", "-n", TEAM, "-f", "-", stdin=json.dumps(body))
    message = f'error when creating "STDIN": {refused(kind, WRAP_IT, "direct")}'
    assert result == Completed(1, "", f"Error from server (Forbidden): {message}\n")
    assert "direct" not in await names(team)


async def test_wrapped_the_same_is_taken(team: ResearchTeam) -> None:
    """The other side: what the message advises does work."""
    life = await team.submit(appwrapper("direct", DEPLOYMENT))
    await life.until_phase("Running")
    await team.running_pod("direct")
