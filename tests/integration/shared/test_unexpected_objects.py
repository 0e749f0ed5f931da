"""A create that takes effect late: its object goes at once, and the user reads why.

The simulation has late pods; here the observer would report them, as it must.
"""

from shared.api.objects import CONFIGMAPS
from tests.support.builders.appwrappers import appwrapper, version_of
from tests.support.builders.pods import pod
from tests.support.cluster.life import exists
from tests.support.cluster.lives import NAMESPACE, Lives, config_map
from tests.support.patience import comes_to

PREFIX = "workload.codeflare.dev/"


async def test_a_component_that_appears_after_the_suspension_is_deleted_and_reported(
    lives: Lives,
) -> None:
    """Its create was refused while the AppWrapper was Resuming; here the user's create stands in.

    The labels and the owner reference are those that the controller gives to the component.
    """
    patient = {"admissionGracePeriodDuration": "1h"}
    components = pod("late", hang="running"), config_map("late-map")
    body = appwrapper("late", *components, annotations=patient)
    async with lives.forbidden("count/configmaps"):
        life = await lives.begin(body)
        resuming = await life.until_phase("Resuming")
        for message in await lives.event_messages("late", "CreateFailed"):
            assert "ConfigMap" in message or "configmaps" in message
        await lives.set_active(life, False)
        suspended = await life.until_phase("Suspended", after=version_of(resuming))
    uid = suspended["metadata"]["uid"]
    owner = {
        "apiVersion": suspended["apiVersion"],
        "kind": "AppWrapper",
        "name": "late",
        "uid": uid,
        "controller": True,
    }
    labels = {"appwrapper": "late", "uid": uid, "attempt": "1", "component": "1"}
    late = config_map("late-map")
    late["metadata"] |= {
        "labels": {f"{PREFIX}{key}": text for key, text in labels.items()},
        "ownerReferences": [owner],
    }
    await lives.client.create(CONFIGMAPS, NAMESPACE, late)
    assert await lives.event_messages("late", "UnexpectedObjects") == [
        "objects appeared after their attempt had ended, probably by a late create; the controller "
        "deletes them: ConfigMap late-map of attempt 1"
    ]
    await comes_to(lambda: exists(lives.client, CONFIGMAPS, NAMESPACE, "late-map"), False)
    assert life.phases() == ["", "Suspended", "Resuming", "Suspending", "Suspended"]
