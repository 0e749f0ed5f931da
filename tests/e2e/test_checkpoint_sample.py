"""The program of samples/checkpoint.yaml on the real node: killed once, it resumes."""

from pathlib import Path

from localcluster.cluster import LocalCluster
from shared.api.objects import JsonObject
from tests.e2e.containers import IMAGE
from tests.e2e.recorded import TORCHRUN, provide, with_recorder
from tests.e2e.research_team import TEAM, ResearchTeam
from tests.support.builders.appwrappers import AT_ONCE, appwrapper
from tests.support.builders.pods import pod_of
from tests.support.cluster.removed import removed
from tests.support.cluster.resources import VOLUMES
from tests.support.manifests import SAMPLES, document

NAME = "checkpoint"
# Ten seconds: a busy machine needs some to find that the first rank has begun, and to end it.
STEPS = 100
# The first attempt gets SIGTERM as soon as its first rank has begun, as from a node's drain.
SCRIPT = f"""\
{TORCHRUN} 2 /opt/program/train.py &
if [ "$ATTEMPT" = 1 ]; then
  until grep -q begins "$CHECKPOINTS/attempt1-rank0.log"; do sleep 0.1; done
  kill $!
fi
wait $!
"""


def one_pod() -> JsonObject:
    """The sample with its master's pod in the place of the PyTorchJob, on an image with Python."""
    claim, program, job = document(SAMPLES / "checkpoint.yaml")["spec"]["components"]
    template = job["template"]["spec"]["pytorchReplicaSpecs"]["Master"]["template"]
    (container,) = template["spec"]["containers"]
    container |= {"image": IMAGE, "imagePullPolicy": "IfNotPresent"}
    container |= {"command": ["sh", "-c", SCRIPT], "resources": {"requests": {"cpu": "50m"}}}
    (steps,) = (each for each in container["env"] if each["name"] == "STEPS")
    steps["value"] = str(STEPS)
    template["spec"]["restartPolicy"] = "Never"
    body = appwrapper(NAME, pod_of(with_recorder(template), name=NAME), annotations=AT_ONCE)
    body["spec"]["components"][:0] = [claim, program]
    return body


def volume(folder: Path) -> JsonObject:
    """A folder of this machine for the sample's claim, since the cluster has no storage class."""
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": NAME},
        "spec": {
            "accessModes": ["ReadWriteMany"],
            "capacity": {"storage": "10Gi"},
            "hostPath": {"path": str(folder), "type": "Directory"},
            "claimRef": {"namespace": TEAM, "name": NAME},
            "persistentVolumeReclaimPolicy": "Retain",
        },
    }


async def test_the_second_attempt_goes_on_where_the_first_was_killed(
    node_cluster: LocalCluster, team: ResearchTeam, tmp_path: Path
) -> None:
    await provide(node_cluster, TEAM)
    await team.client.create(VOLUMES, None, volume(tmp_path))
    try:
        life = await team.submit(one_pod())
        done = await life.until_phase("Succeeded")
    finally:
        await team.delete(NAME)
        await removed(team.client, VOLUMES, None, NAME)
    assert done["status"]["attempt"] == 2
    begun, killed = (tmp_path / "attempt1-rank0.log").read_text().splitlines()
    assert begun == "attempt 1, rank 0: begins at step 0"
    step = int(killed.removeprefix("attempt 1, rank 0: SIGTERM after step "))
    assert 1 <= step < STEPS
    assert (tmp_path / "attempt2-rank0.log").read_text().splitlines() == [
        f"attempt 2, rank 0: begins at step {step}",
        f"attempt 2, rank 0: done at step {STEPS}",
    ]
