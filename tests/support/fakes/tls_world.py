"""A Secret, two webhook configurations and replicas in virtual time, checked by API servers.

A replica's turn is cut between any two API calls, so that tests can interleave and kill replicas
there. `check` asserts the promise of the whole design: an API server accepts the certificate of
every replica, even if its view of the configurations is as old as the settle period.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import lru_cache
from random import Random
from typing import Any

from cryptography.x509 import Certificate

from shared.config.configuration import CertManagement
from tests.support.fakes.tls import PLAN, START, accepted
from webhook.tls.certificate_secret import Contents, encode, parse
from webhook.tls.key_pair import certificates_in
from webhook.tls.rotate import (
    Publish,
    RotationRequest,
    SecretChange,
    Serve,
    Served,
    Step,
    View,
    Wait,
    Write,
    decide,
    trusted_since,
)

MUTATING, VALIDATING = 0, 1
MOST_TURNS = 1000


@dataclass
class Secret:
    data: dict[str, str] = field(default_factory=dict)
    version: int = 1
    request: RotationRequest | None = None


class Replica:
    """One process. `served` is None until it has begun to serve."""

    def __init__(self, world: "RotationWorld", name: str) -> None:
        self.name = name
        self.served: Served | None = None
        self.paused = False
        self._world = world
        self._since: dict[Certificate, datetime] = {}
        self._last_known = Contents()
        self._turn: Iterator[Step] | None = None

    def step(self) -> Step | None:
        """Runs up to the next API call or decision to wait; None between two calls of one turn."""
        if self._turn is None:
            self._turn = self._act()
        action = next(self._turn, None)
        if action is None or isinstance(action, Wait):
            self._turn = None
        return action

    def _act(self) -> Iterator[Step]:
        """Reads, decides, and acts; yields before each write, when other replicas may run."""
        world = self._world
        secret = None if world.secret is None else replace(world.secret)
        published = tuple(one for one in world.bundles if one is not None)
        if secret is not None:
            contents = _parsed(tuple(secret.data.items()))
            self._last_known = replace(contents, problems=())
        else:
            contents = self._last_known
        served = set() if self.served is None else {self.served.authority}
        concerned = {*contents.trusted, *served}
        self._since = trusted_since(self._since, published, concerned, world.now)
        request = None if secret is None else secret.request
        view = View(
            contents,
            stored=secret is not None,
            absent=secret is None,
            request=request,
            published=published,
            since=self._since,
            served=self.served,
        )
        step = decide(view, world.now, world.plan)
        if isinstance(step, Wait):
            yield step
        elif isinstance(step, Serve):
            self.served = Served(step.leaf.certificate, step.authority)
            world.did(self, step)
        elif isinstance(step, Publish):
            for index in (MUTATING, VALIDATING):
                if world.bundles[index] is not None and world.bundles[index] != step.bundle:
                    yield step
                    world.publish(index, step.bundle)
            world.did(self, step)
        else:
            assert secret is not None
            made = encode(step.contents)
            left = None if step.answers else secret.request
            yield step
            world.update(self, step, Secret(made, secret.version, left))


class RotationWorld:
    def __init__(self, replicas: int = 2, plan: CertManagement = PLAN, seed: int = 0) -> None:
        self.now: datetime = START
        self.plan = plan
        self.secret: Secret | None = Secret()
        self.bundles: list[bytes | None] = [b"", b""]
        self.done: list[tuple[datetime, str, Step]] = []
        self.conflicts = 0
        self.writes = 0
        self._random = Random(seed)
        self._history: list[tuple[datetime, tuple[bytes | None, ...]]] = []
        self._remember()
        self._checked: object = None
        self.replicas = [Replica(self, f"replica-{index}") for index in range(replicas)]

    @property
    def contents(self) -> Contents:
        assert self.secret is not None
        return parse(self.secret.data)

    def times_of(self, kind: SecretChange | type[Step]) -> list[datetime]:
        """Returns when such steps were taken, by any replica."""
        return [
            at
            for at, _, step in self.done
            if (step.change if isinstance(step, Write) else type(step)) == kind
        ]

    def did(self, replica: Replica, step: Step) -> None:
        self.done.append((self.now, replica.name, step))

    def publish(self, index: int, bundle: bytes) -> None:
        if self.bundles[index] is not None:
            self.bundles[index] = bundle
            self.writes += 1
            self._remember()

    def update(self, replica: Replica, step: Step, secret: Secret) -> None:
        """Sends a PUT: the version that was read must still be current."""
        if self.secret is None or self.secret.version != secret.version:
            self.conflicts += 1
            return
        self.secret = replace(secret, version=secret.version + 1)
        self.writes += 1
        self.did(replica, step)

    def touch(self, **changes: Any) -> None:
        """Writes the Secret as another client."""
        assert self.secret is not None
        self.secret = replace(self.secret, version=self.secret.version + 1, **changes)

    def overwrite(self, index: int, bundle: bytes | None) -> None:
        """Writes, deletes or replaces a configuration as another client."""
        self.bundles[index] = bundle
        self._remember()

    def start(self, name: str) -> Replica:
        replica = Replica(self, name)
        self.replicas.append(replica)
        return replica

    def settle(self, *, checked: bool = True) -> timedelta:
        """Lets replicas take turns in random order until all wait; returns the time until one
        acts.
        """
        waits: dict[str, datetime] = {}
        awake = [one for one in self.replicas if not one.paused]
        turns = 0
        while len(waits) < len(awake):
            turns += 1
            assert turns < MOST_TURNS, f"they never come to rest: {self.done[-6:]}"
            version = self._version()
            replica = self._random.choice(awake)
            action = replica.step()
            if isinstance(action, Wait):
                waits[replica.name] = action.until
            if self._version() != version:
                waits.clear()  # the watches wake all
            if checked:
                self.check()
        return min((until - self.now for until in waits.values()), default=timedelta(days=3650))

    def pass_time(self, duration: timedelta, *, checked: bool = True) -> None:
        """Advances time; every replica acts at its moments."""
        end = self.now + duration
        while True:
            rest = self.settle(checked=checked)
            if self.now + rest > end:
                break
            self.now += rest
        self.now = end
        self.settle(checked=checked)

    def check(self) -> None:
        """Asserts the promise of the module's docstring."""
        seen = self._seen_by_api_servers()
        served = {one.served.leaf: one.name for one in self.replicas if one.served is not None}
        state = (self.now, frozenset(seen), frozenset(served))
        if state == self._checked:
            return
        for leaf, name in served.items():
            for bundle in seen:
                good = _accepted(leaf, bundle, self.now)
                assert good, f"at {self.now} {name} is refused; {self.done[-6:]}"
        self._checked = state

    def _seen_by_api_servers(self) -> set[bytes]:
        """Returns each caBundle that existed within the settle period.

        While there was none, deleted or not filled in yet, no certificate could be accepted.
        """
        oldest = self.now - self.plan.settle_period
        ends = [at for at, _ in self._history[1:]] + [self.now + timedelta(seconds=1)]
        return {
            bundle
            for (_, bundles), end in zip(self._history, ends, strict=True)
            if end > oldest
            for bundle in bundles
            if bundle
        }

    def _remember(self) -> None:
        self._history.append((self.now, tuple(self.bundles)))
        oldest = self.now - self.plan.settle_period
        while len(self._history) > 1 and self._history[1][0] <= oldest:
            self._history.pop(0)

    def _version(self) -> tuple[int, int]:
        return (0 if self.secret is None else self.secret.version, self.writes)


@lru_cache(maxsize=64)
def _parsed(data: tuple[tuple[str, str], ...]) -> Contents:
    return parse(dict(data))


@lru_cache(maxsize=256)
def _accepted(leaf: Certificate, bundle: bytes, now: datetime) -> bool:
    return accepted(leaf, certificates_in(bundle), now)
