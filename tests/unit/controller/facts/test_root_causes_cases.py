"""Every root cause of the table, gathered, decided and reported in process."""

from collections import Counter
from pathlib import Path

import pytest

from tests.support.root_cause_cases.case import Case
from tests.support.root_cause_cases.in_process import InProcess, orders
from tests.support.root_cause_cases.table import CASES


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
async def test_the_root_cause_is_stored_and_reported_and_no_log_has_users_texts(
    case: Case, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for number, order in enumerate(orders(case)):
        await InProcess(case, tmp_path / str(number)).fails(order)
    assert "SECRET" not in caplog.text


def test_every_case_has_a_name_of_its_own() -> None:
    assert [name for name, count in Counter(case.name for case in CASES).items() if count > 1] == []
