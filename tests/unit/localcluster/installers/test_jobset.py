"""JobSet's webhooks as they are directed to this machine."""

from pathlib import Path

from localcluster.installers.jobset import webhooks
from localcluster.installers.manifests import HostWebhook

SHIPPED = """
kind: ValidatingWebhookConfiguration
metadata: {name: validating-webhook-configuration}
webhooks:
- name: vjobset.kb.io
  clientConfig: {service: {path: /jobset}}
- name: vpod.kb.io
  clientConfig: {service: {path: /pod}}
"""


def test_only_pods_of_jobsets_are_any_of_its_business(tmp_path: Path) -> None:
    (tmp_path / "webhook").mkdir()
    (tmp_path / "webhook" / "manifests.yaml").write_text(SHIPPED)

    (made,) = webhooks(tmp_path, HostWebhook("jobset-system", "webhook", 20443, b"PEM"))

    assert made["metadata"] == {"name": "jobset-validating-webhook-configuration"}
    jobsets, pods = made["webhooks"]
    assert "objectSelector" not in jobsets
    assert pods["objectSelector"] == {
        "matchExpressions": [{"key": "jobset.sigs.k8s.io/jobset-name", "operator": "Exists"}]
    }
