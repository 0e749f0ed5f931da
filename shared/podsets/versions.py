"""Kinds whose pod sets are known in one version, and not in another."""

from shared.api.json import JsonObject
from shared.podsets import infer, to_declare
from shared.podsets.group_version_kind import version_and_kind
from shared.podsets.pod_set import PodSet, PodSetError


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


def pod_sets_in_known_version(template: JsonObject) -> tuple[PodSet, ...]:
    """What Kueue would infer if the object said a version that Kueue knows.

    () where it knows none, or where the object is not built as in that version.
    """
    for version in known_versions(template):
        try:
            if found := infer.inferred_pod_sets({**template, "apiVersion": version}):
                return found
        except PodSetError:
            continue
    return ()


def _group(version: str) -> str:
    return version.rpartition("/")[0]
