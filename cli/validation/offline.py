"""Validate objects by the webhook's own rules, with assumed facts about the cluster."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Final

from cli.command import CommandError
from cli.manifests.manifest import Manifest
from cli.shipped.data import FOLDER, OVERLAYS, pod_schema
from cli.validation.report import (
    ManifestFinding,
    ValidatedObject,
    Validity,
    findings_in,
)
from shared.api.names import ANNOTATION_SUBMITTED_BY, LABEL_USER, LABEL_USERID
from shared.api.objects import JsonObject, annotation, label, metadata
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
CLUSTER_SCOPED: Final = {
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
        return load_config(file).config.appwrapper
    except ConfigError as error:
        raise CommandError(str(error)) from error


@dataclass(frozen=True, slots=True)
class OfflineJudge:
    """Apply the webhook's rules as in a namespace whose user may create everything.

    `config`: an overlay or a file. `namespace`: "" to use the namespaces of the objects.
    """

    config: str
    namespace: str = ""
    team_namespace: bool = True

    @property
    def rules(self) -> str:
        """The applied rules, for the report."""
        overlay = self.config in OVERLAYS
        named = f"configuration {self.config}" if overlay else self.config
        return (
            f"the webhook's rules under {named}, with the pod schema of Kubernetes"
            f" {pod_schema().version}"
        )

    def judgement(self, target: JsonObject, namespace: str) -> Judgement:
        """Apply the webhook's rules for a creation. Raises CommandError for a wrong configuration.

        The creator is the user that the object names, so that no warning names another user.
        """
        facts = replace(_facts(self.config), is_team_namespace=self.team_namespace)
        named = annotation(target, ANNOTATION_SUBMITTED_BY) or label(target, LABEL_USER)
        user = User(named or _SOMEBODY, label(target, LABEL_USERID) or "")
        return judge_creation(target, namespace, user, facts)

    def judged(self, manifest: Manifest) -> tuple[ValidatedObject, list[ManifestFinding]]:
        """Validate one object. Raises CommandError for a wrong configuration."""
        if wrong := list(_malformed(manifest)) or list(self._in_another_namespace(manifest)):
            found = findings_in(manifest, wrong)
            return ValidatedObject.of(manifest, Validity.REFUSED), found
        if why := _why_not_asked(manifest):
            return ValidatedObject.of(manifest, Validity.NOT_JUDGED, why), []
        judgement = self.judgement(manifest.value, self._namespace_of(manifest))
        errors = judgement.denied.reasons if judgement.denied else ()
        outcome = Validity.REFUSED if judgement.denied else Validity.VALID
        found = findings_in(manifest, errors, judgement.warnings)
        return ValidatedObject.of(manifest, outcome), found

    def _namespace_of(self, manifest: Manifest) -> str:
        """Return the object's namespace, else the option's, else a component's."""
        own = metadata(manifest.value).get("namespace")
        if isinstance(own, str) and own:
            return own
        return self.namespace or next(namespaces_inside(manifest), _DEFAULT_NAMESPACE)

    def _in_another_namespace(self, manifest: Manifest) -> Iterator[str]:
        own = metadata(manifest.value).get("namespace")
        if own and self.namespace and own != self.namespace:
            yield f'metadata.namespace: Invalid value: "{own}": --namespace is {self.namespace}'


@cache
def _facts(config: str) -> Facts:
    schema = PodSchema(pod_schema().definitions)
    return Facts(configuration(config), pod_schema=schema, is_team_namespace=True)


def _malformed(manifest: Manifest) -> Iterator[str]:
    for key in ("apiVersion", "kind"):
        found = manifest.value.get(key)
        if not isinstance(found, str) or not found:
            yield f"{key}: Required value: every object has one"
    own = manifest.value.get("metadata")
    if not isinstance(own, dict):
        yield "metadata: Required value: every object has a name in it"
    elif not manifest.name:
        yield "metadata.name: Required value: name or generateName"


def _why_not_asked(manifest: Manifest) -> str | None:
    if manifest.group_kind in CLUSTER_SCOPED:
        return "it is cluster-scoped: the API server does not call the webhook for it"
    if not is_asked_about(manifest.group_kind):
        return "the API server does not call the webhook for this Kind"
    return None


def namespaces_inside(manifest: Manifest) -> Iterator[str]:
    """Yield the namespaces that the components of an AppWrapper name."""
    spec = manifest.value.get("spec")
    components = spec.get("components") if isinstance(spec, dict) else None
    for component in components if isinstance(components, list) else ():
        template = component.get("template") if isinstance(component, dict) else None
        found = metadata(template if isinstance(template, dict) else None).get("namespace")
        if isinstance(found, str) and found:
            yield found
