"""The printed explanation."""

from dataclasses import replace

from rich.console import Console

from cli.cluster.unread import Unread
from cli.explaining.appwrapper_objects import AppWrapperObjects
from cli.explaining.compose import explain
from cli.explaining.text import render
from tests.support.builders.explained import waiting

HIDDEN = Unread("workloads of the cluster: who holds quota", "no right to list them", True)


def text(seen: AppWrapperObjects) -> str:
    console = Console(width=200, no_color=True)
    with console.capture() as captured:
        console.print(render(explain(seen)))
    return captured.get()


def test_a_member_of_a_team_reads_no_excuses() -> None:
    """The workloads of other namespaces are hidden: the heading of the holders reports that."""
    seen = waiting.waits_for_quota()
    member = replace(seen, world=replace(seen.world, all_workloads=HIDDEN))
    assert "Who holds it (not all are shown)\n" in text(member)
    assert "Not readable for you" not in text(member)
    alone = replace(member, world=replace(member.world, own_workloads=()))
    others = "Who holds it\n  workloads of other namespaces, which you may not read\n"
    assert others in text(alone)
    assert "Not readable for you" not in text(alone)
