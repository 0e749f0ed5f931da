"""Build CEL expressions, which the API server evaluates itself, and list Kinds for them. Pure.

The match conditions of the webhooks (`registration.py`) and the policies (`policies.py`) consist of
them.
"""

from collections.abc import Iterable
from typing import Final

from shared.kinds.table import KINDS

# Kinds without pods. If they are allowed, the API server does not call the webhook for them, and
# the webhook receives no Secret. For all other Kinds, also unknown ones, the API server calls it.
_NEVER_WRAPPED: Final = {
    "networking.k8s.io/Ingress",
    "networking.k8s.io/NetworkPolicy",
    "policy/PodDisruptionBudget",
    "rbac.authorization.k8s.io/Role",
    "rbac.authorization.k8s.io/RoleBinding",
}
WITHOUT_PODS: Final = tuple(
    sorted(_NEVER_WRAPPED | {each.group_kind for each in KINDS if each.pod_sets is None})
)

NO_ADMIN: Final = "!authorizer.group('*').resource('*').check('*').allowed()"
"""The user may not do everything everywhere. This test costs most, so it comes last."""


def user_not_in(users: Iterable[str]) -> str:
    return f"!(request.userInfo.username in {list_of(users)})"


def user_without_prefix(prefixes: Iterable[str]) -> str:
    name = "request.userInfo.username"
    return f"!{list_of(prefixes)}.exists(prefix, {name}.startsWith(prefix))"


def user_not_in_group(group: str) -> str:
    return f"!({literal(group)} in request.userInfo.groups)"


def no_kind_of(group_kinds: Iterable[str]) -> str:
    """Test for none of these Kinds: `group/Kind`, or `Kind` in the core group."""
    return f"!{kind_of(group_kinds)}"


def kind_of(group_kinds: Iterable[str]) -> str:
    """Test for one of these Kinds: `group/Kind`, or `Kind` in the core group."""
    slashed = (kind if "/" in kind else f"/{kind}" for kind in group_kinds)
    return f"(request.kind.group + '/' + request.kind.kind in {list_of(slashed)})"


def all_of(tests: Iterable[str]) -> str:
    """Test that every test holds. CEL stops at the first that does not."""
    return " && ".join(f"({test})" for test in tests)


def any_of(tests: Iterable[str]) -> str:
    """Test that at least one test holds. CEL stops at the first that does."""
    return " || ".join(f"({test})" for test in tests)


def list_of(texts: Iterable[str]) -> str:
    return f"[{', '.join(map(literal, texts))}]"


def literal(written: str) -> str:
    """Write a CEL string literal. Configured values may hold any character."""
    escaped = (
        character
        if character.isprintable() and character not in "'\\"
        else f"\\U{ord(character):08x}"
        for character in written
    )
    return f"'{''.join(escaped)}'"
