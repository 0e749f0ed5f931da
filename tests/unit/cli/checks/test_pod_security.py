"""Which levels of Pod Security `check --install` accepts in team namespaces."""

from dataclasses import replace

import pytest

from cli.checks.items import CheckResult, ItemResult
from cli.checks.pod_security import pod_security
from shared.api.objects import JsonObject
from tests.support.builders.installations import NOW, SOUND, TEAMS_LABEL, namespace
from tests.support.manifests import TEAM, documents

ENFORCE = "pod-security.kubernetes.io/enforce"
OWN = "workload.codeflare.dev/pod-security"
LOCKS = {ENFORCE: "privileged", OWN: "baseline-ipc-lock"}
POLICY, BINDING = documents(TEAM / "pod-security.yaml")
ADVICE = (
    "kubectl label --overwrite namespace NAME pod-security.kubernetes.io/enforce=baseline; for pods"
    " that need IPC_LOCK see docs/admins/pod-security.md. If an admin chose this level,"
    " ignore the warning"
)


def team(name: str, **level: str) -> JsonObject:
    return namespace(name, **TEAMS_LABEL, **level)


def checked(*namespaces: JsonObject, policies: tuple[JsonObject, ...] = ()) -> CheckResult:
    return pod_security(
        replace(
            SOUND,
            namespaces=namespaces,
            policies=tuple(each for each in policies if each["kind"] == POLICY["kind"]),
            bindings=tuple(each for each in policies if each["kind"] == BINDING["kind"]),
        ),
        NOW,
    )


def test_namespaces_that_enforce_a_level_and_those_of_no_team_are_right() -> None:
    found = checked(
        team("a", **{ENFORCE: "baseline"}),
        team("b", **{ENFORCE: "restricted"}),
        team("c", **LOCKS),
        team("d", **{ENFORCE: "baseline", OWN: "baseline-ipc-lock"}),
        namespace("default"),
        policies=(POLICY, BINDING),
    )
    assert found == CheckResult(ItemResult.OK, "each of 4 team namespaces enforces a level")


def test_namespaces_without_a_level_or_with_privileged_are_named() -> None:
    found = checked(team("a"), team("b", **{ENFORCE: "privileged"}), team("c", **{OWN: "baseline"}))
    assert found == CheckResult(
        ItemResult.WARNING,
        "privileged pods are possible in team namespaces: a (no label"
        " pod-security.kubernetes.io/enforce), b (privileged), c (no label"
        " pod-security.kubernetes.io/enforce)",
        ADVICE,
    )


@pytest.mark.parametrize("policies", [(), (POLICY,), (BINDING,)])
def test_the_level_with_ipc_lock_without_its_policy_and_binding_is_privileged(
    policies: tuple[JsonObject, ...],
) -> None:
    found = checked(team("a", **LOCKS), policies=policies)
    assert found == CheckResult(
        ItemResult.WARNING,
        "privileged pods are possible in team namespaces: a (baseline-ipc-lock, but there is no"
        " policy appwrapper-baseline-ipc-lock with a binding: kubectl apply -f"
        " deploy/team/pod-security.yaml)",
        ADVICE,
    )


def test_policies_that_cannot_be_read_leave_only_their_level_unknown() -> None:
    no = {"policies": "you have no right to read this"}
    seen = replace(SOUND, policies=None, refused=no)
    assert pod_security(seen, NOW).verdict is ItemResult.OK
    seen = replace(seen, namespaces=(team("a", **LOCKS),))
    assert pod_security(seen, NOW) == CheckResult(ItemResult.UNKNOWN, no["policies"])
