"""Strict decoding of pod templates, behind the API server."""

from collections.abc import Iterator
from typing import Any

from shared.api.objects import JsonObject
from tests.support.admission_corpus.case import Case, appwrapper, invalid
from tests.support.builders.admission import POD, SERVICE, component
from tests.support.builders.jobs import bare_job, bare_pytorch_job

GOOD: JsonObject = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c"}]}}
_TYPO: JsonObject = {"spec": {"containers": [{"name": "c", "imagee": "i"}]}}
_ILL_TYPED: JsonObject = {"spec": {"containers": [{"name": "c", "tty": "true"}]}}
_UNKNOWN = '.containers[0].imagee: Invalid value: unknown field; did you mean "image"?'
_A_STRING = (
    ".containers[0].tty: Invalid value: must be true or false, but is a string; "
    "write it without quotes"
)
_WORKER = "template.spec.pytorchReplicaSpecs.Worker.template.spec"


def _job(pod_template: Any) -> JsonObject:
    return component(bare_job(pod_template))


def _declared(pod_template: Any) -> JsonObject:
    """A Kind without known pods, with a pod set that names the path to them."""
    return component({**SERVICE, "pods": pod_template}, podSets=[{"path": "template.pods"}])


def _mistakes() -> Iterator[Case]:
    for what, wrong, error in (
        ("an unknown field", _TYPO, _UNKNOWN),
        ("an ill-typed field", _ILL_TYPED, _A_STRING),
    ):
        for place, made, path in (
            ("a Job", _job(wrong), "template.spec.template.spec"),
            ("a worker", component(bare_pytorch_job(Master=GOOD, Worker=wrong)), _WORKER),
            ("a declared pod template", _declared(wrong), "template.pods.spec"),
            ("a Pod", component({**POD, **wrong}), "template.spec"),
        ):
            yield Case(
                name=f"{what} in {place} -> refused with its path",
                sent=appwrapper(made),
                refused=invalid(f"spec.components[0].{path}{error}"),
            )
    yield Case(
        name="mistakes in two components -> both in one refusal",
        sent=appwrapper(_job(_TYPO), POD, component(bare_pytorch_job(Worker=_ILL_TYPED))),
        refused=invalid(
            f"spec.components[0].template.spec.template.spec{_UNKNOWN}",
            f"spec.components[2].{_WORKER}{_A_STRING}",
        ),
    )


_JOB = "the Job needs spec.template: template.spec.template"
_NO_TEMPLATE = {
    "a string as pod template": (_job("x"), f"{_JOB} is a string, not a pod template"),
    "an array as pod template": (_job([GOOD]), f"{_JOB} is an array, not a pod template"),
    "an array as spec of a pod template": (
        _job({"spec": [GOOD]}),
        f"{_JOB} has no spec object, so it is not a pod template",
    ),
    "an array as spec of a Pod": (
        component({**POD, "spec": []}),
        "the Pod needs spec: template has no spec object, so it is not a pod template",
    ),
}


def _no_templates() -> Iterator[Case]:
    for name, (made, error) in _NO_TEMPLATE.items():
        yield Case(
            name=f"{name} -> refused",
            sent=appwrapper(made),
            refused=invalid(f"spec.components[0].template: Invalid value: {error}"),
        )


# The API server itself finds these errors, when the pods are created.
_ADMITTED = {
    "nulls": {"metadata": None, "spec": {"containers": [{"name": "c", "env": None, "tty": None}]}},
    "null for a time and for the containers": {
        "metadata": {"creationTimestamp": None},
        "spec": {"containers": None},
    },
    "a restart policy of its own": {
        "spec": {"restartPolicy": "Perhaps", "containers": [{"name": "c"}]}
    },
    "an empty spec": {"spec": {}},
    # New in Kubernetes 1.36: a list in this repository would lack the field.
    "a new field of Kubernetes": {
        "spec": {"schedulingGroup": {"podGroupName": "g"}, "containers": [{"name": "c"}]}
    },
}


def _admitted() -> Iterator[Case]:
    for name, pod_template in _ADMITTED.items():
        for place, wrap in (("a Job", _job), ("a declared pod template", _declared)):
            yield Case(name=f"{name} in {place} -> accepted", sent=appwrapper(wrap(pod_template)))


CASES = (*_mistakes(), *_no_templates(), *_admitted())
