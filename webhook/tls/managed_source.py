"""Manage the certificate: make it, share it in a Secret, and make the API server trust it.

Watches only start a pass. A pass repeats until no step remains: read the Secret and both webhook
configurations live, ask `rotation` for the next step, take it. A replica with a stale watch
therefore never acts on old content.
"""

import asyncio
import logging
import ssl
from collections.abc import Awaitable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, TypeVar

from cryptography.x509 import Certificate

from shared.api.names import ANNOTATION_ROTATE
from shared.api.objects import SECRETS, JsonObject, Resource
from shared.config.configuration import CertManagement
from shared.kube.client import Conflict, KubeClient, KubeError
from shared.kube.informer import Informer
from shared.process.clock import ExponentialBackoff
from shared.process.logs import without_contents
from shared.process.sources import Sources
from webhook.tls.cluster_objects import CaInjector, Configurations, SecretStore, Stored
from webhook.tls.decisions.ca_bundle import ServiceName, Trust, TrustTracker
from webhook.tls.decisions.certificates import AuthorityName, expires_at, serving_names
from webhook.tls.decisions.rotation import WriteLimit, decide
from webhook.tls.decisions.secret_data import Contents
from webhook.tls.decisions.steps import (
    Action,
    Generate,
    Plan,
    Publish,
    Request,
    Serve,
    Served,
    View,
    Wait,
    answers_request,
    contents_after,
)
from webhook.tls.server_clock import ServerClock
from webhook.tls.source import ServingContext, context_of

_log: Final = logging.getLogger(__name__)

# Seconds until the next pass without any event: the monotonic clock of a machine that slept did not
# advance, and a broken watch may be silent.
_LONGEST_WAIT: Final = 300.0
_FIRST_DELAY: Final = 0.1
_LONGEST_DELAY: Final = 10.0
# More writes at once than any rotation needs. After them, two clients that keep reverting each
# other cost one write a second.
_BURST: Final = 10
_WINDOW: Final = 10.0


def plan_of(certificates: CertManagement) -> Plan:
    """Return the configured names and lifetimes of certificates."""
    return Plan(
        AuthorityName(certificates.certificate_name, certificates.certificate_org),
        serving_names(certificates.namespace, certificates.webhook_service_name),
        certificates.ca_lifetime,
        certificates.leaf_lifetime,
        certificates.settle_period,
        certificates.revocation_period,
    )


_UNKNOWN: Final = Configurations((), (), ())
_Read = TypeVar("_Read")


class _TooManyWrites(Exception):
    """Raised for a write above the limit of writes."""


@dataclass(frozen=True, slots=True)
class _Observed:
    """The objects as just read. `stored` is None if there is no Secret.

    `unread` is why the Secret or the configurations could not be read; never both. Steps that need
    the unread ones wait; the other steps are taken.
    """

    stored: Stored | None
    configurations: Configurations
    view: View
    unread: KubeError | None = None

    @property
    def blocked(self) -> frozenset[type[Action]]:
        """Return the steps to skip: a new CA requires knowledge of the trusted ones."""
        return frozenset({Generate}) if self.configurations is _UNKNOWN else frozenset()


class ManagedCertificateSource:
    """The `CertificateSource` with `source: SelfManaged`. It needs only the rights of rbac.py."""

    def __init__(self, client: KubeClient, certificates: CertManagement, sources: Sources) -> None:
        self._sources = sources
        self._clock = clock = sources.clock
        self._time = ServerClock(clock, client.server_ahead)
        self._plan = plan_of(certificates)
        self._store = SecretStore(client, certificates.namespace, certificates.webhook_secret_name)
        self._keeper = CaInjector(
            client,
            mutating=certificates.mutating_webhook_config_name,
            validating=certificates.validating_webhook_config_name,
            service=ServiceName(certificates.namespace, certificates.webhook_service_name),
        )
        self._serving = ServingContext()
        self._served: Served | None = None
        self._trust = TrustTracker()
        self._last_known = Contents()
        self._pace = WriteLimit(_BURST, _WINDOW)
        self._backoff: ExponentialBackoff[None] = ExponentialBackoff(_FIRST_DELAY, _LONGEST_DELAY)
        self._changed = asyncio.Event()
        self._warnings: tuple[str, ...] = ()
        secret = (SECRETS, certificates.namespace, certificates.webhook_secret_name)
        self._watches = [
            self._watch(client, *each)
            for each in (secret, *((one.resource, None, one.name) for one in self._keeper.names))
        ]

    @property
    def context(self) -> ssl.SSLContext:
        """Return the context to listen with."""
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
            why = self.warning() or f"{self._store} and the caBundles are being read"
            return f"there is no certificate to serve yet: {why}"
        return f"the certificate expired at {end}: {self.warning() or 'it was not renewed'}"

    def warning(self) -> str | None:
        """Return what an admin should correct; None if nothing."""
        return "; ".join(self._warnings) or None

    async def run(self) -> None:
        """Keep the certificate valid until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            for watch in self._watches:
                tasks.create_task(watch.run())
            await self._keep()

    async def _keep(self) -> None:
        while True:
            self._changed.clear()
            delay = await self._pass_or_delay()
            with suppress(TimeoutError):
                await self._wait(delay)

    async def _wait(self, seconds: float) -> None:
        """Wait for a change, at most so many seconds."""
        changed = asyncio.ensure_future(self._changed.wait())
        over = asyncio.ensure_future(self._clock.sleep(seconds))
        try:
            await asyncio.wait((changed, over), return_when=asyncio.FIRST_COMPLETED)
        finally:
            changed.cancel()
            over.cancel()

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
        failures: dict[type[Action], str] = {}
        while True:
            observed = await self._observe()
            now = self._time.now()
            action = decide(observed.view, now, self._plan, observed.blocked | frozenset(failures))
            if isinstance(action, Wait):
                self._warn((*self._problems_in(observed), *failures.values()))
                if failures or observed.unread is not None:
                    return self._backoff.next_delay(None)
                self._backoff.forget(None)
                return min(_LONGEST_WAIT, (action.until - now).total_seconds())
            try:
                await self._do(action, observed)
            except Conflict as conflict:
                _log.info("somebody else was first, looking again: %s", conflict)
            except (KubeError, _TooManyWrites, ssl.SSLError) as error:
                failures[type(action)] = f"cannot {action}: {error}"

    async def _observe(self) -> _Observed:
        """Read the Secret and the configurations. Raise KubeError if both reads fail."""
        # The Secret last: its CAs are then at least as new as the caBundle that they replace. If
        # the caBundle changes meanwhile, the write fails with a Conflict.
        configurations, unread = await _tried(self._keeper.read())
        self._time.correct()
        if configurations is None:
            stored = await self._store.read()
            return _Observed(stored, _UNKNOWN, self._view(stored, (), Trust()), unread)
        stored, unread = await _tried(self._store.read())
        contents = self._last_known if stored is None else stored.contents
        published = configurations.published
        trust = self._trust.observe(published, self._concerned(contents), self._time.now())
        view = replace(self._view(stored, published, trust), unread=unread is not None)
        return _Observed(stored, configurations, view, unread)

    def _view(self, stored: Stored | None, published: tuple[bytes, ...], trust: Trust) -> View:
        if stored is None:
            return View(self._last_known, False, None, published, trust, self._served)
        self._last_known = replace(stored.contents, problems=(), orphans=())
        return View(stored.contents, True, stored.request, published, trust, self._served)

    def _concerned(self, contents: Contents) -> set[Certificate]:
        served = set() if self._served is None else {self._served.authority}
        return {*contents.trusted, *served}

    async def _do(self, action: Action, observed: _Observed) -> None:
        if isinstance(action, Serve):
            self._serve(action)
            return
        assert not isinstance(action, Wait)
        self._count_write()
        if isinstance(action, Publish):
            await self._keeper.publish(observed.configurations.found, action.bundle)
            return
        assert observed.stored is not None
        contents = contents_after(action, observed.view, self._time.now(), self._plan)
        answered = answers_request(action, observed.view)
        await self._store.write(observed.stored, contents, answered=answered)
        _log.info("%s: %s", self._store, action)

    def _serve(self, action: Serve) -> None:
        self._serving.swap(context_of(action.leaf))
        self._served = Served(action.leaf.certificate, action.authority)
        _log.info("serving a certificate that is valid until %s", self.not_after)

    def _count_write(self) -> None:
        now = self._clock.monotonic()
        if self._pace.delay(now) > 0:
            raise _TooManyWrites("another client keeps reverting it, so the next write is delayed")
        self._pace.wrote(now)

    def _problems_in(self, observed: _Observed) -> list[str]:
        """Return the problems in the objects that an admin should correct."""
        found = [
            f"{name} does not exist: the API server does not call the webhook"
            for name in observed.configurations.missing
        ]
        if (clock := self._time.warning()) is not None:
            found.append(clock)
        if observed.unread is not None:
            found.append(f"the certificates can be managed only in part: {observed.unread}")
        elif observed.stored is None:
            found.append(
                f"{self._store} does not exist: create it without data (kubectl apply -k); until "
                "then nothing is renewed"
            )
        if observed.stored is not None and observed.stored.unknown_request is not None:
            allowed = " or ".join(Request)
            found.append(
                f"{self._store}: its annotation {ANNOTATION_ROTATE} asks for "
                f"{observed.stored.unknown_request!r}; it may ask for {allowed}"
            )
        return found

    def _warn(self, warnings: tuple[str, ...]) -> None:
        for warning in warnings:
            if warning not in self._warnings:
                _log.warning("%s", warning)
        self._warnings = warnings

    def _watch(
        self, client: KubeClient, resource: Resource, namespace: str | None, name: str
    ) -> Informer[str]:
        # Metadata only: the Secret's content is read when a pass needs it, and not cached.
        watch: Informer[str] = Informer(
            client,
            resource,
            transform=_version,
            sources=self._sources,
            namespace=namespace,
            field_selector=f"metadata.name={name}",
            metadata_only=True,
        )
        watch.add_handler(lambda _change: self._changed.set())
        return watch


async def _tried(reading: Awaitable[_Read]) -> tuple[_Read | None, KubeError | None]:
    """Return the result of a read, or its error."""
    try:
        return await reading, None
    except KubeError as error:
        return None, error


def _version(raw: JsonObject) -> str:
    version: str = raw["metadata"]["resourceVersion"]
    return version
