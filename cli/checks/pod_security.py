"""Check that the teams' namespaces enforce a level of Pod Security. Pure."""

from collections.abc import Iterator
from typing import Final

from cli.checks.items import Item, ok, refused, unknown, warning
from cli.checks.setup_facts import Installed
from cli.pod_security import ENFORCE, OWN_LEVEL, POLICY, PodSecurity, level_of
from shared.api.objects import JsonObject, labels

_TITLE: Final = "Pod Security"
_ADVICE: Final = (
    f"kubectl label --overwrite namespace NAME {ENFORCE}={PodSecurity.BASELINE}; for pods that need"
    " IPC_LOCK see docs/admins/pod-security.md. If an admin chose this level, ignore the warning"
)


def pod_security(seen: Installed) -> Item:
    """Check each namespace that teamNamespaceSelector selects.

    The API server's own default level cannot be read.
    """
    if seen.namespaces is None:
        return unknown(_TITLE, seen.refused.get("namespaces", ""))
    selector = seen.configuration.config.appwrapper.team_namespace_selector
    teams = [each for each in seen.namespaces if selector.matches(labels(each))]
    if any(OWN_LEVEL in labels(each) for each in teams):
        item = refused(_TITLE, seen.refused, "policies", "bindings")
        if item is not None:
            return item
    has_policy = all(
        any(item["metadata"]["name"] == POLICY for item in items or ())
        for items in (seen.policies, seen.bindings)
    )
    wrong = list(_findings(teams, has_policy=has_policy))
    if wrong:
        return warning(
            _TITLE, f"privileged pods are possible in team namespaces: {', '.join(wrong)}", _ADVICE
        )
    return ok(_TITLE, f"each of {len(teams)} team namespaces enforces a level")


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
