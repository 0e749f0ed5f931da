"""Validate manifests by the webhook's own rules, without a cluster."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from cli.judging.findings import Finding, Severity, findings
from cli.judging.offline import judge
from cli.manifests.manifest import Manifest
from cli.manifests.places import Place
from cli.shipped.data import OVERLAYS, pod_schema
from cli.validation.report import JudgedObject, Verdict
from shared.api.objects import metadata
from webhook.registration import is_asked_about

_DEFAULT_NAMESPACE: Final = "default"
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


@dataclass(frozen=True, slots=True)
class OfflineOptions:
    """`config`: an overlay or a file. `namespace`: "" to use the namespaces of the objects."""

    config: str
    namespace: str
    team_namespace: bool


def judged_by(options: OfflineOptions) -> str:
    """Describe the applied rules for the report."""
    overlay = options.config in OVERLAYS
    configuration = f"configuration {options.config}" if overlay else options.config
    version = pod_schema().version
    return f"the webhook's rules under {configuration}, with the pod schema of Kubernetes {version}"


def judged(manifest: Manifest, options: OfflineOptions) -> tuple[JudgedObject, list[Finding]]:
    """Validate one object. Raises CommandError for a wrong configuration."""
    malformed = list(_malformed(manifest)) or list(_in_another_namespace(manifest, options))
    if malformed:
        return _outcome(manifest, Verdict.REFUSED), malformed
    if why := _why_not_asked(manifest):
        return _outcome(manifest, Verdict.NOT_JUDGED, why), []
    found = judge(
        manifest.value,
        namespace_of(manifest, options),
        options.config,
        team_namespace=options.team_namespace,
    )
    errors = found.denied.reasons if found.denied else ()
    outcome = Verdict.REFUSED if found.denied else Verdict.VALID
    return _outcome(manifest, outcome), located(manifest, errors, found.warnings)


def located(
    manifest: Manifest, errors: Iterable[str], warnings: Iterable[str] = ()
) -> list[Finding]:
    """Return findings with their places in the file."""

    def locate(path: str) -> tuple[str, Place]:
        return manifest.source, manifest.place_in(path)

    return findings(errors, warnings, manifest.value, locate)


def namespace_of(manifest: Manifest, options: OfflineOptions) -> str:
    """Return the object's namespace, else the option's, else the first that a component names."""
    own = metadata(manifest.value).get("namespace")
    if isinstance(own, str) and own:
        return own
    return options.namespace or next(namespaces_inside(manifest), _DEFAULT_NAMESPACE)


def _outcome(manifest: Manifest, outcome: Verdict, note: str | None = None) -> JudgedObject:
    line = manifest.place().line
    return JudgedObject(
        manifest.source, line, manifest.kind or "object", manifest.name, outcome, note
    )


def _malformed(manifest: Manifest) -> Iterator[Finding]:
    for key in ("apiVersion", "kind"):
        found = manifest.value.get(key)
        if not isinstance(found, str) or not found:
            text = f"{key}: Required value: every object has one"
            yield from located(manifest, [text])
    own = manifest.value.get("metadata")
    if not isinstance(own, dict):
        yield from located(manifest, ["metadata: Required value: every object has a name in it"])
    elif not manifest.name:
        yield from located(manifest, ["metadata.name: Required value: name or generateName"])


def _in_another_namespace(manifest: Manifest, options: OfflineOptions) -> Iterator[Finding]:
    own = metadata(manifest.value).get("namespace")
    if own and options.namespace and own != options.namespace:
        text = f'metadata.namespace: Invalid value: "{own}": --namespace is {options.namespace}'
        yield from located(manifest, [text])


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


def unreadable(source: str, text: str, place: Place | None) -> Finding:
    """Return the finding about a file that is not a manifest."""
    line, column = (place.line, place.column) if place else (None, None)
    return Finding(source, line, column, None, Severity.ERROR, text)
