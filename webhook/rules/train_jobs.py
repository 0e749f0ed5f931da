"""Check TrainJobs: their pods are counted in the TrainingRuntime before them."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from shared.api.findings import FieldError, FieldErrorKind, quoted
from shared.api.objects import JsonObject, JsonValue, metadata
from shared.kinds.kind import PodSetError, value_or_none
from shared.kinds.train_job import TRAIN_JOB, TRAINING_RUNTIME, runtime_ref, with_overrides
from webhook.rules.kinds import WRAPPING
from webhook.rules.submission import Submission, SubmittedComponent, direct_kind

_REF: Final = "template.spec.runtimeRef"
_PATCHES: Final = "template.spec.runtimePatches"
_PACK: Final = "`appwrapper pack RUNTIME.yaml TRAINJOB.yaml` writes both components"


def check_train_jobs(submission: Submission) -> Iterator[FieldError]:
    """Reject a TrainJob unless its TrainingRuntime is the component before it, with the same pods.

    Kubeflow Trainer makes the pods of a TrainJob from its runtime. Kueue counts the runtime that is
    in the AppWrapper, and no change of another runtime concerns it.
    """
    if submission.malformed:
        return  # the neighbours of a component are not known
    for before, component in pairwise([None, *submission.components, None]):
        if before is not None and before.record is TRAINING_RUNTIME:
            yield from _check_use(before, component)
        if component is not None and component.record is TRAIN_JOB:
            has_runtime = before is not None and before.record is TRAINING_RUNTIME
            yield from _check_train_job(component, before if has_runtime else None)


def _check_use(
    runtime: SubmittedComponent, after: SubmittedComponent | None
) -> Iterator[FieldError]:
    if after is None or after.record is not TRAIN_JOB:
        yield FieldError(
            f"{runtime.path}.template",
            FieldErrorKind.FORBIDDEN,
            f"the component after a TrainingRuntime must be the TrainJob that uses it; {_PACK}",
        )


def _check_train_job(
    train_job: SubmittedComponent, runtime: SubmittedComponent | None
) -> Iterator[FieldError]:
    kind, name = runtime_ref(train_job.template)
    wanted = metadata(runtime.template).get("name") if runtime else None
    if runtime is None or kind != TRAINING_RUNTIME.resource.kind or not name or name != wanted:
        yield FieldError(
            f"{train_job.path}.{_REF}",
            FieldErrorKind.INVALID,
            "Kueue counts the pods of a TrainJob in its runtime: put that TrainingRuntime into the "
            f"component before the TrainJob, and name it here (kind, name); {_PACK}",
            quoted(f"{kind} {name}".strip()),
        )
        return
    if value_or_none(train_job.template, _PATCHES):
        yield FieldError(
            f"{train_job.path}.{_PATCHES}",
            FieldErrorKind.FORBIDDEN,
            "patches are not counted: write the changes into the TrainingRuntime, "
            f"{runtime.path}.template, and leave runtimePatches out",
        )
    yield from _check_overrides(train_job, runtime)


def _check_overrides(
    train_job: SubmittedComponent, runtime: SubmittedComponent
) -> Iterator[FieldError]:
    """Reject numNodes and resourcesPerNode that differ from the runtime: Kueue reads the latter."""
    try:
        counted = with_overrides(runtime.template, train_job.template)
    except PodSetError as error:
        path = f"{train_job.path}.template.spec.trainer"
        yield FieldError(path, FieldErrorKind.INVALID, str(error))
        return
    for path, value in _differences(runtime.template, counted):
        yield FieldError(
            f"{runtime.path}.template{path}",
            FieldErrorKind.INVALID,
            f"the TrainJob after it overrides it with {quoted(str(value))}: write the same here, "
            "because Kueue counts the TrainingRuntime",
        )


def _differences(
    one: JsonValue, other: JsonValue, path: str = ""
) -> Iterator[tuple[str, JsonValue]]:
    """Yield path and value of each field of `other` that differs; `one` has the same arrays."""
    if isinstance(other, dict):
        before: JsonObject = one if isinstance(one, dict) else {}
        for key in other:
            yield from _differences(before.get(key), other[key], f"{path}.{key}")
    elif isinstance(other, list) and isinstance(one, list):
        for index, each in enumerate(other):
            yield from _differences(one[index], each, f"{path}[{index}]")
    elif one != other:
        yield path, other


def check_direct_runtime(submission: Submission) -> Iterator[FieldError]:
    """Reject a directly created TrainJob on a TrainingRuntime: only a ClusterTrainingRuntime.

    The TrainingRuntimes of a team are parts of AppWrappers, and their pods have an AppWrapper's
    labels. The platform owns the ClusterTrainingRuntimes.
    """
    if direct_kind(submission) is not TRAIN_JOB:
        return
    kind, _name = runtime_ref(submission.object)
    if kind == TRAINING_RUNTIME.resource.kind:
        yield FieldError(
            "spec.runtimeRef.kind",
            FieldErrorKind.FORBIDDEN,
            "the TrainingRuntimes of a team belong to AppWrappers: name a ClusterTrainingRuntime, "
            f"or wrap the TrainJob: {WRAPPING}",
            quoted(kind),
        )
