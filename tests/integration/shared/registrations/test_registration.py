"""Generated registrations that no test's cluster uses: the real API server takes them."""

import json

from localcluster.access.running import RunningCluster
from shared.config.loading import parse_config
from tests.support.cluster.people import admin
from tests.support.manifests import MANIFESTS
from webhook.policies import policies_yaml
from webhook.registration import registration_yaml


async def test_the_other_overlays_registration_is_one_that_the_api_server_takes(
    cluster: RunningCluster,
) -> None:
    """It compiles every expression; nothing is stored."""
    for name, objects in (("webhook-configurations", 2), ("admission-policies", 10)):
        file = MANIFESTS / "overlays" / "mlbatch" / f"{name}.yaml"
        # Under other names: those of the default overlay are taken.
        renamed = file.read_text().replace("name: appwrapper-", "name: direct-")
        output = await admin(cluster)("create", "--dry-run=server", "-f", "-", stdin=renamed)
        assert output.count("created (server dry run)") == objects


async def test_long_lists_and_odd_names_are_within_its_limits(cluster: RunningCluster) -> None:
    managers = ["o'brien", 'a "quoted"\\ name', "line\nbreak", *(f"u{n}" for n in range(500))]
    exemptions = {
        "quotaManagers": managers,
        "serviceAccountNamespaces": [f"platform-{n}" for n in range(500)],
    }
    section = {"exemptions": exemptions, "defaultQueueNameOnDirectKinds": True}
    config = parse_config(json.dumps({"appwrapper": section})).config
    written = f"{registration_yaml(config)}---\n{policies_yaml(config)}"
    renamed = written.replace("name: appwrapper-", "name: direct-")
    output = await admin(cluster)("create", "--dry-run=server", "-f", "-", stdin=renamed)
    assert output.count("created (server dry run)") == 12
