"""All cases of root causes."""

from typing import Final

from tests.support.root_cause_cases import inferred, recorded, stored
from tests.support.root_cause_cases.case import Case

CASES: Final[tuple[Case, ...]] = (*recorded.CASES, *inferred.CASES, *stored.CASES)
