"""Nodes, their lifecycle, and PodGC: silence, taints, evictions, removed nodes."""

from shared.api.conditions import condition
from shared.api.names import LABEL_UID
from shared.api.objects import NODES, PODS, JsonObject
from tests.simulation.actors.kubelet import Kubelet
from tests.simulation.actors.node_lifecycle import UNREACHABLE, UNSCHEDULABLE, NodeLifecycle
from tests.simulation.actors.nodes import Nodes
from tests.simulation.actors.pod_gc import PodGc
from tests.simulation.actors.small_cluster import TEAM, SmallCluster, bound_pod


class Fleet(SmallCluster):
    """One node with one pod of the AppWrapper u1 that never ends by itself."""

    def __init__(self, **spec: object) -> None:
        super().__init__()
        Kubelet(self)
        PodGc(self)
        self.nodes = Nodes(self, NodeLifecycle(self))
        pod = bound_pod("p", hang="running")
        pod["metadata"]["labels"] = {LABEL_UID: "u1"}
        pod["spec"].update(spec)
        self.create(PODS, pod)
        self.advance(2)

    @property
    def node(self) -> JsonObject:
        found = self.store.get(NODES, None, "n1")
        assert found is not None
        return found

    @property
    def taints(self) -> list[str]:
        return [each["key"] for each in self.node["spec"].get("taints") or ()]

    def pod_condition(self, kind: str) -> tuple[str, str]:
        """Return status and reason of a condition of the last state of the pod."""
        pods = [each.item for each in self.writes if each.resource == PODS]
        found = condition(pods[-1]["status"].get("conditions") or (), kind) or {}
        return found.get("status", ""), found.get("reason", "")


def test_a_silent_node_becomes_unreachable_and_its_pod_unready() -> None:
    fleet = Fleet()
    fleet.nodes.silence("n1")
    fleet.advance(49)
    assert fleet.taints == []
    fleet.advance(3)
    assert fleet.taints == [UNREACHABLE, UNREACHABLE]
    assert fleet.pod_condition("Ready") == ("False", "NodeNotReady")
    assert fleet.causes.of("u1") == ["node n1 is silent"]


def test_a_pod_on_an_unreachable_node_is_deleted_after_five_minutes() -> None:
    fleet = Fleet()
    fleet.nodes.silence("n1")
    fleet.advance(340)
    assert "deletionTimestamp" not in fleet.pods()[0]["metadata"]
    fleet.advance(20)
    assert "deletionTimestamp" in fleet.pods()[0]["metadata"]
    assert fleet.pod_condition("DisruptionTarget") == ("True", "DeletionByTaintManager")
    fleet.nodes.wake("n1")
    fleet.advance(1)
    assert (fleet.taints, fleet.pods()) == ([], [])


def test_a_node_that_wakes_early_loses_its_taints_and_keeps_its_pod() -> None:
    fleet = Fleet()
    fleet.nodes.silence("n1")
    fleet.advance(200)
    fleet.nodes.wake("n1")
    fleet.advance(1000)
    assert fleet.taints == []
    assert "deletionTimestamp" not in fleet.pods()[0]["metadata"]


def test_a_pod_that_tolerates_the_taint_forever_stays() -> None:
    fleet = Fleet(tolerations=[{"operator": "Exists"}])
    fleet.nodes.silence("n1")
    fleet.advance(2000)
    assert "deletionTimestamp" not in fleet.pods()[0]["metadata"]


def test_an_admins_taint_evicts_at_once() -> None:
    fleet = Fleet()
    taint = {"key": "broken", "effect": "NoExecute"}
    fleet.store.change(NODES, None, "n1", lambda node: node["spec"].update(taints=[taint]))
    fleet.advance(2)
    assert fleet.pods() == []
    assert fleet.pod_condition("DisruptionTarget") == ("True", "DeletionByTaintManager")


def test_a_cordon_is_a_taint_until_it_ends() -> None:
    fleet = Fleet()
    fleet.nodes.cordon("n1")
    fleet.advance(1)
    assert fleet.taints == [UNSCHEDULABLE]
    fleet.nodes.cordon("n1", cordoned=False)
    fleet.advance(1)
    assert fleet.taints == []


def test_pods_of_a_removed_node_fail_and_go_after_a_minute() -> None:
    fleet = Fleet()
    fleet.nodes.remove("n1")
    fleet.advance(40)
    assert len(fleet.pods()) == 1
    fleet.advance(20)
    assert fleet.pods() == []
    assert fleet.pod_condition("DisruptionTarget") == ("True", "DeletionByPodGC")
    assert fleet.causes.of("u1")[0] == "node n1 is removed"


def test_a_node_that_returns_in_time_keeps_its_pods() -> None:
    fleet = Fleet()
    old = fleet.node["metadata"]["uid"]
    fleet.nodes.remove("n1")
    fleet.advance(30)
    fleet.nodes.add("n1")
    fleet.advance(100)
    assert len(fleet.pods()) == 1
    assert fleet.node["metadata"]["uid"] != old


def test_a_health_label_is_a_cause_for_the_pods_there() -> None:
    fleet = Fleet()
    fleet.nodes.label("n1", "autopilot.ibm.com/gpuhealth", "EVICT")
    fleet.nodes.label("n1", "autopilot.ibm.com/gpuhealth", None)
    assert "autopilot.ibm.com/gpuhealth" not in fleet.node["metadata"]["labels"]
    assert fleet.causes.of("u1") == ["node n1 autopilot.ibm.com/gpuhealth=EVICT"]


def test_an_unscheduled_pod_with_a_finalizer_fails_when_it_is_deleted() -> None:
    fleet = Fleet()
    pod = bound_pod("q")
    pod["spec"].pop("nodeName")
    pod["metadata"]["finalizers"] = ["example.com/kept"]
    fleet.create(PODS, pod)
    fleet.store.delete(PODS, TEAM, "q")
    fleet.advance(60)
    assert fleet.phases() == ["Running", "Failed"]


def test_pod_gc_removes_an_ended_pod_if_it_is_one_too_many() -> None:
    for index, left in ((0, 1), (1, 0)):
        cluster = SmallCluster(deviations={("pod gc removes ended p", 1): index})
        Kubelet(cluster)
        PodGc(cluster, removes_ended=0.1)
        cluster.create(PODS, bound_pod("p", run_for="1s"))
        cluster.advance(60)
        assert len(cluster.pods()) == left
