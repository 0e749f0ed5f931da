"""A component that is itself the reason of its refusal ends the AppWrapper at once."""

import pytest

from controller.facts.refused_creates import is_definite

WEBHOOK = 'admission webhook "v.kb.io" denied the request: '
OF_THE_COMPONENT = [
    f"{WEBHOOK}spec.enableInTreeAutoscaling: Invalid value: true: not supported",
    f"{WEBHOOK}[spec.a: Required value: must be set, spec.b: Too many: 9: at most 8]",
    f"{WEBHOOK}spec.a: Required value",
    f"{WEBHOOK}spec.network: Forbidden: the Job needs a subdomain",
    f'{WEBHOOK}metadata.labels[a]: Unsupported value: "b": supported values: "c"',
    f"{WEBHOOK}the spec is invalid\nspec.names[1]: Duplicate value: 5",
    f"{WEBHOOK}metadata.name: Too long: may not be more than 47 bytes",
    'pods "a" is forbidden: violates PodSecurity "baseline:latest": privileged',
]


@pytest.mark.parametrize("message", OF_THE_COMPONENT)
def test_a_refusal_of_the_component_itself_is_definite(message: str) -> None:
    assert is_definite(403, message)


@pytest.mark.parametrize("status", [401, 404, 408, 409, 429, 500, 503])
def test_another_status_is_not_definite_whatever_the_message(status: int) -> None:
    assert not any(is_definite(status, message) for message in OF_THE_COMPONENT)


@pytest.mark.parametrize(
    "message",
    [
        f"{WEBHOOK}no label 'team'",
        f"{WEBHOOK}Forbidden",
        f"{WEBHOOK}user a: Forbidden by policy b",
        f"{WEBHOOK}spec.a: Forbiddenness: 1",
        f"{WEBHOOK}spec.queue: Not found: a",
        f"{WEBHOOK}spec.queue: Internal error: no answer",
        'pods "a" is forbidden: exceeded quota: q, used: pods=2, limited: pods=2',
        'pods "a" is forbidden: error looking up service account t/a: "a" not found',
        'pods is forbidden: User "u" cannot create resource "pods" in API group ""',
        "spec.a: Invalid value: 1: of no webhook",
        f'{WEBHOOK}spec.RuntimeRef: Invalid value: {{"name":"a"}}: TrainingRuntime "a" not found: '
        "specified trainingRuntime must be created before the TrainJob is created",
        "",
    ],
)
def test_a_refusal_that_an_admin_can_lift_is_not_definite(message: str) -> None:
    assert not is_definite(403, message)


@pytest.mark.parametrize("status", [400, 413, 422])
def test_a_malformed_too_large_or_invalid_component_is_refused_for_good(status: int) -> None:
    assert is_definite(status, "")
