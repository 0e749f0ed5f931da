"""Check the operator's own set-up: its objects as they ship, and its running programs. Pure."""

import base64
import binascii
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Final

from cli.checks.items import CheckResult, Requirement, contains, ok, unknown, warning
from cli.checks.leadership import lease
from cli.checks.pod_security import pod_security
from cli.checks.setup_facts import Installed, ready_replicas, wanted_replicas
from cli.cluster.operator_configuration import CONFIG_NAME
from cli.durations import span
from shared.api.objects import JsonObject
from shared.api.times import format_time
from webhook.policies import policies
from webhook.registration import registration

_SOON: Final = timedelta(days=14)
# Within that time the kubelet restarts a program.
_LATELY: Final = timedelta(minutes=2)
_QUIET: Final = timedelta(minutes=10)
_OLDEST_KUBERNETES: Final = (1, 30)
_APPWRAPPERS_WEBHOOK: Final = "mappwrapper.kb.io"
_INSTALL: Final = (
    "Apply the manifests again: kubectl apply --kustomize my-cluster (docs/admins/install.md), or"
    " helm upgrade (docs/admins/helm.md)"
)
_CERTIFICATES: Final = "See docs/admins/certificates.md, and the webhook's logs"


def kubernetes(seen: Installed, _: datetime) -> CheckResult:
    """Check the version: ValidatingAdmissionPolicies need Kubernetes 1.30."""
    parts = seen.kubernetes.removeprefix("v").split(".")
    try:
        version = (int(parts[0]), int(parts[1]))
    except (IndexError, ValueError):
        return unknown(f"its version is {seen.kubernetes!r}")
    if version < _OLDEST_KUBERNETES:
        return warning(seen.kubernetes, "Policies need Kubernetes 1.30 or newer")
    return ok(seen.kubernetes)


def configuration(seen: Installed, _: datetime) -> CheckResult:
    """Check that the configuration is valid. The other items compare the cluster with it."""
    found = seen.configuration
    if found.problem:
        advice = "The rest is checked against the defaults"
        return unknown(found.mistakes or found.problem, advice)
    return ok(f"ConfigMap {found.namespace}/{CONFIG_NAME} is valid")


def definition(seen: Installed, _: datetime) -> CheckResult:
    """Check that the stored CRD contains all of this version's CRD."""
    if seen.definition is None:
        return warning("the API server does not know AppWrappers", _INSTALL)
    stored = {each["name"]: each for each in seen.definition["spec"]["versions"]}
    for wanted in seen.shipped_definition["spec"]["versions"]:
        if not contains(stored.get(wanted["name"]), wanted):
            return warning(
                f"version {wanted['name']} of {seen.definition['metadata']['name']} is not the one"
                " that this command came with",
                "Apply it: kubectl apply --kustomize deploy/manifests/crd",
            )
    return ok("as shipped")


def mutating_webhooks(seen: Installed, _: datetime) -> CheckResult:
    """Compare the webhooks with the ones that the cluster's operator configuration generates."""
    return _registered(registration(seen.configuration.config)[0], seen.mutating or ())


def validating_webhooks(seen: Installed, _: datetime) -> CheckResult:
    return _registered(registration(seen.configuration.config)[1], seen.validating or ())


def _registered(generated: JsonObject, stored: Iterable[JsonObject]) -> CheckResult:
    name = generated["metadata"]["name"]
    found = _named(stored, name)
    if found is None:
        return warning(f"there is no {generated['kind']} {name}", _INSTALL)
    differing = _differing(_webhooks_of(generated), _webhooks_of(found), name)
    return warning(differing, _WRITE) if differing else ok(f"{name}, as configured")


def _webhooks_of(item: JsonObject) -> dict[str, JsonObject]:
    """Return the webhooks by name, without the address: it may be a URL, or have another port."""
    return {
        each["name"]: {key: value for key, value in each.items() if key != "clientConfig"}
        for each in item.get("webhooks") or ()
    }


def admission_policies(seen: Installed, _: datetime) -> CheckResult:
    """Compare policies and bindings with the ones that the cluster's configuration generates."""
    wanted = {
        f"{each['kind']} {each['metadata']['name']}": each["spec"]
        for each in policies(seen.configuration.config)
    }
    kinds = (
        ("ValidatingAdmissionPolicy", seen.policies),
        ("ValidatingAdmissionPolicyBinding", seen.bindings),
    )
    stored = {
        f"{kind} {each['metadata']['name']}": each.get("spec") or {}
        for kind, found in kinds
        for each in found or ()
    }
    ours = {name: spec for name, spec in stored.items() if name in wanted}
    if differing := _differing(wanted, ours):
        return warning(differing, _WRITE)
    return ok(f"{len(wanted)} policies and bindings, as configured")


_WRITE: Final = (
    "Write them from the configuration: python -m webhook --config FILE --print-registration"
    " (docs/admins/webhook.md, docs/admins/policy.md)"
)


def _differing(
    wanted: Mapping[str, JsonObject], stored: Mapping[str, JsonObject], where: str = ""
) -> str:
    """Name the parts that are missing, that have other fields, and that are not wanted."""
    fields = {
        name: [key for key, value in part.items() if not contains(stored[name].get(key), value)]
        for name, part in wanted.items()
        if name in stored
    }
    problems = (
        ("missing", [name for name in wanted if name not in stored]),
        (
            "these do not match the configuration",
            [f"{', '.join(keys)} of {name}" for name, keys in fields.items() if keys],
        ),
        ("these are not configured", [name for name in stored if name not in wanted]),
    )
    place = f" in {where}" if where else ""
    return "; ".join(f"{what}: {', '.join(names)}{place}" for what, names in problems if names)


def order(seen: Installed, _: datetime) -> CheckResult:
    """Check that the API server calls this project's webhook before Kueue's.

    This webhook sets the default queue, and Kueue suspends only objects that name a queue.
    """
    ours = seen.configuration.config.cert_management.mutating_webhook_config_name
    kueues = [
        each["metadata"]["name"]
        for each in seen.mutating or ()
        if each["metadata"]["name"] != ours
        and any(one["name"] == _APPWRAPPERS_WEBHOOK for one in each.get("webhooks") or ())
    ]
    if not kueues:
        return warning(
            "no webhook of Kueue handles AppWrappers: Kueue suspends none of them",
            "Enable workload.codeflare.dev/appwrapper in Kueue's configuration, and apply its"
            " webhook configurations",
        )
    if early := [each for each in kueues if each < ours]:
        return warning(
            f"the API server calls {early[0]} before {ours}: Kueue does not see the default queue",
            "Choose a certManagement.mutatingWebhookConfigName that sorts before it",
        )
    return ok(f"{ours} before {', '.join(kueues)}")


def authorities(seen: Installed, now: datetime) -> CheckResult:
    """Check each caBundle in this project's webhook configurations."""
    names = seen.configuration.config.cert_management
    bundles: list[str] = []
    for stored, name in (
        (seen.mutating, names.mutating_webhook_config_name),
        (seen.validating, names.validating_webhook_config_name),
    ):
        found = _named(stored or (), name)
        webhooks = (found or {}).get("webhooks") or ()
        bundles += [each["clientConfig"].get("caBundle") or "" for each in webhooks]
    if not bundles:
        return unknown("there are no webhooks of this operator")
    return _expiry("the caBundle", bundles, now)


def serving_certificate(seen: Installed, now: datetime) -> CheckResult:
    names = seen.configuration.config.cert_management
    where = f"Secret {seen.configuration.namespace}/{names.webhook_secret_name}"
    if seen.secret is None:
        if names.source == "Files":
            return unknown(f"certManagement.source is Files, and there is no {where}")
        return warning(f"there is no {where}", _INSTALL)
    content = (seen.secret.get("data") or {}).get("tls.crt") or ""
    return _expiry(where, [content], now)


def _expiry(where: str, texts: Iterable[str], now: datetime) -> CheckResult:
    """Check the first expiry of the texts. Each text expires with its longest valid certificate."""
    from webhook.tls.issue import expires_at
    from webhook.tls.key_pair import certificates_in

    ends = []
    for text in texts:
        try:
            decoded = base64.b64decode(text, validate=True)
        except (binascii.Error, ValueError):
            decoded = b""
        found = certificates_in(decoded)
        if not found:
            return warning(f"{where} holds no certificate", _CERTIFICATES)
        ends.append(max(expires_at(each) for each in found))
    end = min(ends)
    if end <= now:
        return warning(f"{where} has expired on {format_time(end)}", _CERTIFICATES)
    if end - now < _SOON:
        return warning(f"{where} expires on {format_time(end)}", _CERTIFICATES)
    return ok(f"{where} is valid until {format_time(end)}")


def webhook(seen: Installed, _: datetime) -> CheckResult:
    """Check the result of the dry run first, then the webhook's Deployment."""
    deployment = _deployment("appwrapper-webhook", seen.webhook, seen, "webhook")
    if seen.answer:
        return warning(
            f"a dry run of an AppWrapper failed: {seen.answer}",
            f"{deployment}. Read its logs and /readyz (docs/admins/runbook.md#webhook-failing)",
        )
    if seen.webhook is not None and not _is_ready(seen.webhook):
        return warning(f"it answers, but {deployment}", "Check the pods that are not ready")
    return ok(f"it validated an AppWrapper (dry run); {deployment}")


def controller(seen: Installed, now: datetime) -> CheckResult:
    """Check for AppWrappers without status, then the Deployment; without one, recent writes."""
    deployment = _deployment("appwrapper-controller", seen.controller, seen, "controller")
    logs = "Read its logs (docs/admins/runbook.md#controller-down)"
    waiting = [
        name
        for name, made in (seen.activity.unseen if seen.activity else ())
        if now - made > _LATELY
    ]
    if waiting:
        return warning(
            f"{len(waiting)} AppWrapper(s) have no status, such as {waiting[0]}: no controller acts"
            f" on them; {deployment}",
            logs,
        )
    if seen.controller is not None:
        return ok(deployment) if _is_ready(seen.controller) else warning(deployment, logs)
    last = seen.activity.last_write if seen.activity else None
    if last is not None and now - last < _QUIET:
        return ok(f"{deployment}; it wrote a status at {format_time(last)}, so it runs")
    return unknown(
        f"{deployment}; no AppWrapper was written in the last {span(_QUIET)}",
        "Submit an AppWrapper and check again",
    )


def _deployment(name: str, found: JsonObject | None, seen: Installed, key: str) -> str:
    if why := seen.refused.get(key):
        return f"Deployment {name}: {why}"
    if found is None:
        return f"there is no Deployment {name}: it runs elsewhere, or not at all"
    ready, wanted = ready_replicas(found), wanted_replicas(found)
    return f"{ready} of {wanted} replicas of Deployment {name} are ready"


def _is_ready(deployment: JsonObject) -> bool:
    return ready_replicas(deployment) >= wanted_replicas(deployment) > 0


def _named(stored: Iterable[JsonObject], name: str) -> JsonObject | None:
    return next((each for each in stored if each["metadata"]["name"] == name), None)


PRODUCT: Final = (
    Requirement("Kubernetes", kubernetes),
    Requirement("configuration", configuration),
    Requirement("CRD", definition, ("definition",)),
    Requirement("mutating webhooks", mutating_webhooks, ("mutating",)),
    Requirement("validating webhooks", validating_webhooks, ("validating",)),
    Requirement("webhook order", order, ("mutating",)),
    Requirement("certificate authority", authorities, ("mutating", "validating")),
    Requirement("serving certificate", serving_certificate, ("secret",)),
    Requirement("admission policies", admission_policies, ("policies", "bindings")),
    Requirement("webhook", webhook, ("answer",)),
    Requirement("controller", controller),
    Requirement("lease", lease, ("leases",)),
    Requirement("Pod Security", pod_security, ("namespaces",)),
)
