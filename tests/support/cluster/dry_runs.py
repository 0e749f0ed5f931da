"""Sends the cases of admission to a real API server: dry runs, many at once, over one client."""

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from typing import Final, TypeVar

from localcluster.access.running import RunningCluster
from shared.api.objects import APPWRAPPERS, JsonObject, Resource
from shared.kube import requests
from shared.kube.requests import PatchType, Request
from tests.support.admission_corpus.case import ALICE, ANYWHERE, MEMBERS, TEAM, Case
from tests.support.builders.appwrappers import phase, true_conditions
from tests.support.cluster.another_team import another_team, team_documents
from tests.support.cluster.answers import ApiResponse, Asker, asker
from tests.support.cluster.kubectl import TRIES, UNANSWERED
from tests.support.cluster.removed import removed
from tests.support.cluster.resources import PYTORCH_JOBS
from tests.support.patience import comes_to
from webhook.admission_review import User

AT_ONCE: Final = 16
_RBAC: Final = "rbac.authorization.k8s.io"
# The manifests of operators give their groups to the ClusterRole `edit`.
_OPERATED: Final = (
    "jobset.x-k8s.io",
    "leaderworkerset.x-k8s.io",
    "kubeflow.org",
    "ray.io",
    "trainer.kubeflow.org",
)
_RESOURCES: Final = {each.kind: each for each in (APPWRAPPERS, PYTORCH_JOBS)}
_T = TypeVar("_T")


def operated_role(namespace: str) -> JsonObject:
    """Builds the role to create all objects of the operators' groups."""
    groups = [*_OPERATED, "scheduling.x-k8s.io"]
    return {
        "apiVersion": f"{_RBAC}/v1",
        "kind": "Role",
        "metadata": {"name": "operated", "namespace": namespace},
        "rules": [{"apiGroups": groups, "resources": ["*"], "verbs": ["create"]}],
    }


def bound(namespace: str, kind: str, name: str, group: str) -> JsonObject:
    """Builds the binding of a role to a group."""
    return {
        "apiVersion": f"{_RBAC}/v1",
        "kind": "RoleBinding",
        "metadata": {"name": f"as-{name}", "namespace": namespace},
        "roleRef": {"apiGroup": _RBAC, "kind": kind, "name": name},
        "subjects": [{"apiGroup": _RBAC, "kind": "Group", "name": group}],
    }


def wide_rights(namespace: str, group: str) -> list[JsonObject]:
    """Builds the rights to create all that the cases contain, and the manifests of others' tools.

    Those are more than deploy/team gives, and less than an admin has.
    """
    return [
        operated_role(namespace),
        bound(namespace, "ClusterRole", "edit", group),
        bound(namespace, "Role", "operated", group),
    ]


async def at_once(calls: Iterable[Callable[[], Awaitable[_T]]]) -> list[_T]:
    """Awaits all calls, AT_ONCE at a time; returns the results in the calls' order."""
    turns = asyncio.Semaphore(AT_ONCE)

    async def in_turn(call: Callable[[], Awaitable[_T]]) -> _T:
        async with turns:
            return await call()

    return await asyncio.gather(*map(in_turn, calls))


class DryRuns:
    """Answers cases. Those with a change share the stored object that they change."""

    def __init__(self, cluster: RunningCluster, asking: Asker) -> None:
        self._client = cluster.client
        self._asking = asking
        self._stored: dict[str, Awaitable[None]] = {}

    async def answered(self, case: Case) -> ApiResponse:
        """Returns the API server's answer to the case's request; nothing is stored of it."""
        namespace, resource = case.sent["metadata"]["namespace"], _RESOURCES[case.sent["kind"]]
        if not case.change:
            request = requests.create(resource, namespace, case.sent, dry_run=True)
            return await self._asked(request, case.user)
        name = case.sent["metadata"]["name"]
        await self._until_stored(case, resource)
        patch = requests.patch(resource, namespace, name, list(case.change), PatchType.JSON)
        dry = Request(patch.method, f"{patch.target}?dryRun=All", patch.headers, patch.body)
        return await self._asked(dry, case.user)

    async def clean_up(self) -> None:
        for name in self._stored:
            await removed(self._client, APPWRAPPERS, TEAM, name)

    async def _until_stored(self, case: Case, resource: Resource) -> None:
        name = case.sent["metadata"]["name"]
        if name not in self._stored:
            self._stored[name] = asyncio.ensure_future(self._store(case, resource))
        await self._stored[name]

    async def _store(self, case: Case, resource: Resource) -> None:
        metadata = case.sent["metadata"]
        response = await self._asked(
            requests.create(resource, metadata["namespace"], case.sent), ALICE
        )
        assert response.code == 201, (case.name, response)

        async def runs() -> bool:
            now = await self._client.get(resource, metadata["namespace"], metadata["name"])
            return phase(now) == "Running" and "PodsReady" in true_conditions(now)

        if case.running:
            await comes_to(runs, True)

    async def _asked(self, request: Request, user: User) -> ApiResponse:
        """Retries, as a user would, if the webhook got no answer about the user's rights."""
        for _ in range(TRIES):
            groups = (*user.groups, "system:authenticated")
            response = await self._asking.answer(request, user.name, user.uid, groups)
            if not UNANSWERED.search(json.dumps(response.object.get("message", ""))):
                break
        return response


@asynccontextmanager
async def dry_runs(cluster: RunningCluster) -> AsyncGenerator[DryRuns, None]:
    """Yields the runner, with the team of the cases and a namespace of no team."""
    anywhere = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": ANYWHERE}}
    [group] = MEMBERS
    documents = [
        *team_documents(TEAM),
        *wide_rights(TEAM, group),
        anywhere,
        bound(ANYWHERE, "ClusterRole", "edit", group),
    ]
    async with (
        another_team(cluster, TEAM, documents),
        asker(cluster.kubeconfig) as asking,
    ):
        runner = DryRuns(cluster, asking)
        try:
            yield runner
        finally:
            await runner.clean_up()
