"""Answers that put the cluster's own words first, and each fact once."""

import copy
import io
from dataclasses import replace

import pytest

from cli.explaining.answers.deployed import runs
from cli.explaining.appwrapper_objects import AppWrapperObjects
from cli.explaining.case import case_of
from cli.explaining.compose import explain
from cli.explaining.report import ExplainReport, Situation
from cli.explaining.text import render
from cli.terminal import CommandTerminal
from controller.facts.root_cause_status import encode
from controller.phases.root_cause import Decision, RootCause, Source
from shared.api.conditions import Terminal
from tests.support.builders.explained import deployed, ending, waiting
from tests.support.builders.explained.objects import event


def with_message(seen: AppWrapperObjects, message: str) -> AppWrapperObjects:
    """The same with another message of Unhealthy."""
    item = copy.deepcopy(seen.appwrapper)
    [found] = [each for each in item["status"]["conditions"] if each["type"] == "Unhealthy"]
    found["message"] = message
    return replace(seen, appwrapper=item)


def test_a_warning_of_kueue_takes_precedence_over_guesses() -> None:
    recorder = {"reportingComponent": "workload.codeflare.dev/appwrapper-kueue-controller"}
    foreign = {"involvedObject": {"kind": "AppWrapper", "name": "train", "uid": "a namesake's"}}
    warned = (
        event("ClassNotFound", "priority class hi-prio is not found.", 9, "Warning", **recorder),
        event("Old", "something else", 99, "Warning", **recorder),
        event("Suspended", "of no interest", 8, **recorder),
        event("Odd", "another recorder's", 7, "Warning"),
        event("Foreign", "another one's", 6, "Warning", **recorder, **foreign),
    )
    found = explain(replace(waiting.no_workload(), events=warned))
    assert found.situation is Situation.NOT_MANAGED
    assert found.answer == (
        "train has no Workload, and Kueue reports"
        " (ClassNotFound: priority class hi-prio is not found)."
    )


CAUSE = RootCause(
    pod="train-1",
    node="gpu-2",
    exit_code=1,
    message="Traceback (most recent call last):\nValueError: shard 7",
    source=Source.LOG,
)
ONE = (
    "retries exhausted (3 of 3): 1 failed pod: train-1 on gpu-2 (exit code 1): ValueError: shard 7"
)
FOUR = (
    "retries exhausted (3 of 3): train-1 on gpu-2 failed first (exit code 1): ValueError: shard 7;"
    " 4 failed pods: train-0, train-1 and 2 more"
)


@pytest.mark.parametrize(
    ("message", "failed_pods", "first", "details"),
    [
        (ONE, 1, "", "Retries exhausted (3 of 3)."),
        (
            FOUR,
            4,
            " first",
            "Retries exhausted (3 of 3): 4 failed pods: train-0, train-1 and 2 more.",
        ),
    ],
)
def test_a_failed_one_names_pod_and_exception_first_and_all_once(
    message: str, failed_pods: int, first: str, details: str
) -> None:
    seen = with_message(ending.failed(), message)
    cause = replace(CAUSE, failed_pods=failed_pods)
    seen.appwrapper["status"]["rootCause"] = encode(cause, 4, Decision.TERMINAL)
    found = explain(seen)
    assert found.answer == (
        "train failed at 14:02:30 UTC, 40 s ago: train-1 on gpu-2 failed"
        f"{first} (exit code 1): ValueError: shard 7."
    )
    assert found.details == (details,)
    shown = to_plain(found)
    assert shown.count("train-1 on gpu-2 failed") == 1
    assert shown.count("retries exhausted") + shown.count("Retries exhausted") == 1
    assert "  Traceback (most recent call last):" in shown
    assert "attempt 3:" in shown
    assert "attempt 4:" not in shown
    assert [each.command for each in found.commands] == [
        "appwrapper logs train -n team1",
        "appwrapper resubmit train -n team1",
        "appwrapper resubmit train -n team1 --set deletionOnFailureGracePeriodDuration=30m",
    ]


def to_plain(found: ExplainReport) -> str:
    """What people read, without line breaks of a narrow terminal."""
    out = io.StringIO()
    CommandTerminal(io.StringIO(), out, io.StringIO(), {"COLUMNS": "200"}).console().print(
        render(found)
    )
    return out.getvalue()


def test_while_its_pods_are_kept_their_logs_help() -> None:
    found = explain(ending.failed_and_kept())
    assert [each.command for each in found.commands] == ["appwrapper logs train -n team1"]


def test_a_running_one_of_which_only_endless_parts_are_left_names_the_command() -> None:
    case = case_of(deployed.runs())
    [job] = case.snapshot.components
    ended = replace(job, terminal=Terminal.SUCCEEDED)
    serve = replace(job, name="serve", kind="Deployment", reports=False, endless=True)
    left = replace(case, snapshot=replace(case.snapshot, components=(ended, serve)))
    answer = runs(left)
    assert answer.details == (
        "All other components have succeeded, but Deployment serve never ends: the AppWrapper keeps"
        " running and holds its quota. Next time annotate a component that only serves the others"
        ' with workload.codeflare.dev.appwrapper/helper: "true".',
    )
    assert [each.command for each in answer.commands] == ["appwrapper cancel train -n team1"]
    assert (runs(case).details, runs(case).commands) == ((), ())
