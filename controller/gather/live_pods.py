"""List AppWrappers' pods live, because a cache proves nothing.

One list answers all passes of a namespace that wait for one: in a burst the API server answers
fewer, larger lists. A list begins after the passes that it answers asked for it.

An API server answers a live list from its watch cache. If no pod changes, the cache learns only
every 100 ms from etcd that it is current. This wait costs no CPU, so the pass does not keep another
from beginning: else three passes at once end 30 deletions a second.
"""

import asyncio
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from controller.facts.pods import Pod, project_pod
from shared.api.names import LABEL_APPWRAPPER
from shared.api.objects import PODS, JsonObject, is_label_value
from shared.kube.client import ApiError, KubeClient, KubeError

T = TypeVar("T")

# AppWrappers in one list. Their names are in the URL, each at most 63 characters long.
MOST_AT_ONCE: Final = 50


@dataclass(slots=True, eq=False)
class _Ask:
    """A pass that waits for a list. `found`: what it keeps of its pods, once the list has ended."""

    name: str
    kept: Callable[[JsonObject], Any]
    found: list[Any] | None = None
    error: KubeError | None = None

    @property
    def answered(self) -> bool:
        return self.found is not None or self.error is not None


@dataclass(slots=True)
class _Line:
    """The passes of a namespace that wait. The one that has the turn lists for the others too."""

    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    asks: list[_Ask] = field(default_factory=list)


def _counts(_key: tuple[str, str]) -> AbstractContextManager[None]:
    return nullcontext()


class LivePods:
    """Runs at most one list in a namespace at a time.

    A pass waits inside `only_waits(key)`.
    """

    def __init__(
        self,
        client: KubeClient,
        only_waits: Callable[[tuple[str, str]], AbstractContextManager[None]] = _counts,
    ) -> None:
        self._client = client
        self._only_waits = only_waits
        self._lines: dict[str, _Line] = {}

    async def pods(self, key: tuple[str, str]) -> list[Pod]:
        """List every pod with the AppWrapper's label, of any attempt. Raises KubeError."""
        return await self.read(key, project_pod)

    async def read(self, key: tuple[str, str], kept: Callable[[JsonObject], T]) -> list[T]:
        """Return what `kept` returns for each of these pods. Raises KubeError.

        Pods are read page by page, because they are large.
        """
        namespace, name = key
        if not is_label_value(name):
            return []  # no pod can have that label value, and the API server would reject it
        ask = _Ask(name, kept)
        line = self._lines.setdefault(namespace, _Line())
        line.asks.append(ask)
        try:
            with self._only_waits(key):
                async with line.turn:
                    if not ask.answered:
                        others = [one for one in line.asks if one is not ask and not one.answered]
                        await self._list(namespace, [ask, *others[: MOST_AT_ONCE - 1]])
        finally:
            line.asks.remove(ask)
            if not line.asks:
                del self._lines[namespace]
        if ask.found is None:
            raise ask.error or RuntimeError("no list answered")
        return ask.found

    async def _list(self, namespace: str, asks: list[_Ask]) -> None:
        """Answer these passes, all with the same error if the list fails.

        An answer without a resourceVersion is no list, even with status 200: it proves nothing.
        """
        found: dict[_Ask, list[Any]] = {each: [] for each in asks}
        names = sorted({each.name for each in asks})
        selected = f"={names[0]}" if len(names) == 1 else f" in ({','.join(names)})"
        pages = self._client.pages(PODS, namespace, label_selector=LABEL_APPWRAPPER + selected)
        try:
            async for page in pages:
                if not page.resource_version:
                    raise ApiError(200, "NotAList", "the answer to a list of pods is no list")
                for item in page.items:
                    label = item["metadata"]["labels"][LABEL_APPWRAPPER]
                    for each in asks:
                        if each.name == label:
                            found[each].append(each.kept(item))
        except KubeError as error:
            for each in asks:
                each.error = error
        else:
            for each in asks:
                each.found = found[each]
