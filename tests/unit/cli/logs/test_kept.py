"""What remains of an attempt whose pods are deleted."""

from datetime import timedelta

from cli.logs.kept import kept_attempt
from shared.api.appwrapper import AppWrapper
from tests.support.builders.explained.objects import NOW, ago, appwrapper

CAUSE = {
    "attempt": 2,
    "pod": "train-1-x7k2p",
    "container": "main",
    "message": "Traceback (most recent call last):\nValueError: shard 7",
}
HISTORY = [
    {"attempt": 1, "time": ago(400), "pod": "train-0-aaaaa", "summary": "train-0: OOMKilled"},
    {
        "attempt": 2,
        "time": ago(100),
        "pod": "train-1-x7k2p",
        "summary": "train-1 r1: ValueError",
        "decision": "Retry",
    },
]


def failed(**status: object) -> AppWrapper:
    item = appwrapper("Failed", attempt=3)
    item["status"] |= {"rootCause": CAUSE, "errorHistory": HISTORY, **status}
    return AppWrapper(item)


def test_the_history_and_the_message_are_shown_by_their_names() -> None:
    assert kept_attempt(failed(), 2, "", NOW).text("train") == (
        "The pods of attempt 2 of train are deleted.\n"
        "Its status keeps of it (errorHistory, rootCause):\n"
        f"  {ago(100)}  train-1 r1: ValueError (decision: Retry)\n"
        "\n"
        "  The end of its log or its error:\n"
        "  Traceback (most recent call last):\n"
        "  ValueError: shard 7\n"
    )


def test_an_earlier_attempt_has_its_line_of_the_history_only() -> None:
    assert kept_attempt(failed(), 1, "", NOW).lines == (f"{ago(400)}  train-0: OOMKilled",)


def test_a_root_cause_without_history_is_summed_up() -> None:
    assert kept_attempt(failed(errorHistory=[]), 2, "", NOW).lines[:2] == (
        "train-1-x7k2p: ValueError: shard 7 (decision: None)",
        "",
    )


def test_an_attempt_without_a_failure_left_nothing() -> None:
    found = kept_attempt(failed(), 3, "", NOW)
    assert (found.link, found.lines) == ("", ())


def test_malformed_entries_are_ignored() -> None:
    odd = failed(rootCause="x", errorHistory=["x", {"attempt": 2, "time": "yesterday"}])
    assert kept_attempt(odd, 2, "https://logs/{from}", NOW).lines == ("yesterday",)
    assert kept_attempt(failed(errorHistory="x", rootCause={}), 2, "", NOW).lines == ()


TEMPLATE = 'https://logs/q={container=~"{container}"}/{namespace}/{pod}/{appwrapper}/{attempt}'


def test_the_link_has_the_root_causes_pod_and_the_attempts_time() -> None:
    found = kept_attempt(failed(), 2, TEMPLATE + "?{from}&{to}", NOW)
    begin, end = ago(400), ago(0)  # from the failure before it; after its own 10 min, or now
    assert found.link == (
        'https://logs/q={container=~"main"}/team1/train-1-x7k2p/train/2'
        f"?{begin.replace(':', '%3A')}&{end.replace(':', '%3A')}"
    )
    assert found.text("train").splitlines()[1:3] == [
        "Its logs in the cluster's log store:",
        f"  {found.link}",
    ]


def test_the_times_are_available_in_milliseconds() -> None:
    later = NOW + timedelta(hours=1)
    found = kept_attempt(failed(), 2, "{fromMillis}-{toMillis}", later)
    begin = int(NOW.timestamp()) - 400
    end = int(NOW.timestamp()) - 100 + 600
    assert found.link == f"{begin}000-{end}000"


def test_the_first_attempt_begins_with_the_appwrapper() -> None:
    begin = int(NOW.timestamp()) - 600
    assert kept_attempt(failed(), 1, "{fromMillis}", NOW).link == f"{begin}000"


def test_another_pod_is_linked_on_request() -> None:
    found = kept_attempt(failed(), 2, "{pod}|{container}", NOW, "train-0-bbbbb")
    assert found.link == "train-0-bbbbb|"
    assert kept_attempt(failed(), 1, "{pod}|{container}", NOW).link == "train-0-aaaaa|"


def test_values_are_encoded_for_a_url() -> None:
    odd = failed(rootCause={**CAUSE, "pod": "a b/{attempt}"})
    assert (
        kept_attempt(odd, 2, "https://logs/{pod}", NOW).link == "https://logs/a%20b%2F%7Battempt%7D"
    )
