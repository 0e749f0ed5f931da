"""Who leads: what is fine, and what nothing shows. Faults: test_installation_faults.py."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from cli.checks.items import CheckResult, ItemResult
from cli.checks.leadership import lease
from cli.cluster.operator_configuration import OperatorConfiguration
from shared.api.names import GO_OPERATORS_LEASE, LEASE_NAME
from shared.config.loading import parse_config
from tests.support.builders.installations import NOW, SOUND, deployment, held

OWN = held(LEASE_NAME, timedelta(seconds=59))
WITHOUT_LEASE = parse_config("controllerManager:\n  leaderElection: false\n").config


@pytest.mark.parametrize(
    "changes",
    [
        {"leases": (OWN,)},
        {"leases": (OWN, held(GO_OPERATORS_LEASE, timedelta(minutes=1), "other_1"))},
        {"leases": (held(GO_OPERATORS_LEASE, timedelta(0), ""), OWN)},
        {"leases": (OWN,), "controller": None},
        {"leases": (OWN,), "controller": deployment(0, replicas=None)},
    ],
    ids=["alone", "an expired Go operator", "a released one", "no Deployment", "not ready"],
)
def test_a_holder_that_renews_leads(changes: dict[str, Any]) -> None:
    found = lease(replace(SOUND, **changes), NOW)
    text = "appwrapper-controller-5f-x_1a leads since 2026-01-01T08:00:00Z"
    assert found == CheckResult(ItemResult.OK, text)


@pytest.mark.parametrize("controller", [None, deployment(0, replicas=0)])
def test_without_replicas_a_lease_that_is_not_renewed_shows_nothing(controller: Any) -> None:
    seen = replace(SOUND, controller=controller, leases=(held(LEASE_NAME, timedelta(hours=1)),))
    text = (
        "appwrapper-controller-5f-x_1a holds the Lease appwrapper-controller, and renewed it last"
        " at 2026-01-01T23:00:00Z"
    )
    assert lease(seen, NOW) == CheckResult(ItemResult.UNKNOWN, text)


def test_a_lease_without_times_is_not_renewed() -> None:
    bare = {"metadata": {"name": LEASE_NAME}, "spec": {"holderIdentity": "x_1"}}
    found = lease(replace(SOUND, leases=(bare,)), NOW)
    assert (found.verdict, found.found) == (
        ItemResult.WARNING,
        "x_1 holds the Lease appwrapper-controller, and renewed it last at ?: no controller acts",
    )


@pytest.mark.parametrize("controller", [None, deployment(1)])
def test_one_replica_needs_no_lease_if_the_configuration_has_it_off(controller: Any) -> None:
    found = OperatorConfiguration(WITHOUT_LEASE, "appwrapper-system")
    seen = replace(SOUND, configuration=found, controller=controller, leases=())
    text = "controllerManager.leaderElection is false: one replica runs without a Lease"
    assert lease(seen, NOW) == CheckResult(ItemResult.OK, text)
