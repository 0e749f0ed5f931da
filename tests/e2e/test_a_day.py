"""The page of a day's work, typed by a member of a team at 80 columns, with real containers."""

import re
import shlex
from collections.abc import Sequence
from pathlib import Path

import pytest
import yaml

from localcluster.cluster import LocalCluster
from tests.e2e.containers import IMAGE
from tests.e2e.research_team import RESEARCHER, TEAM, ResearchTeam
from tests.support.cluster.typed_command import environment_with_command
from tests.support.manifests import ROOT
from tests.support.patience import comes_to
from tests.support.walkthrough import Block, Person, blocks_of

pytestmark = pytest.mark.long

PAGE = ROOT / "docs" / "users" / "a-day.md"
WIDTH = 80
_COLOURS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
# What the controller and Kueue do meanwhile decides their answers: these are asked again.
QUESTIONS = ("appwrapper list", "appwrapper explain")
FIT_THE_WINDOW = (*QUESTIONS, "appwrapper history")


async def test_a_members_day_needs_no_kubectl(
    team: ResearchTeam, node_cluster: LocalCluster, tmp_path: Path
) -> None:
    person = member(team, node_cluster, tmp_path)
    lines: list[str] = []
    for block in blocks_of(PAGE):
        printed = await typed(person, block)
        if block.commands.startswith(FIT_THE_WINDOW):
            lines += [line for line in printed.splitlines() if line.strip()]
    # A command is one line at every width: a person copies it.
    assert [line for line in lines if len(line) > WIDTH and "appwrapper " not in line] == []
    assert [line for line in lines if line != line.rstrip()] == []
    assert "kubectl " not in "".join(each.commands for each in blocks_of(PAGE))


class AtATerminal(Person):
    """Types into a terminal of 80 columns; of a line that changes, the last text is read."""

    async def _run(self, command: Sequence[str]) -> tuple[int, str]:
        typed = f"stty cols {WIDTH} && exec {shlex.join(command)}"
        code, seen = await super()._run(("script", "-qefc", typed, "/dev/null"))
        lines = (_COLOURS.sub("", each).rstrip("\r") for each in seen.split("\n"))
        return code, "\n".join(each.rpartition("\r")[2] for each in lines)


def member(team: ResearchTeam, cluster: LocalCluster, folder: Path) -> AtATerminal:
    """A shell of a member whose kubeconfig names the team's namespace."""
    written = yaml.safe_load(team.researcher.kubeconfig.read_text())
    written["contexts"][0]["context"]["namespace"] = TEAM
    kubeconfig = folder / "kubeconfig"
    kubeconfig.write_text(yaml.safe_dump(written))
    environment = {
        **environment_with_command(cluster, folder),
        "KUBECONFIG": str(kubeconfig),
        "COLUMNS": str(WIDTH),
    }
    instead = {"team1": TEAM, "alice": RESEARCHER, "python:3.12-slim": IMAGE}
    return AtATerminal(folder, environment, folder, instead)


async def typed(person: Person, block: Block) -> str:
    if not block.commands.startswith(QUESTIONS):
        return await person.types(block)
    answers: list[str] = []

    async def answer() -> str:
        try:
            answers.append(await person.types(block))
        except AssertionError as error:
            return str(error)
        return ""

    await comes_to(answer, "")
    return answers[-1]
