import re

from shared.kinds.table import pod_sets_once_admitted
from tests.support.manifests import SAMPLES, TEAM, document, documents

ALL = sorted(SAMPLES.rglob("*.yaml"))
DEMO = sorted((SAMPLES / "demo").glob("*.yaml"))
GPU = "nvidia.com/gpu"


def gpu_requests(name: str) -> list[int]:
    """GPUs of every pod of a sample, pod set by pod set."""
    (component,) = document(SAMPLES / "demo" / name)["spec"]["components"]
    spec = component["template"]["spec"]
    templates = (
        [(one["template"], one["replicas"]) for one in spec["pytorchReplicaSpecs"].values()]
        if "pytorchReplicaSpecs" in spec
        else [(spec["template"], spec.get("parallelism", 1))]
    )
    return [
        template["spec"]["containers"][0]["resources"]["requests"][GPU]
        for template, count in templates
        for _ in range(count)
    ]


def gpu_quota() -> int:
    (queue,) = (one for one in documents(TEAM / "team1.yaml") if one["kind"] == "ClusterQueue")
    (group,) = queue["spec"]["resourceGroups"]
    (flavor,) = group["flavors"]
    quota: dict[str, int] = {one["name"]: one["nominalQuota"] for one in flavor["resources"]}
    return quota[GPU]


def test_the_demo_has_its_samples() -> None:
    assert [file.name for file in DEMO] == [
        "deployment.yaml",
        "failing-pytorchjob.yaml",
        "fills-the-quota.yaml",
        "rejected-daemonset.yaml",
        "rejected-nested-appwrapper.yaml",
        "statefulset.yaml",
        "too-big-pytorchjob.yaml",
        "waits-for-quota.yaml",
        "wrapped-pytorchjob.yaml",
    ]


def test_one_master_and_three_workers_with_a_whole_node_each() -> None:
    assert gpu_requests("wrapped-pytorchjob.yaml") == [8, 8, 8, 8]


def test_one_fills_the_quota_so_that_the_other_must_wait() -> None:
    assert sum(gpu_requests("fills-the-quota.yaml")) == gpu_quota()
    assert 0 < sum(gpu_requests("waits-for-quota.yaml")) <= gpu_quota()


def test_too_big_by_exactly_one_gpu() -> None:
    assert sum(gpu_requests("too-big-pytorchjob.yaml")) == gpu_quota() + 1


def test_gpu_limits_equal_requests_as_the_api_server_wants() -> None:
    for file in DEMO:
        text = file.read_text()
        assert (
            re.findall(r"nvidia.com/gpu: (\d+)", text)[::2]
            == re.findall(r"nvidia.com/gpu: (\d+)", text)[1::2]
        )


def test_the_statefulset_comes_after_the_service_it_names() -> None:
    service, stateful_set = (
        one["template"]
        for one in document(SAMPLES / "demo" / "statefulset.yaml")["spec"]["components"]
    )
    assert (service["kind"], stateful_set["kind"]) == ("Service", "StatefulSet")
    assert stateful_set["spec"]["serviceName"] == service["metadata"]["name"]
    assert service["spec"]["selector"] == stateful_set["spec"]["selector"]["matchLabels"]


def test_every_wrapping_sample_has_pods_to_count() -> None:
    for file in ALL:
        sample = document(file)
        if sample["kind"] == "AppWrapper":
            pod_sets = [
                one
                for component in sample["spec"]["components"]
                for one in pod_sets_once_admitted(component)
            ]
            assert 1 <= len(pod_sets) <= 8, file.name


def test_only_failing_samples_have_simulation_annotations() -> None:
    simulated = [file.name for file in ALL if "simulation.localcluster.dev" in file.read_text()]
    assert simulated == ["failing-pytorchjob.yaml"]


def test_samples_that_fail_in_the_simulation_fail_alike_on_a_real_node() -> None:
    """The second worker first, in the first attempt only, with the same last words."""
    (component,) = document(SAMPLES / "demo" / "failing-pytorchjob.yaml")["spec"]["components"]
    replicas = component["template"]["spec"]["pytorchReplicaSpecs"]
    prefix = "simulation.localcluster.dev/"
    for role, first, others in (
        ("Master", "", "termination-message"),
        ("Worker", "termination-message", "others-message"),
    ):
        template = replicas[role]["template"]
        annotations = template["metadata"]["annotations"]
        script = template["spec"]["containers"][0]["command"][-1]
        assert annotations[f"{prefix}fail-attempts"] == "1"
        assert script.startswith('if [ "$AW_ATTEMPT" != 1 ]; then')
        assert first == "" or annotations[prefix + first] in script
        assert annotations[prefix + others].split("] ")[-1].split(": ")[-1] in script
    worker = replicas["Worker"]["template"]
    # The master has rank 0.
    assert worker["metadata"]["annotations"][f"{prefix}fail-index"] == "1"
    assert '[ "$RANK" = 2 ]' in worker["spec"]["containers"][0]["command"][-1]


def test_no_sample_names_a_namespace() -> None:
    for file in ALL:
        assert "namespace:" not in file.read_text()


def test_the_readme_lists_every_sample_once() -> None:
    listed = re.findall(
        r"^\| \[([^]]+)]\(([^)]+)\)", (SAMPLES / "README.md").read_text(), re.MULTILINE
    )
    assert sorted(text for text, _ in listed) == sorted(
        str(file.relative_to(SAMPLES)) for file in ALL
    )
    assert all(text == target for text, target in listed)
