"""Every sample that wraps something: stored as its file, with the additions of admission."""

import copy
from collections.abc import Iterator

from shared.api.component_digest import component_digest
from shared.api.objects import JsonObject
from tests.support.admission_corpus.case import TEAM, USER, USERID, Case
from tests.support.builders.appwrappers import QUEUE
from tests.support.cluster.admitted_samples import DIGEST, as_admitted
from tests.support.manifests import SAMPLES, document

FILES = sorted(
    file
    for file in SAMPLES.rglob("*.yaml")
    if document(file)["kind"] == "AppWrapper" and not file.name.startswith("rejected-")
)


def _components(sample: JsonObject) -> list[JsonObject]:
    """Adds to each component the digest of what its user wrote."""
    admitted: list[JsonObject] = as_admitted(sample)["components"]
    for component, written in zip(admitted, sample["spec"]["components"], strict=True):
        digest = component_digest(written)
        component["annotations"] = {**component.get("annotations", {}), DIGEST: digest}
    return admitted


def _samples() -> Iterator[Case]:
    for file in FILES:
        sample = document(file)
        sample["metadata"]["namespace"] = TEAM
        labels = sample["metadata"].get("labels", {})
        yield Case(
            name=f"samples/{file.relative_to(SAMPLES)} -> stored with the additions of admission",
            sent=copy.deepcopy(sample),
            stored={
                "spec.components": _components(sample),
                "metadata.labels": {**QUEUE, USER: "alice", USERID: "", **labels},
            },
        )


CASES = (*_samples(),)
