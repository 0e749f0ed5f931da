"""The pages "cancel.md", "hold.md" and "resubmit.md" have the commands' own options."""

import re

import pytest

from cli.main import build_parser
from tests.support.manifests import ROOT

SHARED = {"--help", "--debug", "--output", "--kubeconfig", "--context", "--namespace"}
IDENTITY = {"--as", "--as-group"}


@pytest.mark.parametrize("name", ["cancel", "hold", "resubmit"])
def test_the_page_has_every_option(name: str) -> None:
    parser = build_parser([name])
    (commands,) = (each for each in parser._actions if isinstance(each.choices, dict))
    assert isinstance(commands.choices, dict)
    options = commands.choices[name]._actions
    known = {each for action in options for each in action.option_strings if "--" in each}
    page = (ROOT / "docs" / "users" / f"{name}.md").read_text()
    shown = set(re.findall(r"--[a-z-]+[a-z]", page))
    assert known - SHARED - IDENTITY <= shown
    assert shown - known <= {"--state"}  # of `list`
