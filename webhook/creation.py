"""Run mutation and validation for an object that is created, in the API server's order.

The CLI uses it to check objects without an API server. The rules are the chain's. Pure.
"""

from dataclasses import dataclass

from shared.api.objects import GroupVersionKind, JsonObject, metadata
from webhook.admission_review import AdmissionRequest, Operation, User
from webhook.chain import check_size_limits, mutate, validate
from webhook.rules.json_patch import applied
from webhook.rules.submission import Facts
from webhook.verdicts import Allowed, Denied, Patched


@dataclass(frozen=True, slots=True)
class Judgement:
    """The result for one object: `stored` after mutation; `denied` is None if it is admitted."""

    stored: JsonObject
    denied: Denied | None
    warnings: tuple[str, ...]


def judge_creation(sent: JsonObject, namespace: str, user: User, facts: Facts) -> Judgement:
    """Check an AppWrapper or a directly created object. `sent` has apiVersion and kind.

    The caller evaluates the match conditions: the API server would call the webhook for `sent`.
    """
    first = _verdict(_request(sent, namespace, user), facts, is_mutation=True)
    if isinstance(first, Denied):
        return Judgement(sent, first, first.warnings)
    stored = applied(sent, first.patch) if isinstance(first, Patched) else sent
    second = _verdict(_request(stored, namespace, user), facts, is_mutation=False)
    # Like the API server, show a warning of both halves once.
    warnings = tuple(dict.fromkeys((*first.warnings, *second.warnings)))
    return Judgement(stored, second if isinstance(second, Denied) else None, warnings)


def _verdict(
    request: AdmissionRequest, facts: Facts, *, is_mutation: bool
) -> Allowed | Patched | Denied:
    judge = mutate if is_mutation else validate
    verdict = check_size_limits(request, facts.config) or judge(request, facts)
    assert isinstance(verdict, Allowed | Patched | Denied), verdict  # no rule errs
    return verdict


def _request(target: JsonObject, namespace: str, user: User) -> AdmissionRequest:
    name = metadata(target).get("name")
    return AdmissionRequest(
        uid="",
        operation=Operation.CREATE,
        group_kind=GroupVersionKind.of(target["apiVersion"], target["kind"]).group_kind,
        subresource="",
        namespace=namespace,
        name=name if isinstance(name, str) else "",
        user=user,
        object=target,
        old_object=None,
    )
