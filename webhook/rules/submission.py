"""Read the input of rules: a request's components, sent and stored, and the facts around it."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

from shared.api.findings import FieldError, FieldErrorKind
from shared.api.objects import JsonObject, JsonValue
from shared.kinds.kind import ROOT, Kind, PodSet, PodSetError, declared_pod_sets, template_at
from shared.kinds.table import (
    BY_GROUP_KIND,
    component_pod_sets,
    every_pod_template,
    has_more_templates,
    inferred_pod_sets,
    makes_pods,
    unreadable,
)
from shared.kinds.uncounted_pods import Counter
from shared.pod_schema.pod_schema import PodSchema
from webhook.admission_review import APPWRAPPER, AdmissionRequest
from webhook.rules.malformed_components import problem_of

if TYPE_CHECKING:
    from shared.config.configuration import AppWrapperConfig


class CannotGather(Exception):
    """Raised if a fact is missing, so that the webhook cannot check the request.

    The message names the fact for the user. The failure is the webhook's, not the user's.
    """


@dataclass(frozen=True, slots=True)
class Facts:
    """The facts for one request. Fields that no rule needs keep their default."""

    config: "AppWrapperConfig"
    # None if the request needs no check of pod templates; `check_pod_templates` fails without one.
    pod_schema: PodSchema | None = None
    # True if the request's namespace matches `teamNamespaceSelector`.
    is_team_namespace: bool = False
    # The names of the cluster's PriorityClasses. None if no rule needs them, or without a cluster.
    priority_classes: frozenset[str] | None = None
    # True if the requester may do everything everywhere. Gathered only if a rule depends on it.
    is_admin: bool = False
    # Wrapped Kinds, as (apiVersion, kind), that the requester may not create in the request's
    # namespace, each with the API server's reason.
    denied_kinds: Mapping[tuple[str, str], str] = field(default_factory=dict)
    # True if the requester is a part of the platform; for directly created objects.
    is_platform: bool = False


# The components of an AppWrapper, parsed once for all rules: each an object of some Kind.


@dataclass(frozen=True)
class SubmittedComponent:
    """One element of spec.components whose template is an object with apiVersion and kind.

    `path` is the element's path in messages; `raw` is the whole element. `record` is that of its
    Kind; None also if the record cannot read the template, for which `components_of` rejects it.

    An object that a team's user creates directly is a component, too: `template` is the object, and
    it has neither `path` nor `raw`.

    Its pod sets and pod templates are read once for all rules.
    """

    path: str
    raw: JsonObject
    template: JsonObject
    group: str
    kind: str
    record: Kind | None

    @property
    def api_version(self) -> str:
        """Return `group/version`, or `version` in the core group."""
        found: str = self.template["apiVersion"]
        return found

    @property
    def group_kind(self) -> str:
        """Return `group/Kind`, or `Kind` in the core group, as configuration and messages do."""
        return f"{self.group}/{self.kind}" if self.group else self.kind

    @property
    def is_direct(self) -> bool:
        return not self.path

    def place(self, path: str) -> str:
        """Return, for messages, a path that begins at the component (`template.spec`)."""
        return in_object(path) if self.is_direct else f"{self.path}.{path}"

    @cached_property
    def inferred(self) -> tuple[PodSet, ...] | None:
        """Return the pod sets that Kueue infers, as `inferred_pod_sets` does. Raise PodSetError."""
        return inferred_pod_sets(self.template)

    @cached_property
    def pod_sets(self) -> tuple[PodSet, ...]:
        """Return the declared or else the inferred pod sets; () if they cannot be read.

        A directly created object has none.
        """
        if self.is_direct:
            return ()
        try:
            return declared_pod_sets(self.raw) or self.inferred or ()
        except PodSetError:
            return ()

    @cached_property
    def pod_templates(self) -> tuple[tuple[str, JsonObject], ...]:
        """Return the templates of the pod sets, each once after its path in the component.

        For a Pod the Pod itself. Omit unreadable ones: `pod_set_paths` reports these.
        """
        return tuple(templates_of(self, self.pod_sets))

    @cached_property
    def other_pod_templates(self) -> tuple[tuple[str, JsonObject], ...]:
        """Return the pod templates that no pod set covers although pods may use them.

        A directly created object has no pod sets, so these are all of its templates.
        """
        kind = self.record
        if kind is None:
            return ()
        if kind.inferred and not (self.is_direct or has_more_templates(kind, self.template)):
            return ()  # the usual case
        counted = {path for path, _template in self.pod_templates}
        templates = every_pod_template(kind, self.template)
        return tuple(each for each in templates if each[0] not in counted)

    @property
    def all_pod_templates(self) -> tuple[tuple[str, JsonObject], ...]:
        """Return every readable pod template after its path, covered by a pod set or not."""
        return self.pod_templates + self.other_pod_templates


def components_of(target: JsonObject) -> tuple[list[SubmittedComponent], list[FieldError]]:
    """Reject malformed components, and those that the record of their Kind cannot read.

    Read the others once for all rules. Return the components that rules can check, and the errors.
    An unreadable component is among both: other rules still check the rest of it.

    The CRD's schema rejects most malformed components too; the webhook does not rely on that.
    """
    spec = target.get("spec")
    elements = spec.get("components") if isinstance(spec, dict) else None
    path = "spec.components"
    if elements is None or elements == []:
        detail = "an AppWrapper must contain at least one component"
        return [], [FieldError(path, FieldErrorKind.REQUIRED, detail)]
    if not isinstance(elements, list):
        return [], [FieldError(path, FieldErrorKind.INVALID, "must be an array")]
    components: list[SubmittedComponent] = []
    errors: list[FieldError] = []
    for index, element in enumerate(elements):
        parsed, error = _component(f"{path}[{index}]", element)
        components += [parsed] if parsed else []
        errors += [error] if error else []
    return components, errors


def _component(
    path: str, element: JsonValue
) -> tuple[SubmittedComponent | None, FieldError | None]:
    if error := problem_of(path, element):
        return None, error
    template: JsonObject = element["template"]
    group = template["apiVersion"].rpartition("/")[0]
    component = SubmittedComponent(path, element, template, group, template["kind"], None)
    if error := unreadable(template, Counter.WRAPPED):
        return component, replace(error, path=f"{path}.{error.path}")
    return replace(component, record=BY_GROUP_KIND.get(component.group_kind)), None


# The input of rules: the request, its components, and the facts around it.


class Submission:
    """The input of every rule: the request and the facts. Components are parsed once, if needed."""

    def __init__(self, request: AdmissionRequest, facts: Facts) -> None:
        self.request = request
        self.facts = facts

    @property
    def config(self) -> "AppWrapperConfig":
        return self.facts.config

    @property
    def object(self) -> JsonObject:
        return self.request.object

    @property
    def old_object(self) -> JsonObject | None:
        """Return the stored object; None on CREATE."""
        return self.request.old_object

    @property
    def components(self) -> list[SubmittedComponent]:
        """Return the well-formed components."""
        return self._parsed[0]

    @property
    def malformed(self) -> list[FieldError]:
        """Return the errors of the other components: counts are too low if there is any."""
        return self._parsed[1]

    @cached_property
    def of_team(self) -> list[SubmittedComponent]:
        """Return the components of a team's AppWrapper, or its directly created object.

        [] outside of team namespaces, and for an object that `direct_kind` does not return.
        """
        if self.request.group_kind == APPWRAPPER:
            return self.components if self.facts.is_team_namespace else []
        if (kind := direct_kind(self)) is None:
            return []
        resource = kind.resource
        return [SubmittedComponent("", {}, self.object, resource.group, resource.kind, kind)]

    @cached_property
    def _parsed(self) -> tuple[list[SubmittedComponent], list[FieldError]]:
        return components_of(self.object)


# The pods of a component, for rules that ignore unreadable pod sets.


def templates_of(
    component: SubmittedComponent, pod_sets: Iterable[PodSet]
) -> Iterator[tuple[str, JsonObject]]:
    """Yield the readable pod templates of these pod sets, each once after its path.

    Many paths can name one large template: `[0]` and `[00]` are the same.
    """
    seen: set[int] = set()
    for pod_set in pod_sets:
        try:
            template = template_at(component.template, pod_set.path)
        except PodSetError:
            continue
        if id(template) not in seen:
            seen.add(id(template))
            yield pod_set.path, template


def has_pods(component: JsonObject) -> bool:
    """True if an element of spec.components has readable pod sets, or makes another one's pods."""
    try:
        return bool(component_pod_sets(component)) or makes_pods(component["template"])
    except PodSetError:
        return False


# Directly created objects.


def direct_kind(submission: Submission) -> Kind | None:
    """Return the record of an allowed Kind that a team's user creates directly; None otherwise.

    Allowed Kinds without a record are not checked. None also if the record cannot read the object:
    `check_readable_directly` rejects it.
    """
    if not is_checked_directly(submission) or unreadable(submission.object, Counter.DIRECT):
        return None
    return BY_GROUP_KIND.get(submission.request.group_kind)


def is_checked_directly(submission: Submission) -> bool:
    """True if a team's user creates an object of an allowed Kind directly."""
    facts, group_kind = submission.facts, submission.request.group_kind
    allowed = facts.config.allowed_kinds.direct
    return facts.is_team_namespace and not facts.is_platform and group_kind in allowed


def in_object(path: str) -> str:
    """Return a path of a component's template as the path in a directly created object."""
    return path.removeprefix(f"{ROOT}.")


# The stored components of an AppWrapper beside the sent ones of an UPDATE.


def component_pairs(request: AdmissionRequest) -> list[tuple[JsonObject, JsonObject]]:
    """Return stored and sent components by index; {} replaces one that is no object.

    Return [] if their numbers differ: validation rejects that.
    """
    stored, sent = elements_of(request.old_object), elements_of(request.object)
    if len(stored) != len(sent):
        return []
    return [(_object(old), _object(new)) for old, new in zip(stored, sent, strict=True)]


def is_suspended(target: JsonObject | None) -> bool:
    """True if spec.suspend is true; Kueue removes the field when it starts an AppWrapper."""
    return spec_of(target).get("suspend") is True


def spec_of(target: JsonObject | None) -> JsonObject:
    """Return the spec; {} if there is none."""
    return _object(target.get("spec")) if target is not None else {}


def elements_of(target: JsonObject | None) -> list[JsonValue]:
    """Return the elements of spec.components, unchecked; [] if it is no array."""
    components = spec_of(target).get("components")
    return components if isinstance(components, list) else []


def _object(value: JsonValue) -> JsonObject:
    return value if isinstance(value, dict) else {}


# The components of a new AppWrapper, for rules that change them.


def submitted_components(
    request: AdmissionRequest,
) -> Iterator[tuple[int, JsonObject, JsonObject]]:
    """Yield index in spec.components, component, and its template.

    Omit malformed components: they stay as they are, and validation rejects them.
    """
    for index, component in enumerate(elements_of(request.object)):
        template = component.get("template") if isinstance(component, dict) else None
        if isinstance(template, dict):
            yield index, component, template
