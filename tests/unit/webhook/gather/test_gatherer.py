import asyncio
from dataclasses import replace
from typing import Any

import pytest

from shared.config.configuration import AppWrapperConfig
from tests.support.builders.admission import POD, SERVICE, appwrapper, component, request
from tests.support.builders.pod_schema import POD_SCHEMA
from tests.support.fakes.access_server import AccessServer, allowed
from tests.support.fakes.fake_clock import FakeClock, fake_sources, settle
from tests.support.fakes.fake_kube import FakeKube, WatchFeed, kube_object, listed
from webhook.admission_review import AdmissionRequest, User
from webhook.gather.gatherer import Gatherer
from webhook.rules.submission import CannotGather

TEAM = {"mlbatch-team-namespace": "true"}
DEPLOYMENT = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}}
DAEMON_SET = {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "d"}}
QUEUED = {"kueue.x-k8s.io/queue-name": "q"}
ACCOUNT = "system:serviceaccount"


def world(*may: str) -> AccessServer:
    """A cluster with a team's namespace and another, where the user may create `may`."""
    server = AccessServer(allowed(*may))
    server.namespaces = {"team1": TEAM, "team2": TEAM, "tools": {}}
    return server


def gatherer(
    server: AccessServer,
    *,
    schema: Any = POD_SCHEMA,
    clock: FakeClock | None = None,
    **config: Any,
) -> Gatherer:
    client: Any = server
    return Gatherer(client, fake_sources(clock), AppWrapperConfig(**config), lambda: schema)


async def test_for_a_creation_everything_is_gathered() -> None:
    server = world("pods")
    created = request(appwrapper(component(POD), component(DEPLOYMENT), component(DEPLOYMENT)))
    facts = await gatherer(server).for_validation(created)
    assert facts.is_team_namespace
    assert facts.pod_schema is POD_SCHEMA
    assert facts.denied_kinds == {
        ("apps/v1", "Deployment"): 'User "alice" cannot create resource "deployments" in API group '
        '"apps" in the namespace "team1"'
    }
    assert [spec["resourceAttributes"]["resource"] for spec in server.specs] == [
        "pods",
        "deployments",
    ]


async def test_nothing_is_asked_where_the_check_is_off() -> None:
    server = world()
    off = gatherer(server, user_rbac_admission_check=False)
    facts = await off.for_validation(request(appwrapper(component(DEPLOYMENT))))
    assert (facts.denied_kinds, server.specs, server.discovered) == ({}, [], [])


async def test_a_request_that_another_rule_refuses_causes_no_review() -> None:
    server = world("pods", "services")
    nested = component(appwrapper())
    submitted = appwrapper(
        component(DAEMON_SET), nested, component("text"), component({"kind": "Pod"}), component(POD)
    )
    facts = await gatherer(server).for_validation(request(submitted))
    assert facts.denied_kinds == {}
    assert [spec["resourceAttributes"]["resource"] for spec in server.specs] == ["pods"]


async def test_an_update_needs_neither_rights_nor_the_schema() -> None:
    server = world()
    changed = request(appwrapper(), old=appwrapper())
    facts = await gatherer(server, schema=None).for_validation(changed)
    assert (facts.is_team_namespace, facts.denied_kinds, server.specs) == (True, {}, [])


async def test_without_the_schema_of_pods_a_creation_cannot_be_judged() -> None:
    with pytest.raises(CannotGather) as raised:
        await gatherer(world("pods"), schema=None).for_validation(request(appwrapper()))
    assert str(raised.value) == "the schema of pods is not known yet"


@pytest.mark.parametrize("kind", ["for_mutation", "for_validation", "for_direct_kind"])
async def test_a_missing_namespace_is_an_error(kind: str) -> None:
    lost = replace(request(appwrapper()), namespace="lost")
    with pytest.raises(CannotGather) as raised:
        await getattr(gatherer(world("pods")), kind)(lost)
    assert str(raised.value) == 'namespace "lost" does not exist'


@pytest.mark.parametrize(("namespace", "is_team"), [("team1", True), ("tools", False)])
@pytest.mark.parametrize("kind", ["for_mutation", "for_validation", "for_direct_kind"])
async def test_whose_namespace_it_is(kind: str, namespace: str, is_team: bool) -> None:
    created = replace(request(appwrapper()), namespace=namespace)
    facts = await getattr(gatherer(world("pods")), kind)(created)
    assert facts.is_team_namespace is is_team


def started(namespace: str = "team1", *, labels: Any = None, user: str = "alice") -> Any:
    """An UPDATE that starts a queued AppWrapper."""
    old = appwrapper(labels=labels, suspend=True)
    new = appwrapper(labels=labels, suspend=False)
    return replace(request(new, old=old, user=User(user, "")), namespace=namespace)


KUEUE = f"{ACCOUNT}:kueue-system:kueue-controller-manager"


@pytest.mark.parametrize(
    ("changed", "asked"),
    [
        (started(), True),
        (started("tools", labels=QUEUED), True),
        (started("tools"), False),
        (started(user=KUEUE), False),
        (request(appwrapper(suspend=True), old=appwrapper(suspend=True)), False),
        (request(appwrapper(suspend=False)), False),
    ],
)
async def test_whether_it_is_an_admin_is_asked_only_where_a_rule_depends_on_it(
    changed: AdmissionRequest, asked: bool
) -> None:
    server = world("*")
    facts = await gatherer(server).for_mutation(changed)
    assert facts.is_admin is asked
    assert [spec["resourceAttributes"]["verb"] for spec in server.specs] == ["*"] * asked


@pytest.mark.parametrize(
    ("user", "is_platform"),
    [
        (User("alice", ""), False),
        (User("system:node:n1", "", ("system:nodes",)), True),
        (User(f"{ACCOUNT}:kubeflow:training-operator", ""), True),
        (User(f"{ACCOUNT}:tools:pipeline", ""), True),
        (User(f"{ACCOUNT}:team1:default", ""), False),
        (User(f"{ACCOUNT}:team2:default", ""), False),
        (User(f"{ACCOUNT}:lost:default", ""), False),
    ],
)
async def test_who_is_platform(user: User, is_platform: bool) -> None:
    created = request(POD, group_kind="Pod", user=user)
    assert (await gatherer(world()).for_direct_kind(created)).is_platform is is_platform


async def test_a_label_that_no_cache_has_yet_makes_a_namespace_a_teams() -> None:
    server = world()
    known: Any = FakeKube(
        lists=[[listed(1, kube_object("new", 1, namespace=""))], [listed(1)]],
        watches=[WatchFeed(), WatchFeed()],
    )
    known.get = server.get
    gathers = Gatherer(known, fake_sources(), AppWrapperConfig(), lambda: POD_SCHEMA)
    running = asyncio.create_task(gathers.run())
    await settle()
    server.namespaces["new"] = TEAM
    created = replace(request(POD, group_kind="Pod"), namespace="new")
    assert (await gathers.for_direct_kind(created)).is_team_namespace
    running.cancel()


async def test_a_service_account_of_the_namespace_belongs_to_the_team_whatever_is_cached() -> None:
    server = world()
    server.namespaces["team1"] = {}
    created = request(POD, group_kind="Pod", user=User(f"{ACCOUNT}:team1:default", ""))
    assert not (await gatherer(server).for_direct_kind(created)).is_platform


def watched(*classes: str) -> tuple[Gatherer, FakeKube]:
    """One with namespace team1, and with these PriorityClasses, once it runs."""
    team = kube_object("team1", 1, namespace="")
    team["metadata"]["labels"] = TEAM
    found = [kube_object(name, 2, namespace="") for name in classes]
    client = FakeKube(lists=[[listed(1, team)], [listed(2, *found)]])
    client.watches += [WatchFeed(), WatchFeed()]
    config = AppWrapperConfig(user_rbac_admission_check=False)
    return Gatherer(client, fake_sources(), config, lambda: POD_SCHEMA), client


async def test_ready_once_namespaces_and_priority_classes_are_known() -> None:
    gathers, _ = watched("high")
    assert gathers.problem() == "the namespaces are not known yet"
    running = asyncio.create_task(gathers.run())
    await settle()
    assert gathers.problem() is None
    assert gathers._priority_classes.problem() is None
    running.cancel()


async def test_priority_classes_are_known_by_a_watch_and_read_live_where_asked() -> None:
    gathers, client = watched("high", "low")
    feed = client.watches[1]
    assert isinstance(feed, WatchFeed)
    running = asyncio.create_task(gathers.run())
    await settle()
    created = request(appwrapper())
    facts = await gathers.for_validation(created)
    assert facts.priority_classes == frozenset({"high", "low"})
    feed.send("ADDED", kube_object("new", 3, namespace=""))
    feed.send("DELETED", kube_object("low", 4, namespace=""))
    await settle()
    assert (await gathers.for_validation(created)).priority_classes == frozenset({"high", "new"})
    direct = request(POD, group_kind="Pod")
    assert (await gathers.for_direct_kind(direct)).priority_classes == frozenset({"high", "new"})
    client.lists.append([listed(5, kube_object("newer", 5, namespace=""))])
    again = await gathers.with_live_priority_classes(facts)
    assert again == replace(facts, priority_classes=frozenset({"newer"}))
    running.cancel()


async def test_outside_of_teams_no_priority_class_is_of_interest() -> None:
    elsewhere = replace(request(appwrapper(component(POD))), namespace="tools")
    assert (await gatherer(world("pods")).for_validation(elsewhere)).priority_classes is None
    assert (await gatherer(world("pods")).for_direct_kind(elsewhere)).priority_classes is None


@pytest.mark.parametrize("tried", [False, True])
async def test_a_dry_run_is_answered_like_the_request_itself(tried: bool) -> None:
    """Within two seconds one serves the other; later neither does."""
    server, clock = world("services"), FakeClock()
    gathers = gatherer(server, clock=clock)
    first = replace(request(appwrapper(component(SERVICE))), dry_run=tried)
    second = replace(first, dry_run=not tried)
    assert (await gathers.for_validation(first)).denied_kinds == {}
    server._answers = [allowed()]
    assert (await gathers.for_validation(second)).denied_kinds == {}
    clock.pass_by(2.0)
    assert list((await gathers.for_validation(second)).denied_kinds) == [("v1", "Service")]
