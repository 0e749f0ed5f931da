"""Which namespaces are teams': by their labels, kept by a watch."""

from collections.abc import Mapping
from typing import Final

from shared.api.json import JsonObject
from shared.api.resource import NAMESPACES
from shared.clock import Clock
from shared.config.admission import LabelSelector
from shared.kube.client import KubeClient
from shared.kube.errors import KubeError, NotFound
from shared.kube.informer import Informer
from webhook.facts import CannotGather
from webhook.metadata import metadata, texts

SECONDS: Final = 2.0


class Namespaces:
    """Knows every namespace's labels once `run` has listed them, and asks for one it misses."""

    def __init__(self, client: KubeClient, clock: Clock, teams: LabelSelector) -> None:
        self._client = client
        self._clock = clock
        self._teams = teams
        self._informer: Informer[Mapping[str, str]] = Informer(
            client, NAMESPACES, project=_labels, clock=clock, metadata_only=True
        )

    async def run(self) -> None:
        """Watches them until cancelled."""
        await self._informer.run()

    def problem(self) -> str | None:
        """Why this replica should not be asked yet; None when it can be."""
        return self._informer.problem()

    async def is_team(self, name: str, *, no_for_sure: bool = False) -> bool | None:
        """Whether the namespace matches `teamNamespaceSelector`. None: there is none of that name.

        A no may be a moment old, unless it shall be `no_for_sure`. Raises CannotGather.
        """
        known = self._informer.get("", name)
        if known is None or (no_for_sure and not self._teams.matches(known)):
            known = await self._live(name)
        return None if known is None else self._teams.matches(known)

    async def _live(self, name: str) -> Mapping[str, str] | None:
        """What the cache lacks may be a moment old: only the API server can say that it is not."""
        try:
            async with self._clock.timeout(SECONDS):
                found: JsonObject = await self._client.get(
                    NAMESPACES, None, name, metadata_only=True
                )
        except NotFound as error:
            if error.of_resource:
                raise CannotGather(f'namespace "{name}" could not be read: {error}') from error
            return None
        except TimeoutError as error:
            text = f'namespace "{name}" could not be read: no answer within {SECONDS:g} s'
            raise CannotGather(text) from error
        except KubeError as error:
            raise CannotGather(f'namespace "{name}" could not be read: {error}') from error
        return _labels(found)


def _labels(namespace: JsonObject) -> Mapping[str, str]:
    return texts(metadata(namespace).get("labels"))
