"""The breakers of drivers: an empty DeviceTaintRule taints everything, and evacuates nothing."""

from datetime import timedelta

from controller.fleet.breaker import Breaker, encode
from tests.support.builders.devices import BAD, DRIVER, Devices, full_pools, raw_rule, raw_slice
from tests.support.builders.health_record import config_map
from tests.support.fakes.fake_clock import START, settle
from tests.support.fakes.kept_breakers import PLACE, KeeperBench, body, running

REFUSED = (
    f"so many nodes turned NoExecute or unreachable at once for {DRIVER} "
    f"that an admin must confirm evacuations ({PLACE})"
)
OPENED = (
    f"10 of 10 pools turned NoExecute for devices of {DRIVER} within 10m, or were so when the "
    "controller started; evacuations wait. If these pools really are bad: kubectl annotate "
    "configmap appwrapper-node-health -n appwrapper-system "
    f"workload.codeflare.dev/confirm-evacuations={DRIVER}"
)
OPEN = encode({DRIVER: Breaker(START)})
LATER = timedelta(hours=1).total_seconds()


def bench(devices: Devices, record: str = "") -> KeeperBench:
    return KeeperBench(config_map(3, record) if record else config_map(3), devices=devices.index)


def refused(world: KeeperBench) -> str | None:
    return world.keeper.closed_to({DRIVER})


def taint_all(world: KeeperBench, devices: Devices) -> None:
    devices.now = world.clock.now()
    devices.rule(raw_rule("r", {}))
    world.keeper.evaluate()


async def test_a_rule_for_everything_opens_the_breaker_and_is_written_down() -> None:
    devices = full_pools(10)
    async with running(bench(devices)) as world:
        assert refused(world) is None
        world.answer(config_map(6, OPEN))
        taint_all(world, devices)
        assert refused(world) == REFUSED
        await settle()
        assert world.written == [body(3, OPEN)]
        assert world.events.emitted == [("Warning", "EvacuationBreakerOpen", OPENED)]
        await world.clock.advance(LATER)
        assert refused(world) == REFUSED
        world.answer(config_map(8, "{}"))
        devices.rule(None, "r")
        world.keeper.evaluate()
        assert refused(world) is None


async def test_the_pools_of_one_driver_are_not_those_of_another() -> None:
    devices = full_pools(10)
    for each in range(100):
        other = raw_slice(f"m{each}", "nic-0")
        other["spec"]["driver"] = "nic.example.com"
        devices.slice(other)
    async with running(bench(devices)) as world:
        world.answer(config_map(6, OPEN))
        for each in range(3):
            devices.slice(raw_slice(f"n{each}", "gpu-0", taints={"gpu-0": BAD}))
            world.keeper.evaluate()
        assert refused(world) == REFUSED
        assert world.keeper.closed_to({"nic.example.com"}) is None


async def test_an_admin_confirms_by_the_drivers_name() -> None:
    devices = full_pools(10)
    devices.rule(raw_rule("r", {}))
    async with running(bench(devices, OPEN)) as world:
        assert refused(world) == REFUSED
        confirmed = encode({DRIVER: Breaker(None, world.clock.now())})
        world.answer(config_map(9, confirmed))
        world.feed.send("MODIFIED", config_map(8, OPEN, DRIVER))
        await settle()
        assert refused(world) is None


async def test_an_open_breaker_outlasts_a_start_without_devices() -> None:
    devices = full_pools(10, known=False)
    devices.rule(raw_rule("r", {}))
    async with running(bench(devices, OPEN)) as world:
        assert refused(world) == REFUSED
        await world.clock.advance(LATER)
        world.keeper.evaluate()
        assert (refused(world), world.written) == (REFUSED, [])
        devices.index.known = True
        world.keeper.evaluate()
        assert refused(world) == REFUSED
        world.answer(config_map(8, "{}"))
        devices.rule(None, "r")
        world.keeper.evaluate()
        assert refused(world) is None


async def test_a_recorded_breaker_of_no_driver_is_dropped_once_devices_are_known() -> None:
    world = bench(Devices(), OPEN)
    world.answer(config_map(6, "{}"))
    async with running(world):
        assert refused(world) is None


async def test_a_confirmation_covers_the_devices_that_a_restart_finds() -> None:
    devices = full_pools(10)
    devices.rule(raw_rule("r", {}))
    confirmed = encode({DRIVER: Breaker(None, START - timedelta(hours=1))})
    world = KeeperBench(config_map(3, confirmed), latch=timedelta(hours=12), devices=devices.index)
    world.answer(config_map(6, encode({DRIVER: Breaker(None, START)})))
    async with running(world):
        assert refused(world) is None
