"""docs/users/shell.md: its commands are valid, it has every option, and the shipped role's rule."""

import re
import shlex
from typing import Any

import yaml

from cli.main import _parsed, build_parser
from tests.support.manifests import ROOT
from tests.support.shown_commands import commands_in, sessions_in

PAGE = "users/shell.md"
TEXT = (ROOT / "docs" / PAGE).read_text()
CONNECTION = {"--kubeconfig", "--context", "-n", "--namespace", "--as", "--as-group"}


def test_every_command_is_one() -> None:
    shown = [*commands_in(PAGE), *(command for command, _ in sessions_in(PAGE))]
    assert len(shown) == 9
    for line in shown:
        program, name, *words = shlex.split(line.partition(" > ")[0], comments=True)
        parsed = _parsed(build_parser([name]), [name, *words])
        assert (program, parsed.name) == ("appwrapper", "train")


def test_every_option_has_a_row() -> None:
    rows = set(re.findall(r"(?:^\| |, )`(-[-a-z]+)", TEXT, re.MULTILINE))
    own = options("shell")
    assert rows == own
    assert options("port-forward") == own - {"-c", "--container"}


def options(command: str) -> set[str]:
    (sub,) = (each for each in build_parser([command])._actions if isinstance(each.choices, dict))
    assert isinstance(sub.choices, dict)
    found = {one for each in sub.choices[command]._actions for one in each.option_strings}
    return found - CONNECTION - {"-h", "--help", "--debug"}


def test_the_rule_is_the_shipped_roles() -> None:
    (rule,) = yaml.safe_load(TEXT.partition("```yaml\n")[2].partition("```")[0])
    objects: list[Any] = [*yaml.safe_load_all((ROOT / "deploy/team/cluster.yaml").read_text())]
    (role,) = (each for each in objects if each["metadata"]["name"] == "mlbatch-edit")
    assert rule in role["rules"]
