"""Nothing that others' tools write is refused: the whole way into a real cluster, by a team's user.

All of it is a dry run, which the API server, Kueue and our webhook judge like any other creation.
"""

import copy
import json
from collections.abc import AsyncIterator, Mapping
from functools import partial
from pathlib import Path

import pytest
import pytest_asyncio

from localcluster.access.running import RunningCluster
from localcluster.machine.progress import silent
from localcluster.programs.build_cache import BuildCache, default_folder
from localcluster.programs.catalogue import CATALOGUE
from localcluster.programs.toolchain import find_go
from shared.api.objects import JsonObject
from tests.support.builders.foreign_manifests import copies_of, foreign_manifests, is_wrapped
from tests.support.cluster.another_team import another_team, member_of, team_documents
from tests.support.cluster.answers import created
from tests.support.cluster.dry_runs import at_once, wide_rights
from tests.support.cluster.kubectl import Kubectl
from tests.support.manifests import document
from tests.support.team import own
from tests.support.whole_chain import OVERLAYS, admitted, is_for

TEAM = own("foreign")
DOCUMENTS = [*team_documents(TEAM), *wide_rights(TEAM, f"{TEAM}-edit-group")]
FOREIGN = {
    title: made | {"metadata": {**made["metadata"], "namespace": TEAM}}
    for title, made in foreign_manifests().items()
}
RAY = {
    title: made
    for title, made in FOREIGN.items()
    if not is_wrapped(made) and made["apiVersion"].startswith("ray.io/")
}


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def member(cluster: RunningCluster) -> AsyncIterator[Kubectl]:
    async with another_team(cluster, TEAM, DOCUMENTS):
        yield member_of(cluster, TEAM)


@pytest.fixture(scope="session")
async def samples() -> dict[str, JsonObject]:
    """The Go operator's own, from its module."""
    cache = BuildCache(default_folder(), await find_go(), silent)
    folder: Path = await cache.module_folder(CATALOGUE["appwrapper"])
    files = sorted((folder / "samples").glob("*.yaml"))
    assert len(files) >= 10
    return {file.name: document(file) for file in files}


async def answers_to(
    who: Kubectl, manifests: Mapping[str, JsonObject]
) -> tuple[dict[str, JsonObject], dict[str, str]]:
    """What would be stored of each, and why the others are refused."""
    responses = await at_once(
        partial(created, who, made, TEAM, dry_run=True) for made in manifests.values()
    )
    answers = dict(zip(manifests, responses, strict=True))
    stored = {title: each.object for title, each in answers.items() if each.code == 201}
    refused = {title: each.message for title, each in answers.items() if each.code != 201}
    return stored, refused


def copies(stored: Mapping[str, JsonObject]) -> dict[str, JsonObject]:
    return {
        f"{title}: {how}": copied
        for title, made in stored.items()
        for how, copied in copies_of(made).items()
    }


async def test_the_go_operators_samples(member: Kubectl, samples: dict[str, JsonObject]) -> None:
    _, refused = await answers_to(member, samples)
    assert refused == {}


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_the_go_operators_samples_under_an_overlay(
    samples: dict[str, JsonObject], overlay: str
) -> None:
    for sample in samples.values():
        if is_for(sample, overlay):
            admitted(copy.deepcopy(sample), overlay)


async def test_appwrappers(member: Kubectl) -> None:
    _, refused = await answers_to(
        member, {title: made for title, made in FOREIGN.items() if is_wrapped(made)}
    )
    assert refused == {}


async def test_copies_of_what_is_stored(member: Kubectl, samples: dict[str, JsonObject]) -> None:
    """Of one AppWrapper each: what is added does not depend on what is wrapped."""
    chosen = (
        "codeflare-sdk: a wrapped raycluster of gpus",
        "mlbatch: rdma",
        "ordinary: a deployment",
    )
    stored, _ = await answers_to(member, samples | {title: FOREIGN[title] for title in chosen})
    assert len(stored) == len(samples) + len(chosen)
    _, refused = await answers_to(member, copies(stored))
    assert refused == {}


async def test_match_conditions_of_directly_created_objects(member: Kubectl) -> None:
    _, refused = await answers_to(
        member,
        {
            title: made
            for title, made in FOREIGN.items()
            if not is_wrapped(made) and title not in RAY
        },
    )
    assert refused == {}


async def test_codeflares_way_to_submit(member: Kubectl) -> None:
    """Server-side apply, under its own field manager."""
    items = [
        made
        for title, made in FOREIGN.items()
        if is_wrapped(made) and title.startswith("codeflare-sdk: ")
    ]
    listed = {"apiVersion": "v1", "kind": "List", "items": items}
    out = await member(
        *("apply", "--server-side", "--field-manager=codeflare-sdk", "--dry-run=server"),
        *("-o", "name", "-f", "-"),
        stdin=json.dumps(listed),
    )
    assert len(out.splitlines()) == len(items)


@pytest.mark.long
@pytest.mark.usefixtures("cluster")  # whose controller is asked for complaints after each test
async def test_ray_clusters_and_jobs_created_directly(operators: RunningCluster) -> None:
    async with another_team(operators, own("foreign-ray"), team_documents(own("foreign-ray"))):
        user, refused = member_of(operators, own("foreign-ray")), {}
        for title, made in RAY.items():
            body = made | {"metadata": {**made["metadata"], "namespace": own("foreign-ray")}}
            response = await created(user, body, own("foreign-ray"), dry_run=True)
            if response.code != 201:
                refused[title] = response.message
        assert refused == {}
