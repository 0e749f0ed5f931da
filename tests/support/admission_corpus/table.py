"""All cases of admission."""

from typing import Final

from tests.support.admission_corpus import (
    component_warnings,
    contents,
    injection,
    limits,
    malformed,
    pod_sets,
    pod_templates,
    queues_and_users,
    samples,
    uncounted,
    updates,
)
from tests.support.admission_corpus.case import Case

CASES: Final[tuple[Case, ...]] = (
    *queues_and_users.CASES,
    *injection.CASES,
    *contents.CASES,
    *pod_sets.CASES,
    *uncounted.CASES,
    *pod_templates.CASES,
    *limits.CASES,
    *component_warnings.CASES,
    *malformed.CASES,
    *samples.CASES,
    *updates.CASES,
)
