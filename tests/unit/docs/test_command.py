"""docs/users/command.md and docs/admins/team.md say what the command's own code says."""

import argparse
import re

from cli.command import ExitCode
from cli.main import COMMANDS, build_parser
from tests.support.manifests import ROOT

COMMAND = ROOT / "docs" / "users" / "command.md"
TEAM = ROOT / "docs" / "admins" / "team.md"


def first_cells(text: str) -> list[str]:
    """Of all tables' rows."""
    return re.findall(r"^\| ([^|]+?) \|", text, re.MULTILINE)


def section(heading: str) -> str:
    return COMMAND.read_text().split(f"\n## {heading}\n")[1].split("\n## ")[0]


def test_every_command_has_a_row() -> None:
    intro = COMMAND.read_text().split("\n## ")[0]
    assert first_cells(intro)[1:] == [f"`appwrapper {name}`" for name in COMMANDS]


def test_every_exit_code_has_a_row() -> None:
    shown = [int(each) for row in first_cells(section("Exit codes"))[1:] for each in row.split(",")]
    assert shown == [code.value for code in ExitCode]


def team_options(name: str) -> set[str]:
    """The long options of `team NAME`."""
    parser = build_parser(["team"])
    for word in ("team", name):
        (action,) = (each for each in parser._actions if isinstance(each.choices, dict))
        assert isinstance(action, argparse._SubParsersAction)
        parser = action.choices[word]
    return {option for each in parser._actions for option in each.option_strings if "--" in option}


def test_every_connection_option_has_a_row() -> None:
    shown = set(re.findall(r"`(?:-n NAME`, `)?(--[a-z-]+)", section("Cluster and user")))
    known = {"--kubeconfig", "--context", "--namespace", "--as", "--as-group"}
    assert known <= shown <= known | team_options("create")
    assert known - {"--namespace"} <= team_options("list")


def test_the_page_of_teams_names_every_option_and_no_other() -> None:
    text = TEAM.read_text()
    flags = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", text))
    of_kubectl = {"--namespace", "--filename", "--all"}
    own = set().union(*(team_options(each) for each in ("create", "list", "show", "delete")))
    everywhere = {"--help", "--debug", "--output"} | (team_options("list") & team_options("show"))
    assert flags - of_kubectl - own == set()
    assert own - everywhere <= flags


def test_every_link_leads_somewhere() -> None:
    for page in (COMMAND, TEAM):
        for target in re.findall(r"\]\(([^)#]*)(?:#[^)]*)?\)", page.read_text()):
            is_there = target == "" or target.startswith("https://")
            assert is_there or (page.parent / target).exists(), target
