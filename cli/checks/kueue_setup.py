"""Check Kueue's set-up for the operator: version, integrations, namespaces, timeouts. Pure."""

import re
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any, Final

from cli.checks.items import CheckResult, Requirement, ok, unknown, warning
from cli.checks.setup_facts import Installed, ready_replicas
from shared.api.objects import JsonObject, labels
from shared.api.times import DurationError, format_duration, parse_duration
from shared.config.kueue import longest_by_default, wait_for_pods_ready
from shared.kinds.table import KINDS
from shared.waits.kueue_settings import FRAMEWORK, NAME, namespaces, selector_of

# docs/admins/kueue.md. If no Deployment shows Kueue's version, its limit of pod sets does.
_OLDEST: Final = (0, 16)
_NEWEST: Final = (0, 19)
# The feature gate KueueDRAIntegration is on by default.
_COUNTS_CLAIMS: Final = (0, 18)
_BY_POD_SETS: Final = {8: ((0, 16), (0, 17)), 10: ((0, 18), (0, 18)), 18: ((0, 19), (0, 19))}
# Kueue's own default of waitForPodsReady since 0.19.
_DEFAULT_TIMEOUT: Final = timedelta(minutes=30)
_ON_BY_DEFAULT: Final = (0, 19)
_GATE: Final = "DisableWaitForPodsReady"
# Integrations whose name is not group/kind.
_SPECIAL: Final = {"Pod": "pod", "apps/Deployment": "deployment", "apps/StatefulSet": "statefulset"}

Version = tuple[int, int]


def kueue_versions(seen: Installed) -> tuple[Version, Version] | None:
    """Read the version from the image tag, else the range that the Workload CRD allows."""
    containers = _template(seen.kueue).get("containers") or ()
    for each in containers:
        if found := re.search(r":v?(\d+)\.(\d+)\.\d+", each.get("image") or ""):
            version = (int(found[1]), int(found[2]))
            return version, version
    return _BY_POD_SETS.get(_most_pod_sets(seen))


def version(seen: Installed, _: datetime) -> CheckResult:
    """Check that the operator supports this version of Kueue."""
    versions = kueue_versions(seen)
    supported = f"{_words(_OLDEST)} to {_words(_NEWEST)}"
    if versions is None:
        if why := seen.why_unread("kueue", "workload_definition"):
            return unknown(why)
        if seen.workload_definition is None:
            advice = f"Install Kueue {supported}"
            return warning("it is not installed: there is no CRD of Workloads", advice)
        return unknown("its version is unknown", f"Supported are {supported}")
    oldest, newest = versions
    found = _words(oldest) if oldest == newest else f"{_words(oldest)} or {_words(newest)}"
    if seen.kueue is None:
        found += (
            ", by its CRD: there is no Deployment kueue-controller-manager in"
            f" {seen.kueue_namespace}"
        )
    elif not ready_replicas(seen.kueue):
        return warning(
            f"{found}, and no replica of Deployment kueue-controller-manager is ready",
            "Read its logs: nothing is admitted, and no user can submit",
        )
    counts = seen.configuration.config.appwrapper.resource_claims == "Count"
    if counts and oldest < _COUNTS_CLAIMS:
        return warning(
            f"{found}, and resourceClaims is Count: Kueue before {_words(_COUNTS_CLAIMS)} counts no"
            " ResourceClaims, so devices are used without quota",
            "Set resourceClaims: Reject in the operator's configuration",
        )
    if oldest < _OLDEST or newest > _NEWEST:
        return warning(found, f"Supported are {supported} (docs/admins/kueue.md)")
    return ok(found)


def pod_sets(seen: Installed, _: datetime) -> CheckResult:
    """Check that a Workload can have as many pod sets as the webhook admits."""
    allowed = seen.configuration.config.appwrapper.max_pod_sets
    most = _most_pod_sets(seen)
    if not most:
        why = seen.why_unread("workload_definition")
        return unknown(why or "the CRD of Workloads does not limit how many it holds")
    if allowed > most:
        return warning(
            f"maxPodSets is {allowed}, and this Kueue holds {most}: AppWrappers with more than"
            f" {most} would never be admitted",
            f"Set maxPodSets: {most} or less in the operator's configuration",
        )
    return ok(f"maxPodSets is {allowed}, and this Kueue holds {most}")


def quota_manager(seen: Installed, _: datetime) -> CheckResult:
    """Check that the webhook exempts Kueue's ServiceAccount, which starts AppWrappers."""
    known = seen.configuration.config.appwrapper.exemptions.quota_managers
    if seen.kueue is None and seen.kueue_config is None and "kueue_config" not in seen.refused:
        places = ", ".join(namespaces(known))
        return unknown(
            f"neither Deployment kueue-controller-manager nor ConfigMap {NAME} exists in {places}",
            "If Kueue runs elsewhere, name its ServiceAccount in exemptions.quotaManagers",
        )
    account = _template(seen.kueue).get("serviceAccountName") or "kueue-controller-manager"
    name = f"system:serviceaccount:{seen.kueue_namespace}:{account}"
    if name not in known:
        return warning(
            f"{name} is not in exemptions.quotaManagers: the webhook undoes what Kueue writes",
            "Add it to the operator's configuration",
        )
    return ok(f"{name} is in exemptions.quotaManagers")


def integrations(seen: Installed, _: datetime) -> CheckResult:
    """Check that Kueue handles AppWrappers and the served Kinds that teams create directly."""
    enabled = set((_settings(seen).get("integrations") or {}).get("frameworks") or ())
    needed = [FRAMEWORK, *_direct(seen)]
    missing = [each for each in needed if each not in enabled]
    if missing:
        return warning(
            f"not enabled: {', '.join(missing)}. Kueue counts none of their pods",
            f"Add them to integrations.frameworks {_change(seen)}; or remove the Kinds from"
            " allowedKinds.direct",
        )
    return ok(f"enabled: {', '.join(needed)}")


def _direct(seen: Installed) -> Iterable[str]:
    allowed = seen.configuration.config.appwrapper.allowed_kinds.direct
    for kind in KINDS:
        name = kind.group_kind
        if kind.pod_sets is None or name not in seen.served:
            continue
        if name in allowed or ("*" in allowed and kind.unwrapped):
            yield _SPECIAL.get(name) or f"{kind.resource.group}/{kind.resource.kind.lower()}"


def managed_namespaces(seen: Installed, _: datetime) -> CheckResult:
    """Check that the operator and Kueue select the same of the existing namespaces.

    If the namespaces cannot be read, compare the selectors.
    """
    configuration = _settings(seen)
    ours = seen.configuration.config.appwrapper.team_namespace_selector
    if not configuration.get("manageJobsWithoutQueueName"):
        return warning(
            "manageJobsWithoutQueueName is off: in teams' namespaces jobs that name no queue run"
            " without quota",
            f"Set manageJobsWithoutQueueName: true {_change(seen)}",
        )
    written = configuration.get("managedJobsNamespaceSelector")
    if written is None:
        return warning(
            "Kueue has no managedJobsNamespaceSelector: it suspends jobs in every namespace except"
            " its own and kube-system",
            f"Set it to the operator's teamNamespaceSelector {_change(seen)}",
        )
    theirs = selector_of(written)
    if theirs is None:
        return unknown(f"managedJobsNamespaceSelector is not a label selector: {written}")
    if seen.namespaces is None:
        same = theirs == ours
        return ok("both selectors are the same") if same else unknown(seen.why_unread("namespaces"))
    differing = [
        each["metadata"]["name"]
        for each in seen.namespaces
        if theirs.matches(labels(each)) != ours.matches(labels(each))
    ]
    teams = [each for each in seen.namespaces if ours.matches(labels(each))]
    if differing:
        return warning(
            "the operator (teamNamespaceSelector) and Kueue (managedJobsNamespaceSelector) disagree"
            f" about {', '.join(sorted(differing))}",
            f"Make the selectors equal {_change(seen)}",
        )
    return ok(f"the operator and Kueue agree about {len(teams)} of them")


def _settings(seen: Installed) -> JsonObject:
    found = seen.kueue_settings
    return {} if isinstance(found, str) else found


def _change(seen: Installed) -> str:
    return f"in ConfigMap {seen.kueue_namespace}/{NAME}, and restart Kueue (docs/admins/install.md)"


def pods_ready(seen: Installed, _: datetime) -> CheckResult:
    """Check that Kueue waits longer than all attempts of an AppWrapper together take."""
    behaviour = seen.configuration.config.appwrapper
    needed = longest_by_default(behaviour)
    wanted = wait_for_pods_ready(behaviour)["timeout"]
    total = f"the operator's periods and retries add up to {format_duration(needed)}"
    configuration, versions = _settings(seen), kueue_versions(seen)
    written = configuration.get("waitForPodsReady")
    if _is_off(configuration, written, versions):
        return ok("it is off")
    if written is None and versions is None:
        return unknown(f"it is not configured; {total}", f"Set both times to {wanted}")
    settings = written or {}
    try:
        timeout = _duration(settings.get("timeout"), _DEFAULT_TIMEOUT)
        recovery = _duration(settings.get("recoveryTimeout"), timeout)
    except DurationError as error:
        return unknown(str(error))
    times = f"timeout is {format_duration(timeout)}, recoveryTimeout {format_duration(recovery)}"
    if min(timeout, recovery) <= needed:
        return warning(
            f"{times}, and {total}: Kueue evicts AppWrappers that the operator still retries",
            f"Set both to {wanted} or longer {_change(seen)}",
        )
    if settings.get("blockAdmission"):
        return warning(
            "blockAdmission is on: one AppWrapper that is not ready keeps all others from starting",
            f"Set blockAdmission: false {_change(seen)}",
        )
    return ok(f"{times}; {total}")


def _is_off(
    configuration: JsonObject, written: Any, versions: tuple[Version, Version] | None
) -> bool:
    if (configuration.get("featureGates") or {}).get(_GATE) is True:
        return True
    if str(configuration.get("apiVersion")).endswith("/v1beta1") and written is not None:
        return not written.get("enable")
    return written is None and versions is not None and versions[1] < _ON_BY_DEFAULT


def _duration(value: Any, default: timedelta) -> timedelta:
    return default if value is None else parse_duration(str(value))


def _most_pod_sets(seen: Installed) -> int:
    for version in ((seen.workload_definition or {}).get("spec") or {}).get("versions") or ():
        schema = version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
        return int(schema["podSets"].get("maxItems") or 0)
    return 0


def _template(deployment: JsonObject | None) -> JsonObject:
    spec = ((deployment or {}).get("spec") or {}).get("template") or {}
    found: JsonObject = spec.get("spec") or {}
    return found


def _words(version: Version) -> str:
    return f"{version[0]}.{version[1]}"


KUEUE: Final = (
    Requirement("Kueue", version),
    Requirement("pod sets", pod_sets),
    Requirement("Kueue's identity", quota_manager, ("kueue",)),
)
# These need Kueue's configuration.
KUEUE_SETTINGS: Final = (
    Requirement("Kueue's integrations", integrations),
    Requirement("team namespaces", managed_namespaces),
    Requirement("waitForPodsReady", pods_ready),
)
