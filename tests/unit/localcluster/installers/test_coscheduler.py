"""Coscheduler's configuration and its identity's roles."""

from pathlib import Path

from localcluster.installers import coscheduler


def test_it_schedules_gangs_and_fills_nodes_by_their_gpus() -> None:
    made = coscheduler.configuration(Path("/cluster/coscheduler.yaml"))

    assert made == {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "leaderElection": {"leaderElect": False},
        "clientConnection": {
            "kubeconfig": "/cluster/coscheduler.yaml",
            "qps": 1000,
            "burst": 2000,
        },
        "profiles": [
            {
                "schedulerName": "scheduler-plugins-scheduler",
                "plugins": {
                    "multiPoint": {
                        "enabled": [{"name": "Coscheduling"}],
                        "disabled": [{"name": "PrioritySort"}],
                    },
                },
                "pluginConfig": [
                    {"name": "Coscheduling", "args": {"permitWaitingTimeSeconds": 10}},
                    {
                        "name": "NodeResourcesFit",
                        "args": {
                            "scoringStrategy": {
                                "type": "RequestedToCapacityRatio",
                                "resources": [{"name": "nvidia.com/gpu", "weight": 1}],
                                "requestedToCapacityRatio": {
                                    "shape": [
                                        {"utilization": 0, "score": 0},
                                        {"utilization": 100, "score": 10},
                                    ]
                                },
                            }
                        },
                    },
                ],
            }
        ],
    }
