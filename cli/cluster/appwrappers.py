"""Read the AppWrappers that a user names. I/O only."""

from dataclasses import dataclass
from difflib import get_close_matches

from cli.cluster.connection import Cluster
from cli.cluster.reader import NO_APPWRAPPERS
from cli.command import CommandError
from shared.api.objects import APPWRAPPERS, JsonObject
from shared.kube.client import Forbidden, NotFound
from shared.waits.words import few


@dataclass(frozen=True, slots=True)
class AppWrapperReader:
    """Reads under the user's rights. `namespace`: of the AppWrappers."""

    cluster: Cluster
    namespace: str

    async def appwrapper(self, name: str) -> JsonObject:
        """Read the AppWrapper. Raises CommandError, with similar names, if it does not exist."""
        try:
            return await self.cluster.client.get(APPWRAPPERS, self.namespace, name)
        except NotFound as error:
            if error.of_resource:
                raise CommandError(NO_APPWRAPPERS) from error
            raise CommandError(await self._missing(name)) from error

    async def all(self) -> list[JsonObject]:
        """Read every AppWrapper of the namespace, sorted by name. Raises Forbidden."""
        pages = self.cluster.client.pages(APPWRAPPERS, self.namespace)
        found = [each async for page in pages for each in page.items]
        return sorted(found, key=lambda each: str(each["metadata"]["name"]))

    async def _missing(self, name: str) -> str:
        text = f'there is no AppWrapper "{name}" in namespace {self.namespace}'
        try:
            names = [str(each["metadata"]["name"]) for each in await self.all()]
        except Forbidden:
            return f"{text}. Use -n to name another namespace"
        if near := get_close_matches(name, names, n=3):
            return f"{text}. Did you mean {' or '.join(near)}?"
        if not names:
            return f"{text}, which has none at all. Use -n to name another namespace"
        return f"{text}. It has {few(names)}"
