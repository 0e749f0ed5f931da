"""GPU-hours: queued, productive and lost."""

from decimal import Decimal

import pytest

from cli.explaining.appwrapper_objects import AppWrapperObjects
from cli.explaining.compose import explain
from cli.explaining.report import GpuHours
from tests.support.builders.explained import deployed, ending, waiting


def without_quota_seconds(seen: AppWrapperObjects) -> AppWrapperObjects:
    del seen.appwrapper["status"]["quotaSeconds"]
    return seen


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        # 16 GPUs: 4000 s since its creation, 3660 of these with quota, 3640 with all of its pods.
        (
            deployed.runs(),
            GpuHours(
                gpus=Decimal(16),
                queued=Decimal("1.51"),
                productive=Decimal("16.18"),
                lost=Decimal("0.09"),
            ),
        ),
        (waiting.waits_for_quota(), GpuHours(gpus=Decimal(16), queued=Decimal("2.67"))),
        # Suspended by its user, it waits for nothing.
        (waiting.suspended_by_user(), None),
        (
            ending.failed(),
            GpuHours(
                gpus=Decimal(16),
                queued=Decimal("26.67"),
                productive=Decimal("0.00"),
                lost=Decimal("13.22"),
            ),
        ),
        (
            waiting.preempted(),
            GpuHours(
                gpus=Decimal(16),
                queued=Decimal("4.44"),
                productive=Decimal("0.00"),
                lost=Decimal("13.33"),
            ),
        ),
        # It ended under an earlier version of the controller.
        (
            without_quota_seconds(ending.failed()),
            GpuHours(gpus=Decimal(16), notes=("its time with quota is not recorded",)),
        ),
    ],
)
def test_gpu_hours(seen: AppWrapperObjects, expected: GpuHours | None) -> None:
    assert explain(seen).gpu_hours == expected
