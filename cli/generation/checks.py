"""Rules about several values together. They run only if each single value is valid."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from cli.generation.job import (
    GENERATED_VOLUMES,
    MAIN_CONTAINER,
    VARIABLE_SOURCES,
    generated_variables,
    mounted_volumes,
)
from cli.generation.one_command import HereDocument, one_command
from cli.generation.parsed_values import Path, dotted
from cli.generation.value_types import Keys
from cli.generation.values import Values
from shared.api.findings import FieldError, FieldErrorKind
from shared.api.names import LABEL_QUEUE_NAME
from shared.api.quantities import parse_quantity
from shared.waits.words import joined

_Wrong = tuple[Path, FieldErrorKind, str]
_INVALID: Final = FieldErrorKind.INVALID
_DUPLICATE: Final = FieldErrorKind.DUPLICATE
_FORBIDDEN: Final = FieldErrorKind.FORBIDDEN


def errors_between(values: Values, *, trainer: bool = False) -> Iterator[tuple[Path, FieldError]]:
    """Yield the errors of values that Kubernetes would reject together, with their paths.

    `trainer`: they are for a TrainJob.
    """
    for rule in (*_RULES, *((_restarts,) if trainer else ())):
        for path, kind, detail in rule(values):
            yield path, FieldError(dotted(path), kind, detail)


def _program(values: Values) -> Iterator[_Wrong]:
    try:
        empty = values.main_program is not None and not one_command(values.main_program)
    except HereDocument:
        detail = (
            "must have no here-document (<<), because its lines become one command: write the text"
            " to a file in setupCommands"
        )
        yield ("mainProgram",), _INVALID, detail
        return
    if empty:
        detail = "must name a program: it has only blanks and comments"
        yield ("mainProgram",), _INVALID, detail


def _restarts(values: Values) -> Iterator[_Wrong]:
    if values.restart_policy == "Always":
        detail = "Always: the pods of a TrainJob may only have Never or OnFailure"
        yield ("restartPolicy",), _INVALID, detail


_REQUEST_OF_LIMIT: Final = {
    "limitCpusPerPod": "numCpusPerPod",
    "limitMemoryPerPod": "totalMemoryPerPod",
}


def _limits(values: Values) -> Iterator[_Wrong]:
    gpus = values.num_gpus_per_pod
    if values.limit_gpus_per_pod and values.limit_gpus_per_pod != gpus:
        yield (
            ("limitGpusPerPod",),
            _INVALID,
            f"{values.limit_gpus_per_pod}: must equal numGpusPerPod ({gpus}), because Kubernetes"
            " never gives a pod more GPUs than it requests: remove this key",
        )
    given = values.given()
    for key, request_key in _REQUEST_OF_LIMIT.items():
        limit, request = given.get(key), given[request_key]
        if limit and 0 < parse_quantity(limit) < parse_quantity(request):
            yield (key,), _INVALID, f"{limit}: must be at least {request_key} ({request})"


def _network(values: Values) -> Iterator[_Wrong]:
    if values.num_roce_gdr and values.num_pods == 1:
        detail = f"{values.num_roce_gdr}: must be 0 while numPods is 1: one pod needs no network"
        yield ("numRoceGdr",), _INVALID, detail


def _variables(values: Values) -> Iterator[_Wrong]:
    generated = generated_variables(values)
    for index, each in enumerate(values.environment_variables):
        path = ("environmentVariables", index)
        yield from _only_one(path, each, ("value", *VARIABLE_SOURCES))
        if each.name in generated:
            detail = f"{each.name} is set because of {generated[each.name]}: remove one of them"
            yield (*path, "name"), _FORBIDDEN, detail
    names = (each.name for each in values.environment_variables)
    yield from _doubles("environmentVariables", "name", names)


def _sources(values: Values) -> Iterator[_Wrong]:
    for index, each in enumerate(values.env_from):
        yield from _only_one(("envFrom", index), each, ("secretRef", "configMapRef"))


def _only_one(path: Path, item: Keys, keys: Sequence[str]) -> Iterator[_Wrong]:
    given = item.given()
    present = [key for key in keys if key in given]
    one = f"exactly one of {joined(keys)}"
    if len(present) > 1:
        yield path, _FORBIDDEN, f"has {' and '.join(present)}: it must have {one}"
    elif not present:
        empty = ' (an empty value is written value: "")' if "value" in keys else ""
        yield path, FieldErrorKind.REQUIRED, f"must have {one}{empty}"


def _labels(values: Values) -> Iterator[_Wrong]:
    for index, each in enumerate(values.custom_labels):
        if each.key == LABEL_QUEUE_NAME:
            detail = f"{each.key} is set by queueName: write queueName: {each.value}"
            yield ("customLabels", index), _FORBIDDEN, detail
    yield from _doubles("customLabels", "key", (each.key for each in values.custom_labels))


def _volumes(values: Values) -> Iterator[_Wrong]:
    for index, volume in enumerate(values.volumes):
        if volume.name in GENERATED_VOLUMES:
            detail = f"the name {volume.name} is used by this command: choose another"
            yield ("volumes", index, "name"), _FORBIDDEN, detail
    yield from _doubles("volumes", "name", (each.name for each in values.volumes))
    seen: dict[str, str] = {}
    # Mounts without a key for their path come first, so that the error names a key for a path.
    for each in sorted(mounted_volumes(values), key=lambda each: len(each.key) > 1):
        if each.path in seen:
            yield each.key, _DUPLICATE, f"{each.path}: {seen[each.path]} is mounted there too"
        seen.setdefault(each.path, dotted(each.key))


def _init_containers(values: Values) -> Iterator[_Wrong]:
    for index, each in enumerate(values.init_containers):
        if each.name == MAIN_CONTAINER:
            detail = f"the name {each.name} is that of the main container: choose another"
            yield ("initContainers", index, "name"), _FORBIDDEN, detail
    yield from _doubles("initContainers", "name", (each.name for each in values.init_containers))


def _doubles(list_key: str, item_key: str, names: Iterable[str]) -> Iterator[_Wrong]:
    first: dict[str, int] = {}
    for index, name in enumerate(names):
        if name in first:
            detail = f"{name}: {list_key}[{first[name]}] has it already"
            yield (list_key, index, item_key), _DUPLICATE, detail
        first.setdefault(name, index)


_RULES: Final = (
    _program,
    _limits,
    _network,
    _variables,
    _sources,
    _labels,
    _volumes,
    _init_containers,
)
