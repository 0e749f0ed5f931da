"""What `kubectl apply` of each sample stores: the file, and beside it what admission adds."""

import json
import re
from pathlib import Path

import pytest

from localcluster.access.running import RunningCluster
from tests.support.cluster.admitted_samples import DIGEST, QUEUE, USER, USERID, as_admitted
from tests.support.cluster.kubectl import Kubectl
from tests.support.manifests import ROOT, SAMPLES, document
from tests.support.team import NAMESPACE

FILES = sorted(
    file
    for file in SAMPLES.rglob("*.yaml")
    if document(file)["kind"] == "AppWrapper" and not file.name.startswith("rejected-")
)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
async def test_a_sample_is_stored_with_what_admission_adds(
    cluster: RunningCluster, file: Path
) -> None:
    if "coscheduler" not in cluster.options.components:
        pytest.skip("needs --with training-operator,coscheduler, whose scheduler is injected")
    kubectl = Kubectl(cluster.kubectl, cluster.kubeconfig)
    who = json.loads(await kubectl("auth", "whoami", "-o", "json"))["status"]["userInfo"]
    path = str(file.relative_to(ROOT))
    sample = document(file)
    team = ["-n", sample["metadata"].get("namespace", NAMESPACE)]

    stored = json.loads(await kubectl("apply", "--dry-run=server", "-o", "json", "-f", path, *team))

    components = stored["spec"]["components"]
    digests = [each["annotations"].pop(DIGEST) for each in components]
    for each in components:
        if not each["annotations"]:
            del each["annotations"]
    assert stored["spec"] == as_admitted(sample)
    assert all(re.fullmatch("[0-9a-f]{64}", digest) for digest in digests)
    assert stored["metadata"]["labels"] == {
        QUEUE: "default-queue",
        USER: who["username"],
        USERID: who.get("uid", ""),
        **sample["metadata"].get("labels", {}),
    }
