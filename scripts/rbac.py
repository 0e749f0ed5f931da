"""Writes the manifests of both programs' rights, from their own tables.

Each program has one file with its roles and their bindings to its ServiceAccount; each rule has its
reason as a comment. Rights that only one choice needs have a file with that choice: the webhook's
for its own certificates, the controller's for the slack queue.
"""

import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path

import controller.rbac
import webhook.rbac
from shared.api.rbac import Role, Rule
from shared.config.configuration import CertManagement

_DEPLOY = Path(__file__).resolve().parents[1] / "deploy"
_BASE = _DEPLOY / "manifests" / "base"
_SLACK_QUEUE = _DEPLOY / "manifests" / "slack-queue"
_SELF_MANAGED = _DEPLOY / "certs" / "self-managed"
_NAMESPACE = CertManagement().namespace
_GROUP = "rbac.authorization.k8s.io"
_WIDTH = 100


def role_files() -> dict[Path, str]:
    """Return the content of each file of roles."""
    ours, webhooks = controller.rbac, webhook.rbac
    return {
        _BASE / "controller" / "roles.yaml": roles_yaml("controller", ours.ALWAYS),
        _SLACK_QUEUE / "roles.yaml": roles_yaml("controller", ours.SLACK_QUEUE),
        _BASE / "webhook" / "roles.yaml": roles_yaml("webhook", webhooks.ALWAYS),
        _SELF_MANAGED / "roles.yaml": roles_yaml("webhook", webhooks.SELF_MANAGED),
    }


def roles_yaml(program: str, roles: Iterable[Role]) -> str:
    """Return one file of plain objects."""
    parts = [
        _comment(
            f"Generated from {program}/rbac.py by `make generate`; a test compares that "
            "with what the code asks of the API server."
        )
    ]
    for role in roles:
        parts += ["---\n", *_role(program, role), "---\n", *_binding(program, role)]
    return "".join(parts)


def _role(program: str, role: Role) -> Iterator[str]:
    yield _comment(role.about)
    yield from _head(program, role, "ClusterRole" if role.everywhere else "Role")
    yield "rules:\n"
    for rule in role.rules:
        yield from _rule(rule)


def _rule(rule: Rule) -> Iterator[str]:
    yield _comment(rule.reason)
    yield f"- apiGroups: {_list((rule.group,))}\n"
    yield f"  resources: {_list(rule.resources)}\n"
    if rule.names:
        yield f"  resourceNames: {_list(rule.names)}\n"
    yield f"  verbs: {_list(rule.verbs)}\n"


def _binding(program: str, role: Role) -> Iterator[str]:
    kind = "ClusterRole" if role.everywhere else "Role"
    yield from _head(program, role, f"{kind}Binding")
    yield f"roleRef:\n  apiGroup: {_GROUP}\n  kind: {kind}\n  name: {role.name}\n"
    yield f"subjects:\n- kind: ServiceAccount\n  name: appwrapper-{program}\n"
    yield f"  namespace: {_NAMESPACE}\n"


def _head(program: str, role: Role, kind: str) -> Iterator[str]:
    yield f"apiVersion: {_GROUP}/v1\nkind: {kind}\nmetadata:\n  name: {role.name}\n"
    if not role.everywhere:
        yield f"  namespace: {_NAMESPACE}\n"
    yield "  labels:\n    app.kubernetes.io/name: appwrapper\n"
    yield f"    app.kubernetes.io/component: {program}\n"


def _comment(text: str) -> str:
    """Return paragraphs as comment lines; nothing for no text."""
    paragraphs = [
        "".join(f"# {line}\n" for line in textwrap.wrap(each, _WIDTH - 2))
        for each in text.split("\n\n")
    ]
    return "#\n".join(paragraphs)


def _list(words: Iterable[str]) -> str:
    return "[" + ", ".join(word or '""' for word in words) + "]"
