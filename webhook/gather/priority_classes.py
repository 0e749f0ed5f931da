"""Know the cluster's PriorityClasses: by a watch, and by a live list where the watch may lag."""

from contextlib import aclosing
from typing import Final

from shared.api.objects import JsonObject, Resource, metadata
from shared.kube.client import KubeClient, KubeError
from shared.kube.informer import Informer
from shared.process.sources import Sources
from webhook.rules.submission import CannotGather

PRIORITY_CLASSES: Final = Resource(
    "scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass", namespaced=False
)
# Together with the other facts of a directly created object: less than the API server waits.
SECONDS: Final = 1.0


class PriorityClasses:
    """Cache the names of all PriorityClasses while `run` runs."""

    def __init__(self, client: KubeClient, sources: Sources) -> None:
        self._client = client
        self._clock = sources.clock
        self._informer: Informer[bool] = Informer(
            client,
            PRIORITY_CLASSES,
            transform=lambda _: True,
            sources=sources,
            metadata_only=True,
        )

    async def run(self) -> None:
        await self._informer.run()

    def problem(self) -> str | None:
        """Return why this replica cannot answer yet, None if it can."""
        return self._informer.problem()

    def cached(self) -> frozenset[str]:
        """Return the names that the watch reported."""
        return frozenset(name for (_, name), _ in self._informer.items())

    async def live(self) -> frozenset[str]:
        """Read the names now: one `kubectl apply` may create a class and what names it.

        One list confirms all names of a request. Raise CannotGather.
        """
        try:
            async with self._clock.timeout(SECONDS):
                return frozenset([str(metadata(each)["name"]) for each in await self._listed()])
        except TimeoutError as error:
            text = f"the priority classes could not be read: no answer within {SECONDS:g} s"
            raise CannotGather(text) from error
        except KubeError as error:
            raise CannotGather(f"the priority classes could not be read: {error}") from error

    async def _listed(self) -> list[JsonObject]:
        pages = self._client.pages(PRIORITY_CLASSES, metadata_only=True)
        async with aclosing(pages):
            return [each async for page in pages for each in page.items]
