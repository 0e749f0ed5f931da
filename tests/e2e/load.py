"""AppWrappers that come, are changed and go at a steady pace, over several connections."""

import asyncio
import re
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from localcluster.access.clients import connect_patiently
from shared.api.names import LABEL_QUEUE_NAME, LABEL_USER
from shared.api.objects import APPWRAPPERS, JsonObject
from shared.kube.client import KubeClient, KubeError, PatchType, Propagation
from tests.support.builders.appwrappers import appwrapper
from tests.support.builders.jobs import job
from tests.support.cluster.kubectl import RIGHTS_UNKNOWN
from tests.support.cluster.senders import send_steadily
from tests.support.patience import comes_to

CONNECTIONS = 4
# Every so-manieth AppWrapper goes through its whole life, on a simulated node; nobody runs the
# others, of which every second one is deleted again.
WHOLE_LIFE = 20
RUNNERS = 6
_KUEUE_IS_LATE = re.compile(r"kueue-webhook-service\..*(deadline exceeded|Client\.Timeout)")


@dataclass(frozen=True, slots=True)
class Answer:
    """One request. Times are seconds of time.monotonic(); `error` is None where it was served."""

    verb: str
    name: str
    began: float
    ended: float
    error: str | None


@dataclass(slots=True)
class Load:
    """`rate` creates a second in `namespace`, each followed by an update, some by a delete.

    No request is sent twice. There are fewer on a busy machine: else they pile up, and the API
    server has no answer for the webhook within its time, which is no refusal by an update.
    """

    clients: Sequence[KubeClient]
    namespace: str
    rate: float
    answers: list[Answer] = field(default_factory=list)
    stored: dict[str, JsonObject] = field(default_factory=dict)
    _running: asyncio.Task[None] | None = None

    def begin(self, until: asyncio.Event) -> asyncio.Task[None]:
        """Done once all is answered that was begun before `until` was set."""
        work = send_steadily(
            self._one,
            rate=self.rate,
            senders=len(self.clients),
            goes_on=lambda _: not until.is_set(),
        )
        self._running = asyncio.create_task(work)
        return self._running

    async def stop(self) -> None:
        """Ends it where the test did not come to that."""
        if self._running is not None:
            self._running.cancel()
            await asyncio.gather(self._running, return_exceptions=True)

    async def more(self, answers: int) -> None:
        """Return after so many more answers."""
        before = len(self.answers)

        async def are_there() -> bool:
            return len(self.answers) >= before + answers

        await comes_to(are_there, True)

    async def has_runners(self) -> bool:
        """True once enough of them go through their whole life."""
        return len(self.runners) >= RUNNERS

    @property
    def failed(self) -> list[Answer]:
        """What was refused or not answered, by whoever was replaced.

        A webhook that serves, and says that the API server has not told it in time what the user
        may do, says that the machine is too busy. So does Kueue's, which is not replaced, if it
        does not answer in time.
        """
        return [
            each
            for each in self.answers
            if each.error is not None
            and not RIGHTS_UNKNOWN.search(each.error)
            and not _KUEUE_IS_LATE.search(each.error)
        ]

    @property
    def runners(self) -> list[str]:
        """Those that go through their whole life."""
        return [name for name in self.stored if _runs(_index(name))]

    @property
    def unlabelled(self) -> list[str]:
        """Those that were stored without what the webhook adds."""
        return [
            name
            for name, item in self.stored.items()
            if not {LABEL_USER, LABEL_QUEUE_NAME} <= set(item["metadata"].get("labels") or {})
        ]

    def summary(self) -> str:
        """How the load really was."""
        verbs = {verb: 0 for verb in ("create", "update", "delete")}
        for each in self.answers:
            verbs[each.verb] += 1
        creates = sorted(each.began for each in self.answers if each.verb == "create")
        pace = (len(creates) - 1) / (creates[-1] - creates[0])
        slowest = max(each.ended - each.began for each in self.answers)
        return (
            f"{verbs}; {pace:.1f} creates a second, at most {self.rate:g}; the slowest answer took"
            f" {slowest:.2f} s"
        )

    async def _one(self, index: int) -> None:
        client, name = self.clients[index % len(self.clients)], f"load-{index}"
        created = await self._ask("create", client, name, _body(index, name))
        if created is None:
            return
        self.stored[name] = created
        await self._ask("update", client, name)
        if not _runs(index) and index % 2:
            await self._ask("delete", client, name)
            del self.stored[name]

    async def _ask(
        self, verb: str, client: KubeClient, name: str, body: JsonObject | None = None
    ) -> JsonObject | None:
        began, error, answer = time.monotonic(), None, None
        try:
            answer = await self._send(verb, client, name, body)
        except KubeError as failure:
            error = f"{type(failure).__name__}: {failure}"
        self.answers.append(Answer(verb, name, began, time.monotonic(), error))
        return answer

    async def _send(
        self, verb: str, client: KubeClient, name: str, body: JsonObject | None
    ) -> JsonObject | None:
        if body is not None:
            path = f"/apis/workload.codeflare.dev/v1beta2/namespaces/{self.namespace}/appwrappers"
            return await client.post(path, body, retry=False)
        if verb == "update":
            patch = {"metadata": {"annotations": {"example.com/updated": "yes"}}}
            return await client.patch(APPWRAPPERS, self.namespace, name, patch, PatchType.MERGE)
        propagation = Propagation.BACKGROUND
        await client.delete(APPWRAPPERS, self.namespace, name, uid=None, propagation=propagation)
        return None


@asynccontextmanager
async def loading(kubeconfig: Path, namespace: str, rate: float) -> AsyncGenerator[Load, None]:
    """The load, under the identity of `kubeconfig`, over connections of its own."""
    async with AsyncExitStack() as stack:
        clients = []
        for _ in range(CONNECTIONS):
            client = await connect_patiently(kubeconfig, "load")
            stack.push_async_callback(client.close)
            clients.append(client)
        load = Load(clients, namespace, rate)
        stack.push_async_callback(load.stop)
        yield load


def _index(name: str) -> int:
    return int(name.rpartition("-")[2])


def _runs(index: int) -> bool:
    return index % WHOLE_LIFE == 0


def _body(index: int, name: str) -> JsonObject:
    made = appwrapper(name, _simulated(job(name, 1, run_for="1s")), queued=False)
    if not _runs(index):
        made["spec"]["managedBy"] = "example.com/nobody"
    return made


def _simulated(body: JsonObject) -> JsonObject:
    """On one of the simulated nodes, which others stay away from."""
    spec = body["spec"]["template"]["spec"]
    spec["tolerations"] = [{"key": "kwok.x-k8s.io/node", "operator": "Exists"}]
    spec["nodeSelector"] = {"kubernetes.io/hostname": "gpu-node-1"}
    return body
