"""All cases of admission."""

from typing import Final

from tests.support.admission_corpus import (
    injection,
    limits,
    malformed,
    pod_sets,
    pod_templates,
    queues_and_users,
    uncounted,
    updates,
)
from tests.support.admission_corpus.case import Case

CASES: Final[tuple[Case, ...]] = (
    *queues_and_users.CASES,
    *injection.CASES,
    *pod_sets.CASES,
    *uncounted.CASES,
    *pod_templates.CASES,
    *limits.CASES,
    *malformed.CASES,
    *updates.CASES,
)
