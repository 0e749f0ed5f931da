"""Index of tainted devices: which taints the devices of a pod have, and which pools turned bad.

The informers of `DeviceWatch` update the index. Other modules decide on the consequences.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType

from controller.facts.devices import (
    NO_EXECUTE,
    Allocated,
    DeviceClaim,
    DeviceTaint,
    HeldTaint,
    HeldTaints,
    Pool,
    Slice,
    TaintRule,
    is_tolerated,
    nothing_held,
)
from shared.kube.object_cache import Change


@dataclass(slots=True)
class _Pool:
    """The ResourceSlices of a pool by name, and since when their devices have each taint."""

    slices: dict[str, Slice] = field(default_factory=dict)
    since: dict[tuple[str, DeviceTaint], datetime] = field(default_factory=dict)

    def current(self) -> list[Slice]:
        """Return the slices of the newest generation: the driver replaces the others."""
        newest = max((each.generation for each in self.slices.values()), default=0)
        return [each for each in self.slices.values() if each.generation == newest]


class DeviceIndex:
    """Holds pools, rules, and the allocations of pods that ended.

    `claims_of` returns the claims of the pod with that UID. `exists`: True if the pod with that
    namespace, name and UID is known.
    """

    def __init__(
        self,
        claims_of: Callable[[str], Iterable[DeviceClaim]] = lambda _: (),
        exists: Callable[[str, str, str], bool] = lambda *_: True,
    ) -> None:
        self._claims_of = claims_of
        self._exists = exists
        self._pools: dict[Pool, _Pool] = {}
        self._populations: Counter[str] = Counter()
        self._rules: dict[str, TaintRule] = {}
        self._rule_since: dict[str, datetime] = {}
        # Pools with a NoExecute taint by driver, and since when the first one is known.
        self._bad: dict[str, dict[str, datetime]] = {}
        # A claim loses its pod when the pod ends, so the index remembers what the pod held.
        self._released: dict[str, tuple[Allocated, ...]] = {}
        self._tainted: set[Pool] = set()  # by a driver
        self.known = False  # whether all devices are listed, or are not served

    @property
    def drivers(self) -> frozenset[str]:
        """The drivers with devices."""
        return frozenset(self._populations)

    def turned_bad(self, driver: str) -> Mapping[str, datetime]:
        """Return the driver's pools with a NoExecute taint, and since when this process knows."""
        return MappingProxyType(self._bad.get(driver, {}))

    def population(self, driver: str) -> int:
        """Return the number of the driver's pools."""
        return self._populations[driver]

    def update_slice(self, change: Change[Slice], now: datetime) -> frozenset[Pool]:
        """Apply a change of a ResourceSlice. Return the pools whose taints may have changed: a rule
        also taints the devices that a slice adds.
        """
        touched = set()
        for one, present in ((change.old, False), (change.new, True)):
            if one is None:
                continue
            key = one.driver, one.pool
            if key not in self._pools:
                self._pools[key] = _Pool()
                self._populations[one.driver] += 1
            pool = self._pools[key]
            pool.slices.pop(one.name, None)
            if present:
                pool.slices[one.name] = one
            touched.add(key)
        changed = [key for key in touched if self._taints_changed(key, now)]
        return frozenset(touched if self._rules else changed)

    def update_rule(self, change: Change[TaintRule], now: datetime) -> None:
        """Apply a change of a DeviceTaintRule. A changed rule counts as a new one."""
        name = change.key[1]
        self._rules.pop(name, None)
        self._rule_since.pop(name, None)
        if change.new is not None and change.new.taint is not None:
            self._rules[name] = change.new
            self._rule_since[name] = now
        for key in self._pools:
            self._judge(key)

    def update_claim(self, change: Change[DeviceClaim]) -> None:
        """Remember the devices of pods that the claim loses, until `forget`."""
        old, new = change.old, change.new
        if old is None or not old.allocated:
            return
        for uid, name in set(old.pods) - set(new.pods if new else ()):
            if self._exists(old.namespace, name, uid):
                self._released[uid] = (*self._released.get(uid, ()), *old.allocated)

    def forget(self, uid: str) -> None:
        """Forget a pod that is gone."""
        self._released.pop(uid, None)

    def taints(self) -> HeldTaints:
        """Return the function that returns the taints of a pod's devices."""
        tainted = self.known and (self._rules or self._tainted)
        return self.held if tainted else nothing_held  # the latter in nearly every pass

    def held(self, uid: str) -> tuple[HeldTaint, ...]:
        """Return the taints of the devices that the pod holds, or held when it ended; sorted.

        Empty until `known`: the breakers must count the devices first.
        """
        if not self.known or not (self._rules or self._tainted):
            return ()
        allocated = [each for claim in self._claims_of(uid) for each in claim.allocated]
        # Both: of several claims, one may have lost the pod already.
        allocated += self._released.get(uid, ())
        found = {held for each in allocated for held in self._on(each)}
        return tuple(sorted(found, key=lambda each: (str(each.device), each.rule, str(each.taint))))

    def limit_times(self, now: datetime) -> None:
        """If the clock was set back, change later times to now."""
        self._rule_since = {name: min(since, now) for name, since in self._rule_since.items()}
        for pool in (self._pools[key] for key in self._tainted):
            pool.since = {taint: min(since, now) for taint, since in pool.since.items()}
        for bad in self._bad.values():
            bad.update({name: min(since, now) for name, since in bad.items()})

    def _on(self, allocated: Allocated) -> Iterator[HeldTaint]:
        """Yield the taints of one device; none if no slice lists it: no breaker counts it."""
        device, tolerations = allocated.device, allocated.tolerations
        pool = self._pools.get((device.driver, device.pool), _Pool())
        slices = [each for each in pool.current() if device.name in each.devices]
        for one in slices:
            for name, taint in one.taints:
                if name == device.name:
                    yield HeldTaint(
                        device=device,
                        taint=taint,
                        since=pool.since[name, taint],
                        tolerated=is_tolerated(taint, tolerations),
                        slice=one.name,
                    )
        for rule in self._rules.values() if slices else ():
            if rule.taint is not None and rule.taints(device):
                yield HeldTaint(
                    device=device,
                    taint=rule.taint,
                    since=self._rule_since[rule.name],
                    tolerated=is_tolerated(rule.taint, tolerations),
                    rule=rule.name,
                )

    def _taints_changed(self, key: Pool, now: datetime) -> bool:
        """Read the pool's taints again. Return whether they changed."""
        pool = self._pools[key]
        before = pool.since
        taints = [each for one in pool.current() for each in one.taints]
        pool.since = {each: before.get(each, now) for each in taints}
        if not pool.slices:
            del self._pools[key]
            self._populations[key[0]] -= 1
        (self._tainted.add if pool.since else self._tainted.discard)(key)
        self._judge(key)
        return before.keys() != pool.since.keys()

    def _judge(self, key: Pool) -> None:
        """Read again since when the pool is bad."""
        pool, (driver, name) = self._pools.get(key, _Pool()), key
        since = [since for (_, taint), since in pool.since.items() if taint.effect == NO_EXECUTE]
        devices = frozenset[str]().union(*(each.devices for each in pool.current()))
        since += [
            self._rule_since[rule.name]
            for rule in self._rules.values()
            if rule.taint is not None
            and rule.taint.effect == NO_EXECUTE
            and rule.taints_in(key)
            and (rule.device in devices if rule.device is not None else devices)
        ]
        bad = self._bad.setdefault(driver, {})
        if since:
            bad[name] = min(since)
        else:
            bad.pop(name, None)
