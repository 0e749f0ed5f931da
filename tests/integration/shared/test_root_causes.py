"""Every root cause of the table, as pods of simulated nodes show it to the real controller.

The column ROOT CAUSE of kubectl is in test_root_cause_page.py.
"""

import asyncio
from collections.abc import AsyncIterator
from functools import partial
from typing import Final

import pytest
import pytest_asyncio

from localcluster.access.running import RunningCluster
from tests.support.cluster.at_once import UnderWay, under_way
from tests.support.cluster.failed_workers import fails_as, operators_log
from tests.support.cluster.lives import Lives
from tests.support.root_cause_cases.case import Case
from tests.support.root_cause_cases.table import CASES

# Autopilot's labels are for tests/integration/nodes.
ON_GOOD_NODES: Final = {f"cause-{n}": case for n, case in enumerate(CASES) if not case.bad_nodes}
AT_ONCE: Final = 5  # four workers each fill the team's quota


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def under_way_cases(cluster: RunningCluster, lives_team: None) -> AsyncIterator[UnderWay]:
    turns = asyncio.Semaphore(AT_ONCE)

    async def fails(lives: Lives, *, name: str, case: Case) -> None:
        async with turns:
            await fails_as(lives, case, name)

    named = {name: partial(fails, name=name, case=case) for name, case in ON_GOOD_NODES.items()}
    async with under_way(cluster, named=named) as tasks:
        yield tasks


@pytest.mark.parametrize("name", ON_GOOD_NODES, ids=lambda name: ON_GOOD_NODES[name].name)
async def test_the_root_cause_is_stored_and_reported(under_way_cases: UnderWay, name: str) -> None:
    await under_way_cases[name]


async def test_no_log_has_what_the_workers_wrote(
    under_way_cases: UnderWay, cluster: RunningCluster
) -> None:
    await asyncio.wait(under_way_cases.values())
    log = operators_log(cluster)
    assert [name for name in ON_GOOD_NODES if f'"{name}"' not in log] == []
    assert "SECRET" not in log
