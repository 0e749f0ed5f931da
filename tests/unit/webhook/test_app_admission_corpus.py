"""Every case of admission, answered by the application in process."""

from collections import Counter
from collections.abc import Iterator

import pytest

from tests.support.admission_corpus.case import TEAM, Case, differences
from tests.support.admission_corpus.in_process import answered, facts
from tests.support.admission_corpus.table import CASES
from tests.support.fakes.in_process_webhook import InProcessWebhook

IN_PROCESS = [case for case in CASES if not case.only_on_a_server]


@pytest.fixture(scope="module")
def webhook() -> Iterator[InProcessWebhook]:
    with InProcessWebhook(facts(TEAM)) as made:
        yield made


@pytest.mark.parametrize("case", IN_PROCESS, ids=lambda case: case.name)
def test_a_case_of_admission_gets_its_whole_answer(webhook: InProcessWebhook, case: Case) -> None:
    found = differences(case, answered(webhook, case))
    assert not found, found


def test_every_case_has_a_name_of_its_own() -> None:
    assert [name for name, count in Counter(case.name for case in CASES).items() if count > 1] == []
