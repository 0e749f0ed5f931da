from typing import Any

import pytest

from tests.support.builders.admission import POD, appwrapper, component, warnings_of


def job(**spec: Any) -> dict[str, Any]:
    whole = {"template": {"spec": POD["spec"]}, **spec}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}, "spec": whole}


@pytest.mark.parametrize("seconds", [0, 59])
def test_a_job_that_may_be_gone_before_it_is_seen(seconds: int) -> None:
    assert warnings_of(appwrapper(component(job(ttlSecondsAfterFinished=seconds)))) == [
        f"spec.components[0].template.spec.ttlSecondsAfterFinished: {seconds} is short: a Job that "
        "is gone before the controller saw its end counts as lost, and the AppWrapper fails; leave "
        "it out, or use 60 or more"
    ]


@pytest.mark.parametrize(
    "spec", [{}, *({"ttlSecondsAfterFinished": x} for x in (60, None, "5", True))]
)
def test_a_job_that_stays_long_enough(spec: dict[str, Any]) -> None:
    assert warnings_of(appwrapper(component(job(**spec)))) == []
