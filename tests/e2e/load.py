"""AppWrappers that come, are changed and go at a steady pace, over several connections."""

import asyncio
import itertools
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from shared.api.names import LABEL_QUEUE_NAME, LABEL_USER
from shared.api.objects import APPWRAPPERS, JsonObject
from shared.kube.client import KubeClient, KubeError, PatchType, Propagation
from shared.kube.http_client import connect
from tests.support.builders.appwrappers import appwrapper
from tests.support.builders.jobs import job
from tests.support.cluster.kubectl import UNANSWERED

CONNECTIONS = 4
# Every so-manieth AppWrapper goes through its whole life, on a simulated node; nobody runs the
# others, of which every second one is deleted again.
WHOLE_LIFE = 20


@dataclass(frozen=True, slots=True)
class Answer:
    """One request. Times are of time.monotonic(), in seconds; `error` is None where it was served.

    `due` is when it should have begun.
    """

    verb: str
    name: str
    due: float
    began: float
    ended: float
    error: str | None


@dataclass(slots=True)
class Load:
    """`rate` creates a second in `namespace`, each followed by an update, some by a delete.

    No request is sent twice. On a machine that is too busy for that rate a create waits until fewer
    than `at_once` AppWrappers are under way: else they pile up, and the API server has no answer
    for the webhook within its time, which is no refusal by an update.
    """

    clients: Sequence[KubeClient]
    namespace: str
    rate: float
    at_once: int = 8
    answers: list[Answer] = field(default_factory=list)
    stored: dict[str, JsonObject] = field(default_factory=dict)
    _pending: set[asyncio.Task[None]] = field(default_factory=set)
    _running: asyncio.Task[None] | None = None

    def begin(self, until: asyncio.Event) -> asyncio.Task[None]:
        """Done once all is answered that was begun before `until` was set."""
        self._running = asyncio.create_task(self._run(until))
        return self._running

    async def stop(self) -> None:
        """Ends it where the test did not come to that."""
        tasks = [*self._pending, *([self._running] if self._running else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _run(self, until: asyncio.Event) -> None:
        start = time.monotonic()
        for index in itertools.count():
            due = start + index / self.rate
            await asyncio.sleep(max(0.0, due - time.monotonic()))
            while len(self._pending) >= self.at_once:
                await asyncio.wait(self._pending, return_when=asyncio.FIRST_COMPLETED)
            if until.is_set():
                break
            task = asyncio.create_task(self._one(index, due))
            self._pending.add(task)
            task.add_done_callback(self._pending.discard)
        await asyncio.gather(*self._pending)

    @property
    def failed(self) -> list[Answer]:
        """What was refused or not answered, by whoever was replaced.

        A webhook that serves, and says that the API server has not told it in time what the user
        may do, says that the machine is too busy.
        """
        return [
            each
            for each in self.answers
            if each.error is not None and not UNANSWERED.search(each.error)
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
        latest = max(each.began - each.due for each in self.answers if each.verb == "create")
        slowest = max(each.ended - each.began for each in self.answers)
        return (
            f"{verbs}; {pace:.1f} creates a second instead of {self.rate:g}; the latest began"
            f" {latest:.2f} s late; the slowest answer took {slowest:.2f} s"
        )

    async def _one(self, index: int, due: float) -> None:
        client, name = self.clients[index % len(self.clients)], f"load-{index}"
        created = await self._ask("create", client, name, due, _body(index, name))
        if created is None:
            return
        self.stored[name] = created
        await self._ask("update", client, name, time.monotonic(), None)
        if not _runs(index) and index % 2:
            await self._ask("delete", client, name, time.monotonic(), None)
            del self.stored[name]

    async def _ask(
        self, verb: str, client: KubeClient, name: str, due: float, body: JsonObject | None
    ) -> JsonObject | None:
        began, error, answer = time.monotonic(), None, None
        try:
            answer = await self._send(verb, client, name, body)
        except KubeError as failure:
            error = f"{type(failure).__name__}: {failure}"
        self.answers.append(Answer(verb, name, due, began, time.monotonic(), error))
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
            client = await connect(str(kubeconfig), user_agent="load")
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
