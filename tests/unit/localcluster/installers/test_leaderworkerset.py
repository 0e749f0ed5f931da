"""LeaderWorkerSet's webhooks and its configuration, as they are fitted to this machine."""

from pathlib import Path

from localcluster.installers.leaderworkerset import configuration, webhooks
from localcluster.installers.manifests import HostWebhook

SHIPPED = """
kind: MutatingWebhookConfiguration
metadata: {name: mutating-webhook-configuration}
webhooks:
- name: mleaderworkerset.kb.io
  clientConfig: {service: {path: /set}}
- name: mpod.kb.io
  clientConfig: {service: {path: /pod}}
"""


def test_only_pods_of_its_sets_are_any_of_its_business(tmp_path: Path) -> None:
    (tmp_path / "webhook").mkdir()
    (tmp_path / "webhook" / "manifests.yaml").write_text(SHIPPED)

    (made,) = webhooks(tmp_path, HostWebhook("lws-system", "webhook", 20443, b"PEM"))

    assert made["metadata"] == {"name": "lws-mutating-webhook-configuration"}
    sets, pods = made["webhooks"]
    assert "objectSelector" not in sets
    assert pods["objectSelector"] == {
        "matchExpressions": [{"key": "leaderworkerset.sigs.k8s.io/name", "operator": "Exists"}]
    }


def test_only_what_differs_from_the_module_is_set() -> None:
    default = {
        "kind": "Configuration",
        "leaderElection": {"leaderElect": True},
        "internalCertManagement": {"enable": True},
        "gangSchedulingManagement": {"schedulerProvider": "volcano"},
    }

    made = configuration(
        default,
        webhook_port=20443,
        certificates=Path("/cluster/tls"),
        health="127.0.0.1:20081",
    )

    assert made == {
        "kind": "Configuration",
        "leaderElection": {"leaderElect": False},
        "internalCertManagement": {"enable": False},
        "gangSchedulingManagement": {"schedulerProvider": "volcano"},
        "health": {"healthProbeBindAddress": "127.0.0.1:20081"},
        "metrics": {"bindAddress": "0"},
        "webhook": {"host": "127.0.0.1", "port": 20443, "certDir": "/cluster/tls"},
        "clientConnection": {"qps": 1000, "burst": 2000},
    }
