"""docs/users/logs.md: its commands are valid, and it has every option and placeholder."""

import re
import shlex

from cli.logs.following import MOST_STREAMS
from cli.logs.kept import PLACEHOLDERS
from cli.logs.running import LOG_URL_VARIABLE, SOME_LINES
from cli.main import build_parser
from shared.api.names import ANNOTATION_LOG_URL
from tests.support.manifests import ROOT
from tests.support.shown_commands import commands_in, sessions_in

PAGE = "users/logs.md"
TEXT = (ROOT / "docs" / PAGE).read_text()
TEAM = (ROOT / "docs" / "admins" / "team.md").read_text()


def test_every_command_is_one() -> None:
    parser = build_parser(["logs"])
    shown = [*commands_in(PAGE), *(command for command, _ in sessions_in(PAGE))]
    assert len(shown) == 8
    for line in shown:
        program, *words = shlex.split(line, comments=True)
        assert (program, parser.parse_args(words).name) == ("appwrapper", "train")


def test_every_option_has_a_row() -> None:
    rows = set(re.findall(r"(?:^\| |, )`(-[-a-z]+)", TEXT, re.MULTILINE))
    (sub,) = (each for each in build_parser(["logs"])._actions if isinstance(each.choices, dict))
    assert isinstance(sub.choices, dict)
    own = {one for each in sub.choices["logs"]._actions for one in each.option_strings}
    connection = {"--kubeconfig", "--context", "-n", "--namespace", "--as", "--as-group"}
    assert rows == own - connection - {"-h", "--help", "--debug"}


def test_the_numbers_and_names_are_the_codes() -> None:
    assert f"the last {SOME_LINES} lines of each pod" in TEXT
    assert f"At most {MOST_STREAMS} pods" in TEXT
    assert f"`{LOG_URL_VARIABLE}`" in TEXT
    assert set(re.findall(r"`\{(\w+)\}`", TEXT)) == set(PLACEHOLDERS)
    assert f"{ANNOTATION_LOG_URL}=https://" in TEAM
