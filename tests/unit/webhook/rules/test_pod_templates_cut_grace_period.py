from tests.support.builders import wrapped_kinds
from tests.support.builders.admission import appwrapper, component, warnings_of

FIELD = "terminationGracePeriodSeconds"


OPERATORS = "the operator's forceful deletion period is 10m"


def test_probes_and_pods_without_a_pod_set_are_warned_of_too() -> None:
    probed = {"name": "a", "image": "b", "livenessProbe": {FIELD: 601}}
    submitter = {"spec": {"containers": [probed], "restartPolicy": "Never", FIELD: 602}}
    job = wrapped_kinds.kind(
        "ray.io/v1",
        "RayJob",
        rayClusterSpec=wrapped_kinds.ray(),
        submitterPodTemplate=submitter,
    )
    here = "spec.components[0].template.spec.submitterPodTemplate.spec"
    probe = f"{here}.containers[0].livenessProbe.{FIELD}"
    assert [each for each in warnings_of(appwrapper(component(job))) if FIELD in each] == [
        f"{here}.{FIELD}: pods get 600 instead of 602: {OPERATORS}",
        f"{probe}: pods get 600 instead of 601: {OPERATORS}",
    ]
