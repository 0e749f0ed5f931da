import pytest

from bench import objects
from bench.measurements.flapping import writes_allowed


@pytest.mark.parametrize(("seconds", "writes"), [(300, 10), (60, 2), (30, 1), (5, 1)])
def test_a_shorter_time_gets_its_share(seconds: int, writes: int) -> None:
    assert writes_allowed(seconds) == writes


def test_neither_the_job_nor_the_warm_up_gives_up_on_a_flapping_pod() -> None:
    document = objects.flapping("a", "a-batch")
    job = document["spec"]["components"][0]["template"]["spec"]
    assert job["backoffLimit"] == 1_000_000
    assert job["template"]["spec"]["restartPolicy"] == "OnFailure"
    assert document["metadata"]["annotations"] == {
        "workload.codeflare.dev.appwrapper/warmupGracePeriodDuration": "1h"
    }
