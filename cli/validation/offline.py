"""Validate objects by the webhook's own rules, with assumed facts about the cluster."""

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Final

from cli.command import CommandError
from cli.manifests.manifest import Manifest
from cli.shipped.data import FOLDER, OVERLAYS, pod_schema
from cli.validation.component_values import value_errors
from cli.validation.fields import corrected
from cli.validation.report import Validated, ValidatedObject, Validity, validated_as
from shared.api.names import ANNOTATION_SUBMITTED_BY, LABEL_USER, LABEL_USERID
from shared.api.objects import APPWRAPPERS, JsonObject, annotation, label, metadata
from shared.config.configuration import AppWrapperConfig
from shared.config.loading import ConfigError, load_config
from shared.pod_schema.pod_schema import PodSchema
from webhook.admission_review import User
from webhook.creation import Judgement, judge_creation
from webhook.registration import is_asked_about
from webhook.rules.submission import Facts

_DEFAULT_NAMESPACE: Final = "default"
# The assumed creator of an object that names no user.
_SOMEBODY: Final = "somebody"
# Known Kinds without a namespace: the API server never calls the webhook for them.
_CLUSTER_SCOPED: Final = {
    "Namespace",
    "Node",
    "PersistentVolume",
    "admissionregistration.k8s.io/MutatingWebhookConfiguration",
    "admissionregistration.k8s.io/ValidatingAdmissionPolicy",
    "admissionregistration.k8s.io/ValidatingAdmissionPolicyBinding",
    "admissionregistration.k8s.io/ValidatingWebhookConfiguration",
    "apiextensions.k8s.io/CustomResourceDefinition",
    "rbac.authorization.k8s.io/ClusterRole",
    "rbac.authorization.k8s.io/ClusterRoleBinding",
    "scheduling.k8s.io/PriorityClass",
    "storage.k8s.io/StorageClass",
    "kueue.x-k8s.io/ClusterQueue",
    "kueue.x-k8s.io/ResourceFlavor",
    "kueue.x-k8s.io/WorkloadPriorityClass",
}


@cache
def configuration(config: str) -> AppWrapperConfig:
    """Return the configuration of an overlay or a file. Raises CommandError."""
    file = str(FOLDER / f"{config}.yaml") if config in OVERLAYS else config
    try:
        found = load_config(file).config.appwrapper
    except ConfigError as error:
        raise CommandError(str(error)) from error
    return _with_recorder(found) if config in OVERLAYS else found


def _with_recorder(config: AppWrapperConfig) -> AppWrapperConfig:
    """Assume that the cluster's admin named an image of the recorder, which no overlay does."""
    tolerance = config.fault_tolerance
    errors = tolerance.error_aggregation.model_copy(update={"recorder_image": "assumed"})
    tolerance = tolerance.model_copy(update={"error_aggregation": errors})
    return config.model_copy(update={"fault_tolerance": tolerance})


def rules(config: str) -> str:
    """Describe the applied rules, for the report."""
    named = f"configuration {config}" if config in OVERLAYS else config
    return (
        f"the webhook's rules under {named}, with the pod schema of Kubernetes"
        f" {pod_schema().version}"
    )


def not_checked(*, team_namespace: bool) -> tuple[str, ...]:
    """Return the checks that need a cluster."""
    if team_namespace:
        assumed = "assumed, which is stricter (--no-team-namespace assumes that it is not)"
    else:
        assumed = "assumed that it is not (--no-team-namespace)"
    return (
        f"whether the namespace is a team's: {assumed}",
        "whether AppWrappers without a namespace are created in the one that their components name",
        "whether you may create what AppWrappers wrap, and are the user that they name",
        "whether LocalQueues and priority classes exist, and an image of the recorder",
        "what the API server requires of each Kind: its fields, their values, names",
    )


def judgement(
    target: JsonObject, namespace: str, config: str, *, team_namespace: bool = True
) -> Judgement:
    """Apply the webhook's rules as in a namespace whose user may create everything.

    The creator is the user that the object names, so that no warning names another user.
    `namespace`: "" for "default". `config`: an overlay or a file. Raises CommandError.
    """
    facts = replace(_facts(config), is_team_namespace=team_namespace)
    named = annotation(target, ANNOTATION_SUBMITTED_BY) or label(target, LABEL_USER)
    user = User(named or _SOMEBODY, label(target, LABEL_USERID) or "")
    return judge_creation(target, namespace or _DEFAULT_NAMESPACE, user, facts)


def validated(
    manifest: Manifest, namespace: str, config: str, *, team_namespace: bool
) -> Validated:
    """Validate one object. Raises CommandError for a wrong configuration.

    `namespace`: "" to use the object's own, else a component's.
    """
    if wrong := list(_malformed(manifest, namespace)):
        return validated_as(manifest, wrong)
    kind, sound = manifest.group_kind, corrected(manifest.value)
    if sound.errors and (kind in _CLUSTER_SCOPED or not is_asked_about(kind)):
        return validated_as(manifest, sound.errors)
    if kind in _CLUSTER_SCOPED or not is_asked_about(kind):
        why = "the API server does not call the webhook for this Kind"
        return ValidatedObject.of(manifest, Validity.NOT_JUDGED, why), []
    own = metadata(manifest.value).get("namespace")
    if not isinstance(own, str) or not own:
        own = namespace or next(_namespaces_inside(manifest), "")
    found = judgement(sound.value, own, config, team_namespace=team_namespace)
    errors = [*sound.errors, *(found.denied.reasons if found.denied else ())]
    if kind == APPWRAPPERS.gvk.group_kind:
        errors += value_errors(sound.value)
    return validated_as(manifest, errors, found.warnings, written=sound.as_written)


@cache
def _facts(config: str) -> Facts:
    schema = PodSchema(pod_schema().definitions)
    return Facts(configuration(config), pod_schema=schema, is_team_namespace=True)


def _malformed(manifest: Manifest, namespace: str) -> Iterator[str]:
    for key in ("apiVersion", "kind"):
        found = manifest.value.get(key)
        if not isinstance(found, str) or not found:
            yield f"{key}: Required value: every object has one"
    own = manifest.value.get("metadata")
    if not isinstance(own, dict):
        yield "metadata: Required value: every object has a name in it"
    elif not manifest.name:
        yield "metadata.name: Required value: name or generateName"
    elif namespace and own.get("namespace") not in (None, "", namespace):
        found = own["namespace"]
        yield f'metadata.namespace: Invalid value: "{found}": --namespace is {namespace}'


def _namespaces_inside(manifest: Manifest) -> Iterator[str]:
    """Yield the namespaces that the components of an AppWrapper name."""
    spec = manifest.value.get("spec")
    components = spec.get("components") if isinstance(spec, dict) else None
    for component in components if isinstance(components, list) else ():
        template = component.get("template") if isinstance(component, dict) else None
        found = metadata(template if isinstance(template, dict) else None).get("namespace")
        if isinstance(found, str) and found:
            yield found
