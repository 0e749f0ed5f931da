"""Manage the certificate: make it, share it in a Secret, and make the API server trust it.

Watches only start a pass. A pass repeats until no step remains: read the Secret and both webhook
configurations live, ask `rotate` for the next step, take it. A replica with a stale watch therefore
never acts on old content.

The replicas share the Secret, and never log its content. A write has the resourceVersion of the
read: if several replicas write at once, one succeeds. The others receive a Conflict and read the
new content. In the webhook configurations the replicas change nothing but their CAs. A deleted
configuration stays deleted, and a changed failurePolicy stays changed: admins use both while the
webhook is broken.
"""

import asyncio
import logging
import ssl
from collections import deque
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, NamedTuple, TypeVar

from cryptography.x509 import Certificate

from shared.api.names import ANNOTATION_ROTATE
from shared.api.objects import (
    MUTATING_WEBHOOK_CONFIGURATIONS,
    SECRETS,
    VALIDATING_WEBHOOK_CONFIGURATIONS,
    JsonObject,
    Resource,
)
from shared.config.configuration import CertManagement
from shared.kube.client import Conflict, KubeClient, KubeError, NotFound, PatchType
from shared.kube.informer import Informer
from shared.process.backoff import ExponentialBackoff
from shared.process.logs import without_contents
from shared.process.sources import Sources
from webhook.tls.certificate_secret import (
    KEYS,
    Contents,
    ServiceName,
    ca_bundles,
    encode,
    parse,
    patch,
)
from webhook.tls.issue import expires_at
from webhook.tls.rotate import (
    Publish,
    RotationRequest,
    Serve,
    Served,
    Step,
    View,
    Wait,
    Write,
    decide,
    trusted_since,
)
from webhook.tls.server_clock import ServerClock
from webhook.tls.serving_context import ServingContext, context_of, load, make_stopgap

_log: Final = logging.getLogger(__name__)

# Seconds until the next pass without any event: the monotonic clock of a machine that slept did not
# advance, and a broken watch may be silent.
_LONGEST_WAIT: Final = 300.0
_FIRST_DELAY: Final = 0.1
_LONGEST_DELAY: Final = 10.0
# More writes in a window (seconds) than any rotation needs: two clients that keep reverting each
# other cost one write a second.
_BURST: Final = 10
_WINDOW: Final = 10.0
_LONGEST_REQUEST_SHOWN: Final = 40

_Read = TypeVar("_Read")


class StoredObject(NamedTuple):
    """An object that the replicas share."""

    resource: Resource
    namespace: str | None
    name: str

    def __str__(self) -> str:
        name = self.name if self.namespace is None else f"{self.namespace}/{self.name}"
        return f"{self.resource.kind} {name}"


class _TooManyWrites(Exception):
    """Raised for a write above the limit of writes."""


@dataclass(frozen=True, slots=True)
class _Observed:
    """The objects as just read; None for an absent one.

    `unread` is why the Secret or the configurations could not be read; never both. Steps that need
    the unread ones wait; the other steps are taken.
    """

    view: View
    secret: JsonObject | None
    configurations: Mapping[StoredObject, JsonObject | None]
    unread: KubeError | None


class ManagedCertificateSource:
    """The source with `source: SelfManaged`. It needs only the rights of rbac.py."""

    def __init__(self, client: KubeClient, certificates: CertManagement, sources: Sources) -> None:
        self._client = client
        self._clock = sources.clock
        self._time = ServerClock(sources.clock, client.server_ahead)
        self._config = certificates
        self._secret = StoredObject(
            SECRETS, certificates.namespace, certificates.webhook_secret_name
        )
        mutating = certificates.mutating_webhook_config_name
        validating = certificates.validating_webhook_config_name
        self._configurations = (
            StoredObject(MUTATING_WEBHOOK_CONFIGURATIONS, None, mutating),
            StoredObject(VALIDATING_WEBHOOK_CONFIGURATIONS, None, validating),
        )
        self._service = ServiceName(certificates.namespace, certificates.webhook_service_name)
        self._serving = ServingContext()
        load(self._serving.front, make_stopgap(sources.clock.now()))
        self._served: Served | None = None
        self._since: dict[Certificate, datetime] = {}
        self._last_known = Contents()
        self._written: deque[float] = deque(maxlen=_BURST)
        self._backoff: ExponentialBackoff[None] = ExponentialBackoff(_FIRST_DELAY, _LONGEST_DELAY)
        self._changed = asyncio.Event()
        self._warnings: tuple[str, ...] = ()
        self._watches = [
            self._watch(sources, *each) for each in (self._secret, *self._configurations)
        ]

    @property
    def context(self) -> ssl.SSLContext:
        return self._serving.front

    @property
    def not_after(self) -> datetime | None:
        """Return when the served certificate expires; None without one."""
        return None if self._served is None else expires_at(self._served.leaf)

    def problem(self) -> str | None:
        """Return why clients will not accept the connection; None if they will."""
        end = self.not_after
        if end is not None and self._time.now() < end:
            return None
        if end is None:
            why = self.warning() or f"{self._secret} and the caBundles are being read"
            return f"there is no certificate to serve yet: {why}"
        return f"the certificate expired at {end}: {self.warning() or 'it was not renewed'}"

    def warning(self) -> str | None:
        """Return what an admin should correct; None if nothing.

        A warning makes no replica unready: without an endpoint every request would fail.
        """
        return "; ".join(self._warnings) or None

    async def run(self) -> None:
        """Keep the certificate valid until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            for watch in self._watches:
                tasks.create_task(watch.run())
            while True:
                self._changed.clear()
                delay = tasks.create_task(self._clock.sleep(await self._pass_or_delay()))
                changed = tasks.create_task(self._changed.wait())
                await asyncio.wait((changed, delay), return_when=asyncio.FIRST_COMPLETED)
                changed.cancel()
                delay.cancel()

    async def _pass_or_delay(self) -> float:
        """Run a pass. Return the seconds until the next."""
        try:
            return await self._pass()
        except KubeError as error:
            self._warn((f"the certificates cannot be managed: {error}",))
        except Exception as error:  # noqa: BLE001  the served certificate stays valid for weeks
            what = f"the certificates cannot be managed: {type(error).__name__}"
            _log.error("%s", what, extra={"exception": without_contents(error)})
            self._warn((f"{what}; the log shows where",))
        return self._backoff.next_delay(None)

    async def _pass(self) -> float:
        failures: dict[type[Step], str] = {}
        while True:
            observed = await self._observe()
            now = self._time.now()
            step = decide(observed.view, now, self._config, frozenset(failures))
            if isinstance(step, Wait):
                self._warn((*self._problems_in(observed), *failures.values()))
                if failures or observed.unread is not None:
                    return self._backoff.next_delay(None)
                self._backoff.forget(None)
                return min(_LONGEST_WAIT, (step.until - now).total_seconds())
            try:
                await self._take(step, observed)
            except Conflict as conflict:
                _log.info("another client wrote first, reading again: %s", conflict)
            except (KubeError, _TooManyWrites, ssl.SSLError) as error:
                failures[type(step)] = f"cannot {step}: {error}"

    async def _observe(self) -> _Observed:
        """Read the Secret and the configurations. Raise KubeError if both reads fail."""
        # The Secret last: its CAs are then at least as new as the caBundle that they replace. If
        # the caBundle changes meanwhile, the write fails with a Conflict.
        reads = asyncio.gather(*(self._read(each) for each in self._configurations))
        read, unread = await _tried(reads)
        self._time.correct()
        if read is None:
            secret = await self._read(self._secret)
        else:
            secret, unread = await _tried(self._read(self._secret))
        configurations = dict(zip(self._configurations, read or (), strict=False))
        if secret is not None:
            contents = parse(secret.get("data") or {})
            self._last_known = replace(contents, problems=())
        else:
            contents = self._last_known
        found = [each for each in configurations.values() if each is not None]
        published = tuple(one for each in found for one in ca_bundles(each, self._service))
        if read is not None:
            served = set() if self._served is None else {self._served.authority}
            concerned = {*contents.trusted, *served}
            self._since = trusted_since(self._since, published, concerned, self._time.now())
        requested = _requested(secret)
        view = View(
            contents,
            stored=secret is not None,
            absent=secret is None and unread is None,
            request=RotationRequest(requested) if requested in list(RotationRequest) else None,
            published=None if read is None else published,
            since={} if read is None else self._since,
            served=self._served,
        )
        return _Observed(view, secret, configurations, unread)

    async def _read(self, stored: StoredObject) -> JsonObject | None:
        """Return None for an absent object. Raise KubeError: no failed read is an absent object."""
        try:
            return await self._client.get(stored.resource, stored.namespace, stored.name)
        except NotFound as error:
            if error.of_resource:
                raise
            return None

    async def _take(self, step: Write | Serve | Publish, observed: _Observed) -> None:
        if isinstance(step, Serve):
            self._serving.swap(context_of(step.leaf))
            self._served = Served(step.leaf.certificate, step.authority)
            _log.info("serving a certificate that is valid until %s", self.not_after)
            return
        now = self._clock.monotonic()
        if len(self._written) == _BURST and now < self._written[0] + _WINDOW:
            raise _TooManyWrites("another client keeps reverting it, so the next write is delayed")
        self._written.append(now)
        if isinstance(step, Publish):
            await self._publish(observed.configurations, step.bundle)
        else:
            assert observed.secret is not None
            await self._write(observed.secret, step)
            _log.info("%s: %s", self._secret, step)

    async def _publish(
        self, configurations: Mapping[StoredObject, JsonObject | None], bundle: bytes
    ) -> None:
        """Write `bundle` where it differs. Wait for both writes, then raise the first error."""
        writes = [
            self._patch(configuration, operations)
            for configuration, raw in configurations.items()
            if raw is not None and (operations := patch(raw, self._service, bundle))
        ]
        for result in await asyncio.gather(*writes, return_exceptions=True):
            if result is not None:
                raise result

    async def _patch(self, configuration: StoredObject, operations: list[JsonObject]) -> None:
        await self._client.patch(
            configuration.resource, None, configuration.name, operations, PatchType.JSON
        )
        _log.info("wrote the caBundle of %s", configuration)

    async def _write(self, secret: JsonObject, step: Write) -> None:
        """Replace the contents, and remove an answered request. Foreign items stay."""
        data = {key: value for key, value in (secret.get("data") or {}).items() if key not in KEYS}
        metadata = dict(secret["metadata"])
        if step.answers:
            annotations = dict(metadata["annotations"])
            del annotations[ANNOTATION_ROTATE]
            metadata["annotations"] = annotations
        body = {**secret, "metadata": metadata, "data": {**data, **encode(step.contents)}}
        await self._client.update(SECRETS, self._secret.namespace, self._secret.name, body)

    def _problems_in(self, observed: _Observed) -> list[str]:
        """Return the problems in the objects that an admin should correct."""
        found = [
            f"{name} does not exist: the API server does not call the webhook"
            for name, raw in observed.configurations.items()
            if raw is None
        ]
        if (clock := self._time.warning()) is not None:
            found.append(clock)
        if observed.unread is not None:
            found.append(f"the certificates can be managed only in part: {observed.unread}")
        elif observed.secret is None:
            found.append(
                f"{self._secret} does not exist: create it without data (kubectl apply -k); until "
                "then nothing is renewed"
            )
        requested = _requested(observed.secret)
        if requested is not None and observed.view.request is None:
            found.append(
                f"{self._secret}: its annotation {ANNOTATION_ROTATE} asks for "
                f"{requested[:_LONGEST_REQUEST_SHOWN]!r}; "
                f"it may ask for {' or '.join(RotationRequest)}"
            )
        return found

    def _warn(self, warnings: tuple[str, ...]) -> None:
        for warning in warnings:
            if warning not in self._warnings:
                _log.warning("%s", warning)
        self._warnings = warnings

    def _watch(
        self, sources: Sources, resource: Resource, namespace: str | None, name: str
    ) -> Informer[str]:
        # Metadata only: the Secret's content is read when a pass needs it, and not cached.
        watch: Informer[str] = Informer(
            self._client,
            resource,
            transform=_version,
            sources=sources,
            namespace=namespace,
            field_selector=f"metadata.name={name}",
            metadata_only=True,
        )
        watch.add_handler(lambda _change: self._changed.set())
        return watch


def _requested(secret: JsonObject | None) -> str | None:
    if secret is None:
        return None
    value: str | None = (secret["metadata"].get("annotations") or {}).get(ANNOTATION_ROTATE)
    return value


async def _tried(reading: Awaitable[_Read]) -> tuple[_Read | None, KubeError | None]:
    try:
        return await reading, None
    except KubeError as error:
        return None, error


def _version(raw: JsonObject) -> str:
    version: str = raw["metadata"]["resourceVersion"]
    return version
