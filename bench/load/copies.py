"""Stores thousands of AppWrappers by copying, in etcd, two that lived in the cluster.

Two lives by each operator are real: one AppWrapper runs, the other has succeeded. A copy has each
of their objects, byte for byte as the API server stored it, with names and UIDs of the same length.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager

from bench import objects
from bench.arena import CONTROLLERS, Arena
from bench.etcd import Etcd, connected
from bench.load.batch import READY, SUCCEEDED, Batch
from bench.load.kubelets import node
from bench.load.requests import for_each
from bench.profile.window import until_idle
from bench.results import Contender
from shared.api.objects import NODES
from shared.api.times import format_time
from shared.process.clock import SystemClock

BATCH = "copied"
PODS = 10
# The programs that would act on the copies.
_OTHERS = ("kwok", "kueue", "kube-scheduler", "kube-controller-manager")
_APPWRAPPERS = f"/registry/workload.codeflare.dev/appwrappers/{objects.NAMESPACE}/"
_OTHER_OBJECTS = (
    f"/registry/jobs/{objects.NAMESPACE}/",
    f"/registry/pods/{objects.NAMESPACE}/",
    f"/registry/kueue.x-k8s.io/workloads/{objects.NAMESPACE}/appwrapper-",
)
_NODES = "/registry/minions/"
_UID = re.compile(rb"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}")
_NODE = re.compile(rb"gpu-node-[0-9](?![0-9])")


def name_of(number: int) -> str:
    """Returns the AppWrapper of this number; an even one runs, an odd one has succeeded."""
    return f"copy-{number:05d}"


def node_of(number: int) -> str:
    """Returns the node of this number, whose name is as long as those of the cluster's nodes."""
    return f"node-{number:05d}"


def copied(text: bytes, names: Mapping[str, str], number: int) -> bytes:
    """Replaces names, and gives each object's UID the end `number`. Protobuf counts bytes."""
    for old, new in names.items():
        assert len(old) == len(new), (old, new)
        text = text.replace(old.encode(), new.encode())
    return _UID.sub(lambda found: found[0][:24] + b"%012x" % number, text)


class Copies:
    """The copies in one cluster; `async with copies(...)` makes one."""

    def __init__(self, etcd: Etcd, originals: list[dict[str, bytes]], nodes: int) -> None:
        self._etcd = etcd
        self._originals = originals
        self._nodes = nodes
        self._next = len(originals)
        self._numbers: set[int] = set()

    def unused(self, count: int, step: int = 1) -> range:
        """Returns so many numbers, from an even one on, that no AppWrapper has ever had."""
        first = self._next + self._next % 2
        self._next = first + count * step
        return range(first, self._next, step)

    async def store(self, numbers: Iterable[int], *, whole: bool = True) -> None:
        """Stores the AppWrappers of these numbers; without `whole`, they lack all their objects."""

        async def store(number: int) -> None:
            self._numbers.add(number)
            original = name_of(number % 2)
            names = {original: name_of(number)}
            for place, (key, value) in enumerate(self._originals[number % 2].items()):
                if not (whole or key.startswith(_APPWRAPPERS)):
                    continue
                if found := _NODE.search(value):
                    names[found[0].decode()] = node_of((number * PODS + place) % self._nodes)
                text = copied(value, names, number)
                await self._etcd.put(key.replace(original, name_of(number)), text)

        await for_each(numbers, store)

    async def clear(self) -> None:
        """Removes all copies and their originals."""

        async def remove(number: int) -> None:
            for folder in (*_OTHER_OBJECTS, _APPWRAPPERS):
                await self._etcd.delete(folder + name_of(number))

        await for_each({0, 1, *self._numbers}, remove)
        self._numbers.clear()

    async def add_nodes(self, arena: Arena) -> None:
        """Stores the nodes on which the copied pods run."""
        ready = node(node_of(0), format_time(SystemClock().now()))
        await arena.client.create(NODES, None, ready)
        stored = (await self._etcd.stored(_NODES + node_of(0)))[_NODES + node_of(0)]

        async def store(number: int) -> None:
            text = copied(stored, {node_of(0): node_of(number)}, number)
            await self._etcd.put(_NODES + node_of(number), text)

        await for_each(range(1, self._nodes), store)

    async def remove_nodes(self) -> None:
        """Removes these nodes."""
        await self._etcd.delete(_NODES + node_of(0)[:5])


@asynccontextmanager
async def copies(arena: Arena, contender: Contender, nodes: int) -> AsyncIterator[Copies]:
    """Lets this contender lead two lives, then stops its controller and all that act on Jobs.

    Inside the context nothing but etcd, the API server and webhooks runs. Start the controller
    there; it is at work again afterwards.
    """
    processes = arena.cluster.processes
    await arena.activate(contender)
    async with connected(arena.cluster) as etcd:
        made = Copies(etcd, await _originals(arena, etcd), nodes)
        spec = processes[CONTROLLERS[contender]].spec
        await asyncio.gather(*map(processes.stop, (spec.name, *_OTHERS)))
        try:
            await made.add_nodes(arena)
            yield made
        finally:
            await processes.stop(spec.name)
            await made.clear()
            await made.remove_nodes()
            await asyncio.gather(*map(processes.restart, _OTHERS), processes.start(spec))


async def _originals(arena: Arena, etcd: Etcd) -> list[dict[str, bytes]]:
    names = [name_of(0), name_of(1)]
    async with Batch(arena.client, BATCH) as lives:
        await lives.create(
            [objects.running(names[0], BATCH, pods=PODS), objects.ended(names[1], BATCH, PODS)]
        )
        await lives.reached(names[:1], READY)
        await lives.reached(names[1:], SUCCEEDED)
    await until_idle(arena.cluster)
    return [
        {
            key: value
            for folder in (_APPWRAPPERS, *_OTHER_OBJECTS)
            for key, value in (await etcd.stored(folder + name)).items()
        }
        for name in names
    ]
