"""docs/admins/install.md says what the code, the manifests and the local cluster's parts say."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml

from localcluster.installers import kueue
from localcluster.programs.catalogue import KUEUE_VERSIONS
from shared.api.objects import APPWRAPPERS
from shared.api.times import format_duration
from shared.config.configuration import Configuration
from shared.config.kueue import longest_by_default, wait_for_pods_ready
from shared.kinds.table import KINDS
from tests.support.manifests import MANIFESTS, ROOT, objects_under
from tests.support.walkthrough import blocks_of

PAGE = ROOT / "docs" / "admins" / "install.md"
TEXT = PAGE.read_text()
LOCAL = (ROOT / "docs" / "admins" / "local-cluster.md").read_text()
KUEUE = (ROOT / "docs" / "admins" / "kueue.md").read_text()


def version_of(component: str, module: str) -> str:
    text = (ROOT / "localcluster" / "components" / component / "go.mod").read_text()
    found = re.search(rf"^require {re.escape(module)} v(\S+)$", text, re.MULTILINE)
    assert found is not None
    return found[1]


def test_it_names_the_versions_that_tests_run_with() -> None:
    kubernetes = version_of("kubernetes", "k8s.io/kubernetes")
    ours = version_of("kueue", "sigs.k8s.io/kueue")
    assert f"tested with Kubernetes {kubernetes} and Kueue {ours}" in TEXT


def test_the_pages_configuration_of_kueue_is_that_of_the_tests() -> None:
    (asked,) = re.findall(r"```yaml\n(.*?)```", TEXT, re.DOTALL)
    configured = kueue.configuration(
        {"apiVersion": "config.kueue.x-k8s.io/v1beta2", "kind": "Configuration"},
        webhook_port=0,
        certificates=Path("/none"),
        health="",
        kinds=kueue.frameworks(frozenset({"training-operator", "kuberay"})),
    )
    wanted = yaml.safe_load(asked)
    for setting in (wanted, configured):  # in whatever order
        setting["integrations"]["frameworks"].sort()
    assert wanted == {key: configured[key] for key in wanted}
    assert [*wanted] == [
        "apiVersion",
        "kind",
        "manageJobsWithoutQueueName",
        "managedJobsNamespaceSelector",
        "integrations",
        "waitForPodsReady",
    ]


def test_kueue_queues_every_kind_with_pods_that_teams_create_directly() -> None:
    (asked,) = re.findall(r"```yaml\n(.*?)```", TEXT, re.DOTALL)
    enabled = yaml.safe_load(asked)["integrations"]["frameworks"]
    direct = Configuration().appwrapper.allowed_kinds.direct
    with_pods = {each.group_kind for each in KINDS if each.pod_sets is not None}
    queued = [each for each in direct if each in with_pods or each == APPWRAPPERS.gvk.group_kind]
    assert len(queued) > 1
    assert {each.lower() for each in queued} <= set(enabled)


@pytest.mark.parametrize("page", [TEXT, KUEUE], ids=["install.md", "kueue.md"])
def test_how_long_kueue_must_wait_is_what_our_defaults_add_up_to(page: str) -> None:
    behaviour = Configuration().appwrapper
    longest = format_duration(longest_by_default(behaviour))
    assert f" {longest} with the defaults" in page or f"**{longest}**" in page
    configured = wait_for_pods_ready(behaviour)
    shown = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    assert [yaml.safe_load(block)["waitForPodsReady"] for block in shown] == [configured]


def test_the_versions_of_kueue_are_those_that_can_be_had() -> None:
    newest, *_, oldest = KUEUE_VERSIONS
    sentence = (
        f"`make test` and `make demo` run on {newest}, the newest; `make test-long` also runs"
    )
    assert f"{sentence} the tests about Kueue on {oldest}, the\noldest" in KUEUE
    assert f"up --kueue {oldest}" in KUEUE
    span = f"Kueue {oldest.rpartition('.')[0]} to {newest.rpartition('.')[0]}"
    assert f"\n\n{span}. " in KUEUE
    assert f"and {span}; tested" in TEXT


def test_docker_makes_what_the_manifests_name() -> None:
    (block,) = (each for each in blocks_of(PAGE) if each.commands.startswith("docker build"))
    named = [
        container["image"]
        for each in objects_under(MANIFESTS / "base")
        if each["kind"] == "Deployment"
        for container in each["spec"]["template"]["spec"]["containers"]
    ]
    tagged = sorted(name.replace("localhost/", "registry.example.com/team/") for name in named)
    built = re.findall(r"^docker build --file (\S+) --tag (\S+) \.$", block.commands, re.MULTILINE)
    assert sorted(tag for _, tag in built) == tagged
    assert [file for file, _ in built if not (ROOT / file).is_file()] == []
    assert sorted(re.findall(r"^docker push (\S+)$", block.commands, re.MULTILINE)) == tagged


def test_it_names_no_other_version_of_the_product() -> None:
    ours = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    named = re.findall(r"appwrapper-(?:webhook|controller):([\w.]+)", TEXT + LOCAL)
    assert set(named) == {ours}


def test_its_kustomization_replaces_both_names() -> None:
    (block,) = (each for each in blocks_of(PAGE) if "mkdir my-cluster" in each.commands)
    text = block.commands.partition("<<END\n")[2].partition("END\n")[0]
    assert [each["name"] for each in yaml.safe_load(text)["images"]] == [
        "localhost/appwrapper-webhook",
        "localhost/appwrapper-controller",
    ]
