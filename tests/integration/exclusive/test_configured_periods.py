"""Periods and retries of the operator's configuration: the controller is started with another."""

from localcluster.cluster import LocalCluster
from tests.support.builders.appwrappers import AT_ONCE, appwrapper, true_conditions
from tests.support.cluster.failing_lives import ended, failing, retries
from tests.support.cluster.lives import DELETING, Lives
from tests.support.cluster.reconfigured import reconfigured

LONG = "1h"
# What has a default above one second.
SHORTER = (
    "admissionGracePeriod",
    "warmupGracePeriod",
    "failureGracePeriod",
    "retryPausePeriod",
    "forcefulDeletionGracePeriod",
)


async def test_no_annotation_exceeds_the_maximum_even_if_it_was_stored(
    cluster: LocalCluster, lives: Lives
) -> None:
    """The webhook's limit is another one here, as after a change of the configuration."""
    short = dict.fromkeys(SHORTER, "1s")
    kept = {**AT_ONCE, "retryLimit": "0", "deletionOnFailureGracePeriodDuration": LONG}
    async with reconfigured(
        cluster, "controller", faultTolerance=short | {"gracePeriodMaximum": "1s"}
    ):
        body = appwrapper("too-long", failing("too-long"), annotations=kept)
        life = await lives.begin(body)
        failed = await life.until_phase("Failed")
        prefix = "workload.codeflare.dev.appwrapper/"
        stored = failed["metadata"]["annotations"]
        assert stored[prefix + "deletionOnFailureGracePeriodDuration"] == LONG
        assert DELETING not in true_conditions(failed)
        await ended(life, after=failed)


async def test_the_operators_configuration_counts_where_no_annotation_says_otherwise(
    cluster: LocalCluster, lives: Lives
) -> None:
    """No grace, no retry; a retry for whom asks for it."""
    impatient = {"failureGracePeriod": "0s", "resetPause": "0s", "retryLimit": 0}
    async with reconfigured(cluster, "controller", faultTolerance=impatient):
        plain = await lives.begin(appwrapper("plain", failing("plain")))
        asking = await lives.begin(
            appwrapper("asking", failing("asking"), annotations={"retryLimit": "1"})
        )
        for life, spent in ((plain, 0), (asking, 1)):
            failed = await life.until_phase("Failed")
            assert retries(failed) == spent
            await ended(life, after=failed)
