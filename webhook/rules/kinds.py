"""Which Kinds may be wrapped or created directly, where, and by whom."""

from collections.abc import Iterator, Sequence
from typing import Final

from shared.api import names
from shared.api.findings import FieldError, FieldErrorKind
from shared.api.objects import metadata
from shared.config.configuration import AppWrapperConfig
from webhook.admission_review import AdmissionRequest
from webhook.rules.submission import Component, Facts, Submission, components_of


def is_appwrapper(component: Component) -> bool:
    """In whatever version of the API."""
    return (component.group, component.kind) == (names.GROUP, names.KIND)


def check_nesting(submission: Submission) -> Iterator[FieldError]:
    """No AppWrapper inside an AppWrapper.

    Forbidden, however the allowed Kinds are configured: quota would be counted twice.
    """
    for component in submission.components:
        if is_appwrapper(component):
            yield FieldError(
                f"{component.path}.template",
                FieldErrorKind.FORBIDDEN,
                "an AppWrapper cannot contain another AppWrapper",
            )


def check_component_namespace(submission: Submission) -> Iterator[FieldError]:
    """Everything an AppWrapper creates lives in the AppWrapper's own namespace.

    A namespace that is absent, null or empty is the AppWrapper's; any other must equal it.
    """
    own = submission.request.namespace
    for component in submission.components:
        namespace = metadata(component.template).get("namespace")
        if namespace is None or namespace in ("", own):
            continue
        yield FieldError(
            f"{component.path}.template.metadata.namespace",
            FieldErrorKind.FORBIDDEN,
            f"an AppWrapper in namespace {own} cannot create resources in another namespace",
        )


def check_allowed_kinds(submission: Submission) -> Iterator[FieldError]:
    """Which Kinds may be wrapped: configuration `allowedKinds.wrapped`.

    Forbidden unless listed, or the list has '*'. An AppWrapper has a rule of its own.
    """
    allowed = submission.config.allowed_kinds.wrapped
    for component in submission.components:
        if may_be_wrapped(component, allowed) or is_appwrapper(component):
            continue
        yield FieldError(
            f"{component.path}.template",
            FieldErrorKind.FORBIDDEN,
            f"{component.group_kind} may not be wrapped; allowed are {', '.join(allowed)}",
        )


def may_be_wrapped(component: Component, allowed: tuple[str, ...]) -> bool:
    """Whether `allowed` has the component's Kind, in whatever version, or every Kind."""
    return is_listed(component.group_kind, allowed)


def is_listed(group_kind: str, allowed: tuple[str, ...]) -> bool:
    """Whether a list of configuration `allowedKinds` has a Kind, or every Kind."""
    return group_kind in allowed or "*" in allowed


WRAPPING: Final = "appwrapper pack FILE | kubectl apply -f -"


def check_direct_kind(request: AdmissionRequest, facts: Facts) -> Iterator[str]:
    """What a team's users may create without wrapping it: configuration `allowedKinds.direct`.

    Why the object may not be created as it is, and what to do instead.

    The API server asks only about team namespaces, and not about Kinds that are allowed and hold no
    pods, nor for whoever keeps the cluster going: see `registration.py`.
    """
    allowed = facts.config.allowed_kinds
    if facts.is_platform or is_listed(request.group_kind, allowed.direct):
        return
    if is_listed(request.group_kind, allowed.wrapped):
        yield (
            "in a team's namespace it has to be wrapped, so that it is queued and its quota is "
            f"counted: {WRAPPING}"
        )
    else:
        yield (
            "in a team's namespace it may neither be created nor be wrapped; allowed are "
            f"{', '.join(allowed.direct)}, and wrapped {', '.join(allowed.wrapped)}"
        )


# Kinds of one AppWrapper, each in its version. Each costs the API server a question, and nobody
# wraps as many.
MOST_KINDS: Final = 64


def check_access(submission: Submission) -> Iterator[FieldError]:
    """Nobody gets by wrapping what they may not create: configuration `userRBACAdmissionCheck`.

    Forbidden for every component of a Kind that the user may not create in this namespace.

    Whether they may was asked before (`gather/access_reviews.py`); here it is told.
    """
    kinds = _kinds(submission.components, submission.config)
    if len(kinds) > MOST_KINDS:
        detail = f"rights to at most {MOST_KINDS} different Kinds can be looked up"
        yield FieldError("spec.components", FieldErrorKind.TOO_MANY, detail, str(len(kinds)))
        return
    denied = submission.facts.denied_kinds
    for component in submission.components:
        reason = denied.get((component.api_version, component.kind))
        if reason is not None:
            yield FieldError(f"{component.path}.template", FieldErrorKind.FORBIDDEN, reason)


def kinds_to_review(request: AdmissionRequest, config: AppWrapperConfig) -> list[tuple[str, str]]:
    """The Kinds, as (apiVersion, kind), about which `check_access` needs an answer; no Kind twice.

    None for Kinds that another rule refuses anyway: that would only tell the user what else exists.
    """
    components, _malformed = components_of(request.object)
    kinds = _kinds(components, config)
    return kinds if len(kinds) <= MOST_KINDS else []


def _kinds(components: Sequence[Component], config: AppWrapperConfig) -> list[tuple[str, str]]:
    if not config.user_rbac_admission_check:
        return []
    allowed = config.allowed_kinds.wrapped
    return list(
        dict.fromkeys(
            (component.api_version, component.kind)
            for component in components
            if may_be_wrapped(component, allowed) and not is_appwrapper(component)
        )
    )
