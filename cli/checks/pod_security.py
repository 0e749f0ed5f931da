"""Check that the teams' namespaces enforce a level of Pod Security. Pure."""

from collections.abc import Iterator
from datetime import datetime
from typing import Final

from cli.checks.items import CheckResult, ok, unknown, warning
from cli.checks.setup_facts import Installed
from cli.pod_security import ENFORCE, OWN_LEVEL, POLICY, PodSecurity, level_of
from shared.api.objects import JsonObject, labels

_ADVICE: Final = (
    f"kubectl label --overwrite namespace NAME {ENFORCE}={PodSecurity.BASELINE}; for pods that need"
    " IPC_LOCK see docs/admins/pod-security.md. If an admin chose this level, ignore the warning"
)


def pod_security(seen: Installed, _: datetime) -> CheckResult:
    """Check each namespace that teamNamespaceSelector selects.

    The API server's own default level cannot be read.
    """
    selector = seen.configuration.config.appwrapper.team_namespace_selector
    teams = [each for each in seen.namespaces or () if selector.matches(labels(each))]
    has_own_level = any(OWN_LEVEL in labels(each) for each in teams)
    if has_own_level and (why := seen.why_unread("policies", "bindings")):
        return unknown(why)
    has_policy = all(
        any(item["metadata"]["name"] == POLICY for item in items or ())
        for items in (seen.policies, seen.bindings)
    )
    wrong = list(_findings(teams, has_policy=has_policy))
    if wrong:
        return warning(
            f"privileged pods are possible in team namespaces: {', '.join(wrong)}", _ADVICE
        )
    return ok(f"each of {len(teams)} team namespaces enforces a level")


def _findings(teams: list[JsonObject], *, has_policy: bool) -> Iterator[str]:
    for each in teams:
        name, level = each["metadata"]["name"], level_of(labels(each))
        if not level:
            yield f"{name} (no label {ENFORCE})"
        elif level == PodSecurity.PRIVILEGED:
            yield f"{name} ({level})"
        elif level == PodSecurity.BASELINE_IPC_LOCK and not has_policy:
            yield (
                f"{name} ({level}, but there is no policy {POLICY} with a binding: kubectl apply -f"
                " deploy/team/pod-security.yaml)"
            )
