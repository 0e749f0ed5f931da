"""The choices of deploy/certs. tests/integration/shared/test_deployments.py shows what they render.

tests/e2e/test_cert_manager.py changes from one choice to another on a running installation.
"""

import re
from datetime import timedelta
from typing import Any

import pytest
import yaml

from shared.api.objects import JsonObject
from shared.config.configuration import CertManagement
from tests.support.manifests import CERTS, MANIFESTS, ROOT, document, objects_under
from webhook.rbac import SELF_MANAGED
from webhook.tls.issue import serving_names
from webhook.tls.mounted_files import CERTIFICATE_FILE, KEY_FILE

NAMES = CertManagement()
SECRET = "appwrapper-webhook-tls"
PAGE = (ROOT / "docs" / "admins" / "certificates.md").read_text()


def component(name: str) -> JsonObject:
    found = document(CERTS / name / "Kustomization")
    assert found["kind"] == "Component"
    return found


def patches(name: str, kind: str) -> list[Any]:
    """The patches of a component for objects of a Kind, or of a group."""
    return [
        yaml.safe_load(each["patch"])
        for each in component(name)["patches"]
        if kind in each["target"].values()
    ]


def named(kind: str, name: str) -> JsonObject:
    [found] = [
        each
        for each in objects_under(CERTS / "cert-manager")
        if (each["kind"], each["metadata"]["name"]) == (kind, name)
    ]
    return found


def hours(text: str) -> timedelta:
    return timedelta(hours=int(text.removesuffix("h")))


def test_the_base_contains_the_default_choice() -> None:
    assert document(MANIFESTS / "base" / "Kustomization")["components"] == [
        "../../certs/self-managed"
    ]
    assert NAMES.source == "SelfManaged"


def test_self_managed_is_an_empty_secret_and_the_rights_to_fill_it() -> None:
    found = sorted(
        (each["kind"], each["metadata"]["name"]) for each in objects_under(CERTS / "self-managed")
    )
    [secret, *_] = [each for each in objects_under(CERTS / "self-managed") if "roleRef" not in each]
    roles = {each.name for each in SELF_MANAGED}
    assert {name for kind, name in found if kind.endswith("Role")} == roles
    assert {name for kind, name in found if kind.endswith("Binding")} == roles
    assert ("Secret", NAMES.webhook_secret_name) in found
    assert len(found) == 1 + 2 * len(roles)
    assert "data" not in secret


def test_the_other_choices_remove_all_of_it() -> None:
    """And match nothing else of what the base contains."""
    targets = [
        each["target"] for each in component("files")["patches"] if "$patch" in each["patch"]
    ]

    def removed(each: JsonObject) -> bool:
        group = each["apiVersion"].rpartition("/")[0]
        return any(
            re.fullmatch(target["name"], each["metadata"]["name"])
            and target.get("kind", each["kind"]) == each["kind"]
            and target.get("group", group) == group
            for target in targets
        )

    assert all(removed(each) for each in objects_under(CERTS / "self-managed"))
    assert not [each for each in objects_under(MANIFESTS / "base") if removed(each)]


def test_files_are_mounted_at_the_path_of_the_flag() -> None:
    [operations] = patches("files", "Deployment")
    argument, mount, volume = (each["value"] for each in operations)
    flag, folder = argument.split("=")
    assert flag == "--cert-dir"
    assert mount == {"name": "tls", "mountPath": folder, "readOnly": True}
    assert volume == {"name": "tls", "secret": {"secretName": SECRET}}
    # The names in a Secret of the type kubernetes.io/tls, which cert-manager and kubectl write.
    assert (CERTIFICATE_FILE, KEY_FILE) == ("tls.crt", "tls.key")


def test_cert_manager_fills_the_secret_that_is_mounted() -> None:
    assert component("cert-manager")["components"] == ["../files"]
    spec = named("Certificate", SECRET)["spec"]
    assert spec["secretName"] == SECRET
    # API servers call the first of the names that a certificate of the webhook's own has.
    assert spec["dnsNames"] == [serving_names(NAMES.namespace, NAMES.webhook_service_name)[0]]
    assert spec["privateKey"]["rotationPolicy"] == "Always"


def test_the_injected_ca_is_that_of_the_certificate_in_use() -> None:
    [patch] = patches("cert-manager", "admissionregistration.k8s.io")
    assert patch["metadata"]["annotations"] == {
        "cert-manager.io/inject-ca-from": f"{NAMES.namespace}/{SECRET}"
    }
    [target] = [each["target"] for each in component("cert-manager")["patches"]]
    for name in (NAMES.mutating_webhook_config_name, NAMES.validating_webhook_config_name):
        assert re.fullmatch(target["name"], name)


def test_the_ca_signs_itself_outlives_the_certificate_and_keeps_its_key() -> None:
    leaf = named("Certificate", SECRET)["spec"]
    issuer = named("Issuer", leaf["issuerRef"]["name"])["spec"]
    authority = named("Certificate", issuer["ca"]["secretName"])["spec"]
    assert named("Issuer", authority["issuerRef"]["name"])["spec"] == {"selfSigned": {}}
    assert authority["isCA"] is True
    assert authority["secretName"] == issuer["ca"]["secretName"]
    assert authority["privateKey"]["rotationPolicy"] == "Never"
    assert hours(authority["duration"]) == NAMES.ca_lifetime
    assert hours(leaf["duration"]) == NAMES.leaf_lifetime
    assert hours(leaf["renewBefore"]) < hours(leaf["duration"]) / 2


def test_everything_of_cert_manager_is_found_by_the_label_and_in_the_namespace() -> None:
    for each in objects_under(CERTS / "cert-manager"):
        assert each["metadata"]["namespace"] == NAMES.namespace
        assert each["metadata"]["labels"]["app.kubernetes.io/name"] == "appwrapper"


@pytest.mark.parametrize("choice", ["cert-manager", "files"])
def test_the_page_shows_the_line_that_chooses(choice: str) -> None:
    assert f"components:\n- ../deploy/certs/{choice}\n" in PAGE


def test_the_page_shows_a_kustomization_that_makes_the_mounted_secret() -> None:
    [text] = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    [secret] = yaml.safe_load(text)["secretGenerator"]
    assert (secret["name"], secret["namespace"]) == (SECRET, NAMES.namespace)
    assert secret["files"] == [CERTIFICATE_FILE, KEY_FILE]
    assert secret["options"] == {"disableNameSuffixHash": True}


def test_both_choices_without_the_webhooks_own_ca_write_the_ca_bundle_by_the_same_commands() -> (
    None
):
    """tests/e2e types them for cert-manager."""
    [first, second] = re.findall(r"^for kind in .*?^done$", PAGE, re.DOTALL | re.MULTILINE)
    assert first == second
