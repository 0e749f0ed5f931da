"""What the API server and this webhook make of an object that is created: both halves at once.

For whoever judges without an API server: the order is the API server's, the rules are the chain's.
Pure.
"""

from dataclasses import dataclass

from shared.api.objects import GroupVersionKind, JsonObject, metadata
from webhook import chain
from webhook.admission_review import AdmissionRequest, Operation, User
from webhook.rules.json_patch import applied
from webhook.rules.submission import Facts
from webhook.verdicts import Allowed, Denied, Patched, Verdict


@dataclass(frozen=True, slots=True)
class Judgement:
    """`stored` is the object as mutation leaves it. `denied` is None where it may be created."""

    stored: JsonObject
    denied: Denied | None
    warnings: tuple[str, ...]


def judge_creation(sent: JsonObject, namespace: str, user: User, facts: Facts) -> Judgement:
    """An AppWrapper, or what somebody creates without wrapping it. `sent` has apiVersion and kind.

    The webhook is asked about it in reality, too: match conditions are the caller's to know.
    """
    first = _verdict(_request(sent, namespace, user), facts, is_mutation=True)
    if isinstance(first, Denied):
        return Judgement(sent, first, first.warnings)
    stored = applied(sent, first.patch) if isinstance(first, Patched) else sent
    second = _verdict(_request(stored, namespace, user), facts, is_mutation=False)
    # What both halves say is shown once, as the API server does.
    warnings = tuple(dict.fromkeys((*first.warnings, *second.warnings)))
    return Judgement(stored, second if isinstance(second, Denied) else None, warnings)


def _verdict(
    request: AdmissionRequest, facts: Facts, *, is_mutation: bool
) -> Allowed | Patched | Denied:
    verdict: Verdict
    if chain.is_judged(request):
        judge = chain.mutate if is_mutation else chain.validate
        verdict = chain.refused_first(request, facts.config) or judge(request, facts)
    else:
        judge = chain.mutate_direct_kind if is_mutation else chain.validate_direct_kind
        verdict = judge(request, facts)
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
