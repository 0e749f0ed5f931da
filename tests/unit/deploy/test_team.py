"""The team that the user documentation speaks of."""

from shared.api.objects import JsonObject
from tests.support.manifests import TEAM, objects_under

OBJECTS = objects_under(TEAM)


def only(kind: str) -> JsonObject:
    (found,) = (one for one in OBJECTS if one["kind"] == kind)
    return found


def test_the_namespace_is_known_as_a_teams() -> None:
    assert only("Namespace")["metadata"] == {
        "name": "team1",
        "labels": {"mlbatch-team-namespace": "true"},
    }


def test_the_local_queue_feeds_the_teams_cluster_queue() -> None:
    queue = only("LocalQueue")
    assert (queue["metadata"]["name"], queue["metadata"]["namespace"]) == ("default-queue", "team1")
    assert queue["spec"] == {"clusterQueue": "team1-cluster-queue"}
    assert only("ClusterQueue")["metadata"]["name"] == "team1-cluster-queue"


def test_the_cluster_queue() -> None:
    quota = {
        "cpu": 640,
        "memory": "8800Gi",
        "nvidia.com/gpu": 64,
        "nvidia.com/roce_gdr": 16,
        "pods": 800,
    }
    assert only("ClusterQueue")["spec"] == {
        "namespaceSelector": {},
        "cohortName": "default-cohort",
        "preemption": {
            "withinClusterQueue": "LowerOrNewerEqualPriority",
            "reclaimWithinCohort": "Any",
            "borrowWithinCohort": {"policy": "Never"},
        },
        "resourceGroups": [
            {
                "coveredResources": list(quota),
                "flavors": [
                    {
                        "name": only("ResourceFlavor")["metadata"]["name"],
                        "resources": [
                            {"name": name, "nominalQuota": value} for name, value in quota.items()
                        ],
                    }
                ],
            }
        ],
    }


def test_three_priorities_and_the_middle_one_is_the_default() -> None:
    classes = {
        one["metadata"]["name"]: (one["value"], one["globalDefault"])
        for one in OBJECTS
        if one["kind"] == "PriorityClass"
    }
    assert classes == {
        "low-priority": (1, False),
        "default-priority": (5, True),
        "high-priority": (10, False),
    }


def test_kueues_objects_are_of_its_current_version() -> None:
    versions = {one["apiVersion"] for one in OBJECTS if one["apiVersion"].startswith("kueue")}
    assert versions == {"kueue.x-k8s.io/v1beta2"}
