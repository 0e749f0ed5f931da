from typing import Any

import pytest

from webhook.rules.queue import controller_references

OWNER: dict[str, Any] = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "1"}


def test_the_one_with_controller_true_is_the_controller() -> None:
    owners = [{**OWNER, "uid": "2"}, {**OWNER, "controller": True, "blockOwnerDeletion": True}]
    assert controller_references({"metadata": {"ownerReferences": owners}}) == {
        ("v1", "Pod", "p", "1")
    }


@pytest.mark.parametrize(
    "target",
    [
        None,
        {},
        {"metadata": {}},
        {"metadata": {"ownerReferences": None}},
        {"metadata": {"ownerReferences": "x"}},
        {"metadata": {"ownerReferences": ["x"]}},
        {"metadata": {"ownerReferences": [OWNER]}},
        {"metadata": {"ownerReferences": [{**OWNER, "controller": False}]}},
        {"metadata": {"ownerReferences": [{**OWNER, "controller": 1}]}},
    ],
)
def test_otherwise_there_is_none(target: Any) -> None:
    assert not controller_references(target)
