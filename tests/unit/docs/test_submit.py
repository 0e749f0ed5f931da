"""docs/users/submit.md: its commands are valid, and its texts are the code's."""

import shlex

from cli.main import build_parser
from cli.submitting.progress import progress
from shared.api.appwrapper import AppWrapper
from tests.support.builders.explained.objects import appwrapper, condition
from tests.support.manifests import ROOT
from tests.support.shown_commands import commands_in, sessions_in

PAGE = "users/submit.md"
TEXT = (ROOT / "docs" / PAGE).read_text()


def test_every_command_is_one() -> None:
    parser = build_parser(["submit"])
    shown = [*commands_in(PAGE), *(command for command, _ in sessions_in(PAGE))]
    assert len(shown) == 6
    for line in shown:
        program, *words = shlex.split(line.rpartition("| ")[2], comments=True)
        assert program == "appwrapper"
        assert parser.parse_args(words).files in (["job.yaml"], ["-"])


def test_the_stages_are_printed_so() -> None:
    waits = condition("QuotaReserved", "False", "Pending", "12 more nvidia.com/gpu needed")
    ready = condition("PodsReady", "True", "SufficientPodsReady")
    for item in (
        appwrapper(""),
        appwrapper("Suspended", waits),
        appwrapper("Resuming", attempt=1),
        appwrapper("Running", ready, attempt=1),
    ):
        assert f" UTC  {progress(AppWrapper(item)).text}\n" in TEXT
