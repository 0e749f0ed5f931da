"""The sessions of the pages for users, typed by two researchers of a team, side by side."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest_asyncio

from localcluster.access.running import RunningCluster
from shared.api.names import LABEL_USER
from shared.api.objects import APPWRAPPERS
from tests.support.builders.appwrappers import appwrapper
from tests.support.builders.jobs import pytorch_job
from tests.support.builders.pods import pod_template
from tests.support.cluster.kubectl import TRIES, UNANSWERED, Kubectl
from tests.support.cluster.people import person
from tests.support.cluster.removed import removed
from tests.support.cluster.typed_command import environment_with_command
from tests.support.manifests import ROOT
from tests.support.patience import comes_to
from tests.support.team import NAMESPACE, own
from tests.support.walkthrough import Block, Person, blocks_of

# The pages of one researcher, one after the other; both make an AppWrapper `mnist`.
ALICES = ("first-job.md", "deleting.md")
# Those of the other, in two shells.
BOBS = (("why-waiting.md",), ("failures.md",))
# These commands need the user's own program: tests/unit/docs/test_root_cause.py runs them.
NOT_TYPED = "Record the exception"
QUESTIONS = ("appwrapper explain ", "kubectl get ")
ALICE, BOB = own("alice"), own("bob")
MADE = ("mnist", "failing-pytorchjob", "too-big-pytorchjob", "theirs")
# Simulated pods print nothing: the test shows that those whose logs are asked for exist.
KUBECTL = """\
#!/bin/bash
if [ "$1" != logs ]; then exec {kubectl} "$@"; fi
shift
for each; do case $each in --prefix|--tail=*) ;; *) words+=("$each");; esac; done
exec {kubectl} get pods -o name "${{words[@]}}" | grep .
"""


@pytest_asyncio.fixture
async def people(cluster: RunningCluster) -> AsyncIterator[tuple[Kubectl, Kubectl]]:
    yield tuple(person(cluster, each, f"{NAMESPACE}-edit-group") for each in (ALICE, BOB))  # type: ignore[misc]
    for name in MADE:
        await removed(cluster.client, APPWRAPPERS, NAMESPACE, name)


def shell(cluster: RunningCluster, who: Kubectl, folder: Path) -> Person:
    """A shell of this researcher, who installed the command."""
    folder.mkdir()
    environment = environment_with_command(cluster, folder)
    program = folder / "bin" / "kubectl"
    program.write_text(KUBECTL.format(kubectl=cluster.kubectl))
    program.chmod(0o755)
    identity = {"KUBECONFIG": str(who.kubeconfig)}
    return Person(ROOT, {**environment, **identity}, folder, {"team1": NAMESPACE, "alice": ALICE})


async def typed(shell: Person, *pages: str) -> None:
    """Every block of these pages."""
    for page in pages:
        for block in blocks_of(ROOT / "docs" / "users" / page):
            if block.heading != NOT_TYPED:
                await type_block(shell, block)


async def type_block(shell: Person, block: Block) -> None:
    """Once; a question is asked until its answer is there: Kueue and the controller need a
    moment.
    """

    async def answer() -> str:
        try:
            await shell.types(block)
        except AssertionError as error:
            return str(error)
        return ""

    if block.commands.startswith(QUESTIONS) and block.shown is not None:
        await comes_to(answer, "")
        return
    for _ in range(TRIES):
        problem = await answer()
        if not UNANSWERED.search(problem):  # in time about the user's rights: one types it again
            break
    assert problem == ""


async def test_the_sessions_of_the_pages(
    cluster: RunningCluster, people: tuple[Kubectl, Kubectl], tmp_path: Path
) -> None:
    alice, bob = people
    template = pod_template(container="pytorch", hang="running")
    theirs = appwrapper("theirs", pytorch_job("theirs", Master=template))
    await bob("create", "-n", NAMESPACE, "-f", "-", stdin=json.dumps(theirs))
    await asyncio.gather(
        typed(shell(cluster, alice, tmp_path / "alice"), *ALICES),
        *(
            typed(shell(cluster, bob, tmp_path / f"bob{number}"), *pages)
            for number, pages in enumerate(BOBS)
        ),
    )
    stays = await cluster.client.get(APPWRAPPERS, NAMESPACE, "theirs")
    assert stays["metadata"]["labels"][LABEL_USER] == BOB
    assert "deletionTimestamp" not in stays["metadata"]
