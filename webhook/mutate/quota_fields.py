"""What says that quota was granted: spec.suspend turning false, and podSetInfos."""

from collections.abc import Iterator
from typing import Final

from shared.api.admission_warning import AdmissionWarning
from shared.api.json import JsonObject, JsonValue
from shared.api.names import LABEL_QUEUE_NAME
from shared.config.configuration import AppWrapperConfig
from webhook.admission_review import AdmissionRequest, Operation
from webhook.facts import Facts
from webhook.json_equality import first_difference
from webhook.json_patch import Change, RemoveField, SetField
from webhook.metadata import label
from webhook.stored_components import component_pairs, is_suspended, spec_of

_SUSPEND: Final = ("spec", "suspend")
_NOT_STARTED: Final = (
    "spec.suspend is put back to true: only Kueue starts a queued AppWrapper, "
    "or an admin who writes suspend: false"
)


def keep_quota_fields(
    request: AdmissionRequest, facts: Facts
) -> Iterator[Change | AdmissionWarning]:
    """What says that quota was granted: spec.suspend turning false, and podSetInfos.

    On UPDATE, where quota is at stake: suspend and podSetInfos as stored, and a warning.

    Whoever suspends may clear podSetInfos, since nothing starts without them. What a request leaves
    out is put back for an admin too, so that `kubectl replace` of a file starts nothing; what an
    admin states is done.

    They are Kueue's, or an admin's. Under the Go operator `kubectl replace` of a queued AppWrapper,
    or one patch by its user, ran it without quota.
    """
    if _is_quota_manager(request, facts.config) or not is_quota_at_stake(request, facts):
        return
    if _starts(request) and not (facts.is_admin and _states_start(request)):
        yield SetField(_SUSPEND, True)
        yield AdmissionWarning(_NOT_STARTED)
    if facts.is_admin:
        return
    for index, stored in _rewritten_infos(request):
        path = ("spec", "components", index, "podSetInfos")
        as_stored = SetField(path, stored.get("podSetInfos"))
        yield as_stored if "podSetInfos" in stored else RemoveField(path)
        field = f"spec.components[{index}].podSetInfos"
        yield AdmissionWarning(
            f"{field} is put back: only Kueue starts a queued AppWrapper and writes this"
        )


def is_quota_at_stake(request: AdmissionRequest, facts: Facts) -> bool:
    """An AppWrapper of no queue belongs to its user, save in a team's namespace."""
    return facts.is_team_namespace or bool(label(request.old_object, LABEL_QUEUE_NAME))


def needs_admin_answer(request: AdmissionRequest, config: AppWrapperConfig) -> bool:
    """Whether `keep_quota_fields` depends on Facts.is_admin, if quota is at stake.

    Kueue's requests never do, nor does a file that is applied or replaced unchanged.
    """
    if request.operation is not Operation.UPDATE or _is_quota_manager(request, config):
        return False
    return (_starts(request) and _states_start(request)) or any(_rewritten_infos(request))


def _is_quota_manager(request: AdmissionRequest, config: AppWrapperConfig) -> bool:
    return request.user.name in config.exemptions.quota_managers


def _starts(request: AdmissionRequest) -> bool:
    """An absent suspend means false: Kueue's own requests leave it out."""
    return is_suspended(request.old_object) and not is_suspended(request.object)


def _states_start(request: AdmissionRequest) -> bool:
    return spec_of(request.object).get("suspend") is False


def _rewritten_infos(request: AdmissionRequest) -> Iterator[tuple[int, JsonObject]]:
    """Index and stored form of each component whose podSetInfos the request changes.

    One that says nothing drops them: that is for keep_components.
    """
    for index, (stored, sent) in enumerate(component_pairs(request)):
        before, after = _infos(stored), _infos(sent)
        if after and first_difference(before, after) is not None:
            yield index, stored


def _infos(component: JsonObject) -> JsonValue:
    """None where there are none; null and [] are none."""
    return component.get("podSetInfos") or None
