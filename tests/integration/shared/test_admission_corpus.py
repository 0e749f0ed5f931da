"""Every case of admission, as a dry run on the real API server beside the real Kueue."""

from functools import partial

from localcluster.access.running import RunningCluster
from tests.support.admission_corpus.case import Case, differences
from tests.support.admission_corpus.table import CASES
from tests.support.cluster.dry_runs import at_once, dry_runs


async def test_every_case_of_admission_gets_its_whole_answer(cluster: RunningCluster) -> None:
    async with dry_runs(cluster) as runner:

        async def differs(case: Case) -> str:
            return differences(case, await runner.answered(case))

        # The largest last: while they are decoded, no other review waits for its answer.
        cases = sorted(CASES, key=lambda case: len(str(case.sent)))
        found = await at_once(partial(differs, case) for case in cases)
    assert not any(found), "\n" + "\n".join(filter(None, found))
