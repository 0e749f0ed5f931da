"""Kinds whose pod sets are known in one version, and not in another."""

from shared.api.json import JsonObject
from shared.podsets import infer, to_declare
from shared.podsets.group_version_kind import version_and_kind


def known_versions(template: JsonObject) -> list[str]:
    """The versions (`ray.io/v1`) to choose from, where the object's own is another one.

    [] when the object has one of them, and for a kind that is known in none.
    """
    version, kind = version_and_kind(template)
    known = sorted(
        each
        for each, same in infer.KINDS | to_declare.KINDS
        if same == kind and _group(each) == _group(version)
    )
    return [] if version in known else known


def _group(version: str) -> str:
    return version.rpartition("/")[0]
