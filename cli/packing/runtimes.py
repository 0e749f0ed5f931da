"""Put the runtime of each TrainJob before it: Kueue counts the pods there."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from cli.command import CommandError, ExitCode
from cli.manifests.manifest import Manifest
from shared.api.objects import JsonObject, metadata
from shared.kinds.kind import PodSetError
from shared.kinds.train_job import TRAIN_JOB, TRAINING_RUNTIME, runtime_ref, with_overrides

_OWN: Final = TRAINING_RUNTIME.resource
_RUNTIMES: Final = (_OWN.kind, f"Cluster{_OWN.kind}")
_REF: Final = ("spec", "runtimeRef")


def with_runtimes(manifests: Sequence[Manifest]) -> list[Manifest]:
    """Return the manifests, with a copy of its runtime before each TrainJob.

    The copy has the TrainJob's name, and its numNodes and resourcesPerNode. The runtimes themselves
    are left out. Raises CommandError if a runtime is not among the manifests.
    """
    train_jobs = [each for each in manifests if each.group_kind == TRAIN_JOB.group_kind]
    runtimes = {(each.kind, each.name): each for each in manifests if _is_runtime(each)}
    used = {runtime_ref(each.value) for each in train_jobs}
    found: list[Manifest] = []
    for each in manifests:
        if each in train_jobs:
            found += _pair(each, runtimes)
        elif not (_is_runtime(each) and (each.kind, each.name) in used):
            found.append(each)
    return found


def _is_runtime(manifest: Manifest) -> bool:
    group, _, kind = manifest.group_kind.rpartition("/")
    return group == _OWN.group and kind in _RUNTIMES


def _pair(train_job: Manifest, runtimes: dict[tuple[str, str], Manifest]) -> Iterator[Manifest]:
    kind, name = runtime_ref(train_job.value)
    runtime = runtimes.get((kind, name))
    if runtime is None:
        raise CommandError(
            f"{train_job.located(_REF)}: {train_job} takes its pods from the {kind or 'runtime'}"
            f" {name}, which is not among the objects. Add it:"
            f" kubectl get {kind.lower() or 'clustertrainingruntime'} {name} -o yaml |"
            " appwrapper pack - FILE",
            ExitCode.WANTING,
        )
    own = metadata(train_job.value).get("name")
    if not isinstance(own, str) or not own:
        raise CommandError(
            f"{train_job.located()}: this TrainJob has no name, which its runtime gets too. Give"
            " it metadata.name",
            ExitCode.WANTING,
        )
    try:
        counted = with_overrides(runtime.value, train_job.value)
    except PodSetError as error:
        raise CommandError(f"{train_job.located(('spec',))}: {error}", ExitCode.WANTING) from error
    yield _unless_same(runtime, _as_own(counted, own))
    ref = {"apiGroup": _OWN.group, "kind": _OWN.kind, "name": own}
    if runtime_ref(train_job.value) == (_OWN.kind, own):
        yield train_job
    else:
        spec = {**train_job.value["spec"], "runtimeRef": ref}
        yield replace(train_job, value={**train_job.value, "spec": spec}, text=None)


def _as_own(runtime: JsonObject, name: str) -> JsonObject:
    """Return a TrainingRuntime of that name, with the labels and the spec of `runtime`."""
    if (runtime["kind"], metadata(runtime).get("name")) == (_OWN.kind, name):
        return runtime
    labels = metadata(runtime).get("labels")
    return {
        "apiVersion": runtime["apiVersion"],
        "kind": _OWN.kind,
        "metadata": {"name": name, **({"labels": labels} if labels else {})},
        "spec": runtime.get("spec"),
    }


def _unless_same(manifest: Manifest, value: JsonObject) -> Manifest:
    """Return the manifest with that value; the same one, with its comments, if nothing changes."""
    return manifest if manifest.value == value else replace(manifest, value=value, text=None)
