"""Strategies for property tests: JSON of any kind, with the field names of AppWrappers."""

from typing import Any

from hypothesis import strategies as st

from tests.fuzz.hostile import LABEL_VALUES, NUMBERS, PATHS, TEXTS
from tests.support.builders.admission import POD

_WORDS = st.sampled_from(
    [
        *["metadata", "labels", "annotations", "name", "namespace", "deletionTimestamp"],
        *["spec", "components", "template", "suspend", "managedBy", "podSetInfos"],
        *["podSets", "path", "replicas", "apiVersion", "kind", "containers", "resources", "limits"],
        *["kueue.x-k8s.io/queue-name", "workload.codeflare.dev/user", "a/b~c", ""],
    ]
)
_LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8"), max_size=6)
    | st.sampled_from(["v1", "Pod", "batch/v1", "Job", "template.spec.template", "template"])
    | st.sampled_from([*TEXTS, *LABEL_VALUES, *PATHS, *NUMBERS])
    | st.just(POD)
)


def json_values(most_leaves: int = 12) -> st.SearchStrategy[Any]:
    """Any JSON."""
    return st.recursive(
        _LEAVES,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_WORDS, inner, max_size=4),
        max_leaves=most_leaves,
    )


def _objects(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Objects with any of these fields."""
    return st.fixed_dictionaries({}, optional=fields)


def components() -> st.SearchStrategy[Any]:
    """Generates elements of spec.components, valid and invalid."""
    anything = json_values()
    return (
        _objects(
            template=anything | st.just(POD),
            podSets=anything | st.lists(_objects(path=st.sampled_from(PATHS), replicas=anything)),
            podSetInfos=anything,
            annotations=anything,
        )
        | anything
    )


def appwrappers() -> st.SearchStrategy[dict[str, Any]]:
    """Generates AppWrappers that are valid only in name and Kind."""
    anything = json_values()
    named = {"name": st.just("job"), "namespace": st.just("team1")}
    return st.fixed_dictionaries(
        {
            "apiVersion": st.just("workload.codeflare.dev/v1beta2"),
            "kind": st.just("AppWrapper"),
            "metadata": st.fixed_dictionaries(
                named, optional={"labels": anything, "annotations": anything}
            ),
        },
        optional={
            "spec": _objects(
                components=st.lists(components(), max_size=3) | anything,
                suspend=anything,
                managedBy=anything,
            )
            | anything
        },
    )
