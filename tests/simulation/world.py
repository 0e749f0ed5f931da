"""One simulated run: a cluster, its programs, the product's controllers, and the invariants."""

import asyncio
import logging
import random
from collections.abc import Callable, Mapping
from datetime import timedelta
from types import MappingProxyType
from typing import Any, Final

from controller.controller import Controller
from controller.replica import Replica
from controller.runtime.leadership import Leadership
from controller.runtime.workqueue import ALARM
from shared.api.names import CONDITION_RESOURCES_DEPLOYED
from shared.api.objects import APPWRAPPERS, LEASES, NAMESPACES, JsonObject
from shared.config.configuration import Configuration
from shared.kube.requests import Request
from shared.process.sources import Sources
from shared.waits.workload import EVICTED, is_held
from tests.simulation import programs
from tests.simulation.actors.kueue.quota import WAITED_FOR, Release
from tests.simulation.actors.kueue.workloads import is_active, reason
from tests.simulation.actors.objects import owner_uid
from tests.simulation.acts import QUEUE, Acts
from tests.simulation.api.client import SimulatedClient
from tests.simulation.api.store import Write, key_of
from tests.simulation.choices import Choices
from tests.simulation.cluster import Cluster
from tests.simulation.faults import Faults
from tests.simulation.invariants import ENDED, Invariants
from tests.simulation.loop import Deadlock, VirtualClock
from tests.simulation.outcome import Outcome
from tests.simulation.processes import Processes
from tests.simulation.product_log import ProductLog
from tests.simulation.scenarios import GONE, Act, Scenario
from tests.simulation.workloads import NAMESPACE
from tests.support.builders.appwrappers import phase, true_conditions

_NO_LISTENERS: Final = {"health": {"bindAddress": "0"}, "metrics": {"bindAddress": "0"}}
_LONGEST: Final = 3 * 3600.0
_STEP: Final = 5.0  # between two looks whether the run is over
_SETTLES: Final = 60.0


class World:
    """`run` once. Equal choices give equal runs.

    `settings`: the section `appwrapper` of the operator's configuration.
    """

    def __init__(
        self,
        choices: Choices,
        scenario: Scenario,
        *,
        keep_trace: bool = False,
        settings: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        self.scenario = scenario
        self._configuration = Configuration.model_validate(
            {"controllerManager": _NO_LISTENERS, "appwrapper": dict(settings)}
        )
        self._home = self._configuration.cert_management.namespace
        self.made: list[Callable[[Controller], None]] = []  # called with each new controller
        self.cluster = cluster = Cluster(choices, keep_trace=keep_trace)
        self.faults = Faults(cluster, until=scenario.faults_until, odds=scenario.odds)
        self.invariants = Invariants(cluster, self.faults, self._may_be_late)
        self.processes = Processes(cluster, self.faults, self._control)
        self.controllers: dict[str, Controller] = {}
        self.replicas: dict[str, Replica] = {}
        self.over_at = 0  # the revision at the run's end, before the final deletions
        self.programs = programs.start(cluster, scenario)
        self.programs.kueue.on_release(self._released)
        self.acts = Acts(cluster, self.programs.kueue, self.programs.nodes)
        self.faults.other_client = self.acts.do_after
        cluster.store.listeners.append(self._tell)

    def run(self) -> Outcome:
        """Run until everything has ended, and return the outcome with the broken promises."""
        log = ProductLog(
            self.cluster,
            self.invariants.violate,
            lambda: self.faults.over_at > 0.0,
            self.processes.slept,
        )
        root = logging.getLogger()
        level = root.level
        root.addHandler(log)
        root.setLevel(logging.INFO)
        self._begin()
        try:
            self.cluster.loop.run_until_complete(self._live())
        except Deadlock as error:
            self.invariants.violate("deadlock", str(error))
        finally:
            root.removeHandler(log)
            root.setLevel(level)
            self.cluster.loop.close()
        return self._outcome()

    def _outcome(self) -> Outcome:
        choices = self.cluster.choices
        return Outcome(
            violations=tuple(self.invariants.violations),
            digest=self.cluster.digest,
            deviations=choices.deviations,
            picks=choices.picks,
            ends=self.ends,
            lives=len(self.scenario.appwrappers),
            virtual_seconds=self.cluster.loop.now,
            faults=self.faults.injected,
            trace=tuple(self.cluster.trace),
        )

    def _tell(self, write: Write) -> None:
        item = write.item
        text = f"{write.type} {write.resource.plural}/{item['metadata']['name']} {phase(item)}"
        if "deletionTimestamp" in item["metadata"]:
            text += " (being deleted)"
        self.cluster.tell(text)

    async def _control(self, client: SimulatedClient, clock: VirtualClock) -> None:
        """Run one of the product's controllers."""
        seed = self.cluster.choices.pick(f"jitter of {client.name}", range(1000))
        sources = Sources(clock, random.Random(seed), _run_at_once, client.name)

        def begun(controller: Controller) -> None:
            self.controllers[client.name] = controller
            for each in self.made:
                each(controller)

        leadership = self._leadership(client, sources) if self.scenario.leased else None
        self.replicas[client.name] = replica = Replica(
            client, self._configuration, sources=sources, leadership=leadership, begun=begun
        )
        await replica.run(asyncio.Event())

    def _leadership(self, client: SimulatedClient, sources: Sources) -> Leadership:
        """Return what competes for the lease; `client` asks it before each request."""
        leadership = Leadership(client.another(), self._home, sources)

        def permit(request: Request) -> None:
            leadership.permit(request)
            if request.method != "GET":
                self._check_holder(leadership.identity)

        client.permit = permit
        return leadership

    def _check_holder(self, sender: str) -> None:
        """Check that no other process holds the lease at the moment of a write."""
        [lease] = self.cluster.store.items(LEASES)
        if (holder := lease["spec"]["holderIdentity"]) not in (sender, ""):
            self.invariants.violate("lease", f"{sender} writes while {holder} leads")

    def _may_be_late(self) -> bool:
        """True if a process of this run may act on what it knew before another one acted."""
        froze = any("freeze" in kind for kind in self.faults.injected)
        return froze or len(self.scenario.skews) > 1

    def _released(self, release: Release) -> None:
        if release.why in WAITED_FOR:
            self.invariants.see_release(release.uid)

    def _begin(self) -> None:
        """Make the cluster's own objects, and arrange the users' and the acts."""
        programs.populate(self.cluster, self.programs.nodes, self.scenario.capacity)
        loop, store = self.cluster.loop, self.cluster.store
        if self.scenario.leased:
            store.create(NAMESPACES, None, {"metadata": {"name": self._home}})
        for at, body in self.scenario.appwrappers:
            loop.outside(at, store.create, APPWRAPPERS, NAMESPACE, body)
        for act in self.scenario.acts:
            loop.outside(act.at, self._act, act)

    def _act(self, act: Act) -> None:
        running = self.processes.running
        match act.what:
            case "outage":
                self.faults.outage(**act.options)
            case "crash" if running:
                self.faults.count("crash")
                self.processes.crash(running[0], "at a random moment")
            case "freeze" if running:
                self.faults.count(f"freeze {act.options['seconds']:g}")
                self.processes.freeze(running[0], **act.options)
            case "crash" | "freeze":
                pass  # it is restarting
            case _:
                self.acts.do(act.what, act.target, **act.options)

    async def _live(self) -> None:
        for number, skew in enumerate(self.scenario.skews):
            self.processes.start(f"c{number}", timedelta(seconds=skew))
        await self._until_over()
        self.over_at = self.cluster.store.revision
        self.ends = {**{body["metadata"]["name"]: GONE for _, body in self.scenario.appwrappers}}
        self.ends |= {each["metadata"]["name"]: phase(each) for each in self._appwrappers()}
        for text in self._unfinished():
            self.invariants.violate("liveness", text)
        self._check_quota()
        await self._delete_all()
        for name, error in self.processes.ended:
            self.invariants.violate("died", f"{name}: {error!r}")
        await self.processes.stop()

    async def _until_over(self) -> None:
        begins = max([self.scenario.faults_until, *(act.at for act in self.scenario.acts)])
        await asyncio.sleep(begins)
        await self._wait(lambda: not self._unfinished(), begins + _LONGEST)
        await asyncio.sleep(_SETTLES)

    async def _wait(self, over: Callable[[], bool], limit: float) -> None:
        """Wait until something is over, or until the second `limit`."""
        clock = self.cluster.clock
        while not over() and clock.monotonic() < limit:
            await clock.sleep(_STEP)

    async def _delete_all(self) -> None:
        """Delete the remaining AppWrappers, and check that the product forgets them."""
        for each in self._appwrappers():
            self.cluster.store.delete(APPWRAPPERS, *key_of(each))
        await self._wait(lambda: not self._appwrappers(), self.cluster.loop.now + _LONGEST)
        for each in self._appwrappers():
            self.invariants.violate("liveness", f"{key_of(each)[1]} was deleted, and stays")
        await self._wait(lambda: not self._counted(), self.cluster.loop.now + _SETTLES)
        self._check_quota()
        # A process that sleeps has not heard of the deletion yet.
        await self._wait(lambda: not self._asleep(), self.cluster.loop.now + _LONGEST)
        await asyncio.sleep(_STEP)
        for name in self.processes.running:
            if name in self.replicas and self.replicas[name]._controller is None:
                self._check_standby(name)
                continue
            for uid in self.controllers[name]._memory._known:
                self.invariants.violate("memory", f"{name} remembers {uid}")

    def _check_standby(self, name: str) -> None:
        """Check that nothing of an earlier term is left: no handler, no deadline.

        A process that began a moment ago is a standby, too, until its caches are full.
        """
        caches = self.replicas[name]._caches
        follows = caches.components._follower or caches.kueue._follower
        if follows or any(each._handlers for each in (*caches.used, *caches.kueue.all)):
            self.invariants.violate("memory", f"an earlier term of {name} still follows")
        if any(each.get_name() == ALARM for each in self.cluster.loop.tasks_of[name].values()):
            self.invariants.violate("memory", f"an earlier term of {name} has a deadline")

    def _check_quota(self) -> None:
        """Check that Kueue no longer counts the quota of an AppWrapper that ended 60 s ago."""
        for name in self._counted():
            self.invariants.violate("quota", f"{name} has ended, and Kueue counts its quota")

    def _counted(self) -> list[str]:
        """Return the Workloads that hold quota for an AppWrapper that has ended or is gone."""
        busy = {each["metadata"]["uid"] for each in self._appwrappers() if _unfinished(each)}
        holders = self.programs.kueue.quota.holders(QUEUE)
        return [key_of(each)[1] for each in holders if owner_uid(each) not in busy]

    def _asleep(self) -> list[str]:
        return [name for name in self.processes.running if self.cluster.loop.is_frozen(name)]

    def _appwrappers(self) -> list[JsonObject]:
        return self.cluster.store.items(APPWRAPPERS)

    def _unfinished(self) -> list[str]:
        return [
            text
            for each in self._appwrappers()
            if (text := _unfinished(each)) and not self._is_given_up(each)
        ]

    def _is_given_up(self, item: JsonObject) -> bool:
        """True if a limit of requeuing deactivated the AppWrapper: it rests.

        Kueue 0.19.2 does not requeue it even if a user activates its Workload again:
        workload_controller.go knows the reason Deactivated only, without a cause.
        """
        uid = item["metadata"]["uid"]
        workload = self.programs.kueue.workload_of(uid)
        if phase(item) != "Suspended" or workload is None:
            return False
        by_kueue = not (is_active(workload) or is_held(workload))
        by_kueue = by_kueue and uid not in self.acts.deactivated
        return by_kueue or reason(workload, EVICTED).startswith("DeactivatedDueTo")


def _run_at_once(call: Callable[[], None], name: str) -> None:
    """Run a call that would block a thread."""
    call()


def _unfinished(item: JsonObject) -> str:
    """Return why an AppWrapper has not ended yet; empty if it has."""
    held = true_conditions(item)
    over = phase(item) in ENDED and "deletionTimestamp" not in item["metadata"]
    if over and (phase(item) == "Succeeded" or CONDITION_RESOURCES_DEPLOYED not in held):
        return ""
    return f"{key_of(item)[1]} is {phase(item) or 'new'}: {', '.join(sorted(held))}"
