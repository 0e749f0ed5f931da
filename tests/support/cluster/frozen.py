"""Asserts that users may not change what an operator made of a component."""

from typing import Any

from shared.api.objects import Resource
from shared.kube import requests
from shared.kube.client import PatchType
from tests.support.cluster.another_team import member_of
from tests.support.cluster.answers import answer
from tests.support.cluster.lives import NAMESPACE, Lives
from tests.support.patience import comes_to

_FROZEN = "denied request: spec cannot be changed: Kueue counted it as it was submitted. "


async def is_frozen(lives: Lives, resource: Resource, name: str, change: Any) -> None:
    """For a user with `edit`, once the API server knows of that."""
    rbac = "rbac.authorization.k8s.io"
    binding = {
        "apiVersion": f"{rbac}/v1",
        "kind": "RoleBinding",
        "metadata": {"name": "edit", "namespace": NAMESPACE},
        "roleRef": {"apiGroup": rbac, "kind": "ClusterRole", "name": "edit"},
        "subjects": [{"apiGroup": rbac, "kind": "User", "name": "editor"}],
    }
    await lives.cluster.apply([binding])
    editor = member_of(lives.cluster, NAMESPACE, "editor")
    before = await lives.client.get(resource, NAMESPACE, name)
    request = requests.patch(resource, NAMESPACE, name, change, PatchType.JSON)

    async def refused() -> bool:
        return _FROZEN in str((await answer(editor, request)).object.get("message"))

    await comes_to(refused, True)
    assert (await lives.client.get(resource, NAMESPACE, name))["spec"] == before["spec"]
