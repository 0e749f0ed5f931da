"""Texts of CEL, which the API server evaluates by itself, and the Kinds they speak of. Pure.

The match conditions of our webhooks (`registration.py`) and our policies (`policies.py`) are made
of them.
"""

from collections.abc import Iterable
from typing import Final

from shared.kinds.table import KINDS

# Kinds that hold no pods: where they are allowed there is nothing to judge, and no Secret comes to
# us. A Kind that is not known to hold none is asked about.
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
"""Who asks may not do everything everywhere. It costs most: it comes last."""


def nobody_of(users: Iterable[str]) -> str:
    """Who asks has none of these names."""
    return f"!(request.userInfo.username in {list_of(users)})"


def nobody_named(prefixes: Iterable[str]) -> str:
    """The name of who asks has none of these beginnings."""
    name = "request.userInfo.username"
    return f"!{list_of(prefixes)}.exists(prefix, {name}.startsWith(prefix))"


def nobody_in(group: str) -> str:
    """Who asks is not in this group."""
    return f"!({literal(group)} in request.userInfo.groups)"


def no_kind_of(group_kinds: Iterable[str]) -> str:
    """`group_kinds` are `group/Kind`, or `Kind` in the core group."""
    return f"!{kind_of(group_kinds)}"


def kind_of(group_kinds: Iterable[str]) -> str:
    """The same the other way round."""
    slashed = (kind if "/" in kind else f"/{kind}" for kind in group_kinds)
    return f"(request.kind.group + '/' + request.kind.kind in {list_of(slashed)})"


def all_of(tests: Iterable[str]) -> str:
    """Every test holds. CEL stops at the first one that does not."""
    return " && ".join(f"({test})" for test in tests)


def any_of(tests: Iterable[str]) -> str:
    """A test holds. CEL stops at the first one that does."""
    return " || ".join(f"({test})" for test in tests)


def list_of(texts: Iterable[str]) -> str:
    """A CEL list of literals."""
    return f"[{', '.join(map(literal, texts))}]"


def literal(written: str) -> str:
    """A CEL literal. What is configured may hold any character."""
    escaped = (
        character
        if character.isprintable() and character not in "'\\"
        else f"\\U{ord(character):08x}"
        for character in written
    )
    return f"'{''.join(escaped)}'"
