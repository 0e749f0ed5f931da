"""Read the schema of pods from the API server, and read it again after an upgrade."""

import logging
from typing import Final

from shared.api.objects import JsonObject
from shared.kube.client import KubeClient, KubeError
from shared.pod_schema.definitions import definitions_of
from shared.pod_schema.pod_schema import PodSchema, PodSchemaError
from shared.process.backoff import ExponentialBackoff
from shared.process.clock import Clock

_log: Final = logging.getLogger(__name__)

INDEX: Final = "/openapi/v3"

# Seconds. Only an upgrade of the API server changes the schema. The small index shows a change.
READ_PERIOD: Final = 120.0
FIRST_DELAY: Final = 0.2
LONGEST_DELAY: Final = 15.0


class PodSchemaSource:
    """Hold the schema of pods that the API server published last. `run` keeps it current."""

    def __init__(self, client: KubeClient, clock: Clock) -> None:
        self._client = client
        self._clock = clock
        self._backoff: ExponentialBackoff[None] = ExponentialBackoff(FIRST_DELAY, LONGEST_DELAY)
        self._schema: PodSchema | None = None
        # The path of the document that `_schema` is made from; it contains a hash of the content.
        self._address: str | None = None
        self._trouble = "the API server was not asked yet"

    def current(self) -> PodSchema | None:
        """Return the schema, None before the first answer. Later failures keep the old one."""
        return self._schema

    def problem(self) -> str | None:
        """Return why no pod template can be checked, None if it can."""
        if self._schema is not None:
            return None
        return f"the schema of pods is not known yet: {self._trouble}"

    async def load(self) -> None:
        """Read once. Raise KubeError or PodSchemaError, and then keep the old schema."""
        try:
            await self._read()
        except (KubeError, PodSchemaError) as error:
            self._trouble = str(error)
            raise

    async def run(self) -> None:
        """Read repeatedly until cancelled, also after failures."""
        while True:
            try:
                await self.load()
            except (KubeError, PodSchemaError) as error:
                delay = self._backoff.next_delay(None)
                _log.warning("cannot read the schema of pods, next try in %.1f s: %s", delay, error)
            else:
                self._backoff.forget(None)
                delay = READ_PERIOD
            await self._clock.sleep(delay)

    async def _read(self) -> None:
        address = _address_in(await self._client.get_path(INDEX))
        if address == self._address:
            return
        document = await self._client.get_path(address)
        self._schema = PodSchema(definitions_of(document))
        self._address = address
        _log.info("read the schema of pods from %s", address)


def _address_in(index: JsonObject) -> str:
    """Return the path of the core group's document. Raise PodSchemaError."""
    match index:
        case {"paths": {"api/v1": {"serverRelativeURL": str(address)}}}:
            return address
    raise PodSchemaError(f"{INDEX} names no document for api/v1")
