"""One case of admission: the object as its user sends it, and the whole answer.

Two runners try every case: the webhook's application in process, and a dry run on a real API
server. `differences` compares what either of them answers.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from shared.api.objects import JsonObject
from tests.support.builders.appwrappers import manifest
from tests.support.builders.wrapped_kinds import pod
from tests.support.cluster.answers import ApiResponse
from tests.support.team import own
from webhook.admission_review import User

TEAM = own("corpus")
ANYWHERE = own("corpus-anywhere")
"""A namespace of no team."""
MEMBERS = (f"{TEAM}-edit-group",)
"""The group that may create everything that the cases contain, in both namespaces."""
ALICE = User("alice", "", MEMBERS)
SCHEDULER = "scheduler-plugins-scheduler"
NAME = "case"
QUEUE = "kueue.x-k8s.io/queue-name"
USER = "workload.codeflare.dev/user"
USERID = "workload.codeflare.dev/userid"
BY = "workload.codeflare.dev/submitted-by"

_GENERATED = re.compile(r'^([^"]*"[^"]*)[a-z0-9]{5}"')
# Kueue's webhooks for AppWrappers have the same names as this project's.
_WEBHOOK = re.compile(
    r'admission webhook "([mv]appwrapper\.kb\.io|[mv]directkinds\.workload\.codeflare\.dev)" '
    r"denied the request: "
)
_STEP = re.compile(r"\[([^\]]*)\]|([^.\[]+)")


@dataclass(frozen=True, slots=True)
class Refused:
    """A refusal: its HTTP code, its whole message, and the errors of an invalid object."""

    code: int
    message: str
    errors: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """The object that `user` creates, or changes by the JSON patch `change` once it is stored.

    `stored` has parts of the object after admission, each under its field path; None is absent.
    """

    name: str
    sent: JsonObject
    change: tuple[JsonObject, ...] = ()
    # True if the change comes while Kueue has admitted the object, not while it waits.
    running: bool = False
    user: User = ALICE
    refused: Refused | None = None
    warnings: tuple[str, ...] = ()
    stored: Mapping[str, Any] = field(default_factory=dict)
    # Why only a real API server gives this answer: it refuses before, or instead of, our webhook.
    only_on_a_server: str = ""


def appwrapper(*components: Any, namespace: str = TEAM, **metadata: Any) -> JsonObject:
    """Builds an AppWrapper in the corpus's team; without components of one Pod."""
    named = {} if "generateName" in metadata else {"name": NAME}
    return manifest(*components or [pod()], **{**named, "namespace": namespace, **metadata})


def invalid(*errors: str, name: str = NAME) -> Refused:
    """Returns the refusal of an invalid AppWrapper with all of its errors."""
    listed = errors[0] if len(errors) == 1 else f"[{', '.join(errors)}]"
    text = f'AppWrapper.workload.codeflare.dev "{name}" is invalid: {listed}'
    return Refused(422, text, errors)


def forbidden(kind: str, reason: str, name: str = NAME) -> Refused:
    """Returns the refusal of an object that is created directly."""
    return Refused(403, f'{kind} "{name}" is forbidden: {reason}')


def differences(case: Case, response: ApiResponse) -> str:
    """Returns how the answer differs from the case's; empty if it does not."""
    expected = {
        "refused": case.refused,
        "warnings": case.warnings,
        "stored": dict(case.stored),
    }
    refused = _refusal(case, response) if response.code >= 300 else None
    found = {
        "refused": refused,
        "warnings": response.warnings,
        "stored": {} if refused else {path: part_of(response.object, path) for path in case.stored},
    }
    return "\n".join(
        f"{case.name}: {key}:\n  expected {expected[key]}\n  got      {found[key]}"
        for key in expected
        if expected[key] != found[key]
    )


def _refusal(case: Case, response: ApiResponse) -> Refused:
    message = _WEBHOOK.sub("", response.message, count=1)
    if "generateName" in case.sent["metadata"]:
        message = _GENERATED.sub(r'\1"', message)
    causes = (response.object.get("details") or {}).get("causes", ())
    errors = tuple(f"{each['field']}: {each['message']}" for each in causes)
    return Refused(response.code, message, errors)


def part_of(found: Any, path: str) -> Any:
    """Returns the value at a path such as `metadata.labels[a/b]`; None if it is absent."""
    for bracketed, plain in _STEP.findall(path):
        step = bracketed or plain
        if isinstance(found, list):
            found = found[int(step)] if int(step) < len(found) else None
        else:
            found = (found or {}).get(step)
    return found
