"""Sentences are folded, and the commands in them are not."""

import io

import pytest

from cli.folding import folded, folded_paragraphs
from cli.prose import Prose
from cli.terminal import CommandTerminal

PATCH = """kubectl patch workload x -n team1 -p '{"spec": {"active": true}}'"""
LATCH = "kubectl annotate node gpu-3 --overwrite example.org/cleared=$(date -u +%FT%TZ)"


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        pytest.param("it waits for its quota", ["it waits for its", "quota"], id="words"),
        pytest.param(
            "it never ends. To end it: appwrapper cancel train -n team1. Next time annotate it",
            [
                "it never ends. To",
                "end it:",
                "appwrapper cancel train -n team1.",
                "Next time annotate",
                "it",
            ],
            id="a command ends with its sentence",
        ),
        pytest.param(
            "another queue (kubectl get localqueues), or none",
            ["another queue", "(kubectl get localqueues),", "or none"],
            id="parentheses",
        ),
        pytest.param(
            "or run `appwrapper team create NAME` once",
            ["or run", "`appwrapper team create NAME`", "once"],
            id="backticks",
        ),
        pytest.param(f"again: {PATCH}, or wait", ["again:", f"{PATCH},", "or wait"], id="quotes"),
        pytest.param(f"({LATCH}) or wait", [f"({LATCH})", "or wait"], id="a shell's $()"),
        pytest.param(
            "Apply it: kubectl apply -f deploy/team/cluster.yaml; then",
            ["Apply it:", "kubectl apply -f deploy/team/cluster.yaml;", "then"],
            id="dots in a path",
        ),
        pytest.param(
            "kubectl refuses it, and appwrapper warns",
            ["kubectl refuses", "it, and appwrapper", "warns"],
            id="names of programs are words",
        ),
        pytest.param("one\ntwo", ["one", "two"], id="paragraphs"),
        pytest.param("", [""], id="nothing"),
    ],
)  # fmt: skip
def test_a_command_is_never_folded(text: str, lines: list[str]) -> None:
    assert list(folded(text, 18)) == lines


def test_the_first_line_leaves_space_for_its_label() -> None:
    assert list(folded("one two three", 9, used=5)) == ["one", "two three"]


def test_a_label_hangs_and_long_commands_leave_the_window() -> None:
    out = io.StringIO()
    terminal = CommandTerminal(io.StringIO(), out, io.StringIO(), {"COLUMNS": "30"})
    prose = Prose("see the reason: appwrapper explain train -n team1", indent=6, label="now:")
    terminal.console().print(prose, crop=False)
    assert out.getvalue() == ("now:  see the reason:\n      appwrapper explain train -n team1\n")


def test_examples_stay_as_they_are_among_folded_paragraphs() -> None:
    text = "Lists all of the\nthings.\n\n  list --all   # of every namespace\n\nAnd ends.\n"
    assert folded_paragraphs(text, 18) == (
        "Lists all of the\nthings.\n\n  list --all   # of every namespace\n\nAnd ends.\n"
    )
    assert folded_paragraphs(text, 80).startswith("Lists all of the things.\n\n  list")
