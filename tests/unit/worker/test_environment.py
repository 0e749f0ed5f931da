"""What the recorder reads from its environment, and what the command gets."""

import pytest

from worker.environment import Environment, for_command, read

NOBODY = Environment(
    off=False,
    worker="",
    pod_uid="",
    attempt=0,
    rank=None,
    error_uri="",
    budget=3072,
    termination_log="/dev/termination-log",
)


def test_it_works_without_any_variable() -> None:
    assert read({}) == NOBODY


def test_variables_that_the_controller_injects() -> None:
    environ = {
        "AW_ERROR_STRATEGY": "earliest",
        "AW_WORKER_NAME": "train-worker-0",
        "AW_POD_UID": "0b9f",
        "AW_NODE_NAME": "gpu-3",
        "AW_ATTEMPT": "4",
        "AW_ERROR_URI": "/errors/ns/aw/uid/4/error-train-worker-0.pb",
        "AW_TERMINATION_BUDGET": "1024",
        "AW_TERMINATION_LOG": "/tmp/mine",
        "HOSTNAME": "another",
        "RANK": "7",
    }
    assert read(environ) == Environment(
        off=False,
        worker="train-worker-0",
        pod_uid="0b9f",
        attempt=4,
        rank=7,
        error_uri="/errors/ns/aw/uid/4/error-train-worker-0.pb",
        budget=1024,
        termination_log="/tmp/mine",
    )


@pytest.mark.parametrize("name", ["AW_WORKER_NAME", "_F_WN", "FLYTE_INTERNAL_WORKER_NAME"])
def test_flytes_names_of_the_worker_count(name: str) -> None:
    assert read({name: "w-0", "HOSTNAME": "h"}).worker == "w-0"
    assert read({"HOSTNAME": "h"}).worker == "h"


@pytest.mark.parametrize(
    "name", ["AW_ERROR_STRATEGY", "_F_DES", "FLYTE_INTERNAL_DIST_ERROR_STRATEGY"]
)
def test_it_can_be_turned_off(name: str) -> None:
    assert read({name: "off"}).off
    assert not read({name: "Earliest"}).off


@pytest.mark.parametrize(
    ("text", "budget"),
    [("", 3072), ("x", 3072), ("-1", 3072), ("0", 3072), ("1", 256), ("9999", 4096)],
)
def test_a_budget_that_cannot_be_is_replaced(text: str, budget: int) -> None:
    assert read({"AW_TERMINATION_BUDGET": text}).budget == budget


def test_a_place_that_is_no_file_is_a_folder() -> None:
    environ = {"AW_ERROR_URI": "s3://errors/1/", "AW_WORKER_NAME": "w-0"}
    assert read(environ).error_uri == "s3://errors/1/error-w-0.pb"
    assert read({"AW_ERROR_URI": "/errors"}).error_uri == "/errors/error-unknown.pb"


def test_the_command_gets_a_place_for_errors_before_the_users_path() -> None:
    added = for_command({"PYTHONPATH": "/app", "A": "1"}, "/tmp/f", hook=True)
    hook, rest = added.pop("PYTHONPATH").split(":")
    assert hook.endswith("/worker/hook")
    assert rest == "/app"
    assert added == {
        "A": "1",
        "_AW_RECORDS": "/tmp/f",
        "TORCHELASTIC_ERROR_FILE": "/tmp/f/torch_error.json",
    }
    assert for_command({}, "/tmp/f", hook=True)["PYTHONPATH"].endswith("/worker/hook")


def test_variables_of_the_user_stay() -> None:
    given = {"TORCHELASTIC_ERROR_FILE": "/mine", "PYTHONPATH": "/app"}
    assert for_command(given, "/tmp/f", hook=False) == given
