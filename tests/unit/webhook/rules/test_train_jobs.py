"""A TrainJob is admitted only behind the TrainingRuntime that Kueue counts for it."""

from typing import Any

import jsonpatch
import pytest

from shared.api.objects import JsonObject
from shared.config.configuration import AllowedKinds, AppWrapperConfig
from tests.support.builders.admission import (
    SERVICE,
    appwrapper,
    component,
    errors_of,
    patch_of,
    request,
)
from tests.support.builders.operated_kinds import runtime_job, train_job, training_runtime
from webhook import chain
from webhook.rules.submission import Facts
from webhook.verdicts import Allowed, Denied, Verdict

HERE = "spec.components"
PACK = "`appwrapper pack RUNTIME.yaml TRAINJOB.yaml` writes both components"
IN_ITS_RUNTIME = (
    "Kueue counts the pods of a TrainJob in its runtime: put that TrainingRuntime into the "
    f"component before the TrainJob, and name it here (kind, name); {PACK}"
)
ITS_TRAIN_JOB = f"the component after a TrainingRuntime must be the TrainJob that uses it; {PACK}"


def runtime(name: str = "t", nodes: int = 2) -> JsonObject:
    return training_runtime(name, runtime_job("node", step="trainer"), nodes=nodes)


def refused(*templates: JsonObject) -> list[str]:
    return refusals(*map(component, templates))


def refusals(*components: JsonObject) -> list[str]:
    """Returns the errors of what the mutation makes of it."""
    whole = appwrapper(*components)
    stored: JsonObject = jsonpatch.apply_patch(whole, patch_of(whole))
    return errors_of(stored)


def test_a_train_job_behind_its_runtime_is_admitted() -> None:
    assert refused(SERVICE, runtime(), train_job("t"), runtime("u"), train_job("u")) == []


def ref(at: int, shown: str) -> str:
    return f'{HERE}[{at}].template.spec.runtimeRef: Invalid value: "{shown}": {IN_ITS_RUNTIME}'


def unused(at: int) -> str:
    return f"{HERE}[{at}].template: Forbidden: {ITS_TRAIN_JOB}"


def test_one_without_a_runtime_is_refused() -> None:
    own = train_job("t")
    own["spec"]["runtimeRef"] = {"name": "torch-distributed"}
    assert refused(own) == [
        ref(0, "ClusterTrainingRuntime torch-distributed"),
        f"{HERE}: Required value: at least one component must have pods, but none does (TrainJob)",
    ]


def test_one_with_another_runtime_is_refused() -> None:
    assert refused(runtime("other"), train_job("t")) == [ref(1, "TrainingRuntime t")]


def test_one_with_a_cluster_runtime_of_the_same_name_is_refused() -> None:
    own = train_job("t")
    own["spec"]["runtimeRef"] = {"name": "t"}
    assert refused(runtime(), own) == [ref(1, "ClusterTrainingRuntime t")]


def test_a_runtime_must_be_right_before_its_train_job() -> None:
    assert refused(runtime(), SERVICE, train_job("t")) == [unused(0), ref(2, "TrainingRuntime t")]
    assert refused(train_job("t"), runtime()) == [ref(0, "TrainingRuntime t"), unused(1)]


def test_two_train_jobs_do_not_share_a_runtime() -> None:
    assert refused(runtime(), train_job("t"), train_job("t")) == [ref(2, "TrainingRuntime t")]


def test_a_generated_name_of_a_runtime_cannot_be_referred_to() -> None:
    made = runtime()
    made["metadata"] = {"generateName": "t"}
    assert refused(made, train_job("t")) == [ref(1, "TrainingRuntime t")]


def test_patches_are_refused() -> None:
    own = train_job("t", runtimePatches=[{"manager": "a.b/c"}])
    assert refused(runtime(), own) == [
        f"{HERE}[1].template.spec.runtimePatches: Forbidden: patches are not counted: write the "
        f"changes into the TrainingRuntime, {HERE}[0].template, and leave runtimePatches out"
    ]


OVERRIDES = "the TrainJob after it overrides it with"
COUNTED = "write the same here, because Kueue counts the TrainingRuntime"


@pytest.mark.parametrize(
    ("trainer", "error"),
    [
        ({"numNodes": 2}, ""),
        (
            {"numNodes": 3},
            f'{HERE}[0].template.spec.mlPolicy.numNodes: Invalid value: {OVERRIDES} "3": {COUNTED}',
        ),
        (
            {"resourcesPerNode": {"limits": {"nvidia.com/gpu": 8}}},
            f"{HERE}[0].template.spec.template.spec.replicatedJobs[0].template.spec.template.spec"
            ".containers[0].resources.limits.nvidia.com/gpu: Invalid value: "
            f'{OVERRIDES} "8": {COUNTED}',
        ),
        (
            {"resourcesPerNode": {"claims": []}},
            f"{HERE}[1].template.spec.trainer: Invalid value: "
            "template.spec.trainer.resourcesPerNode.claims is not counted: leave it out",
        ),
    ],
)
def test_overrides_that_the_runtime_does_not_repeat_are_refused(
    trainer: dict[str, Any], error: str
) -> None:
    assert refused(runtime(), train_job("t", trainer=trainer)) == ([error] if error else [])


def test_a_train_job_cannot_be_kept() -> None:
    kept = {"workload.codeflare.dev.appwrapper/keep": "true"}
    [error] = refusals(component(runtime()), component(train_job("t"), annotations=kept))
    assert error.startswith(f"{HERE}[1].annotations[workload.codeflare.dev.appwrapper/keep]")


# Created directly.

TRAIN_JOB = "trainer.kubeflow.org/TrainJob"


def judged(created: JsonObject, *direct: str) -> Verdict:
    config = AppWrapperConfig(allowed_kinds=AllowedKinds(direct=direct))
    known = Facts(config, is_team_namespace=True, priority_classes=frozenset())
    return chain.validate(request(created, group_kind=TRAIN_JOB, name="t"), known)


def on_cluster_runtime(**spec: Any) -> JsonObject:
    made = train_job("t", **spec)
    made["spec"]["runtimeRef"] = {"name": "torch-distributed"}
    return made


def reason(verdict: Verdict) -> str:
    assert isinstance(verdict, Denied)
    message: str = verdict.status["message"]
    return message.removeprefix('TrainJob.trainer.kubeflow.org "t" is forbidden: ')


def test_a_team_creates_one_directly_only_if_the_configuration_allows_it() -> None:
    assert judged(on_cluster_runtime(), TRAIN_JOB) == Allowed()
    assert reason(judged(on_cluster_runtime())).startswith("in a team's namespace it has to be")


def test_a_direct_one_runs_on_a_cluster_runtime_only() -> None:
    """A wrapped TrainingRuntime would make pods with the labels of its AppWrapper."""
    assert reason(judged(train_job("t"), TRAIN_JOB)) == (
        'spec.runtimeRef.kind: Forbidden: "TrainingRuntime": the TrainingRuntimes of a team belong '
        "to AppWrappers: name a ClusterTrainingRuntime, or wrap the TrainJob: "
        "appwrapper pack FILE | kubectl apply -f -"
    )


def test_a_direct_one_does_not_label_its_pods_as_an_appwrappers() -> None:
    pods = {"metadata": {"labels": {"workload.codeflare.dev/uid": "u"}}}
    jobs = [{"name": "node", "template": {"spec": {"template": pods}}}]
    patch = {"trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": jobs}}}}
    assert "its pods would count as pods of an AppWrapper" in reason(
        judged(on_cluster_runtime(runtimePatches=[patch]), TRAIN_JOB)
    )
