"""docs/install.md says what the code, the manifests and the local cluster's parts say."""

import re
import tomllib
from datetime import timedelta
from pathlib import Path

import yaml

from localcluster.installers import kueue
from shared.config.configuration import Configuration
from tests.support.manifests import MANIFESTS, ROOT, objects_under
from tests.support.walkthrough import blocks_of

PAGE = ROOT / "docs" / "install.md"
TEXT = PAGE.read_text()


def version_of(component: str, module: str) -> str:
    text = (ROOT / "localcluster" / "components" / component / "go.mod").read_text()
    found = re.search(rf"^require {re.escape(module)} v(\S+)$", text, re.MULTILINE)
    assert found is not None
    return found[1]


def test_it_names_the_versions_that_tests_run_with() -> None:
    kubernetes = version_of("kubernetes", "k8s.io/kubernetes")
    ours = version_of("kueue", "sigs.k8s.io/kueue")
    assert f"tested with Kubernetes {kubernetes} and Kueue {ours}" in TEXT


def test_what_kueue_must_be_told_is_what_tests_tell_it() -> None:
    (asked,) = re.findall(r"```yaml\n(.*?)```", TEXT, re.DOTALL)
    told = kueue.configuration(
        {},
        webhook_port=0,
        certificates=Path("/none"),
        health="",
        kinds=kueue.frameworks(frozenset()),
    )
    wanted = yaml.safe_load(asked)
    assert wanted == {key: told[key] for key in wanted}
    assert [*wanted] == [
        "manageJobsWithoutQueueName",
        "managedJobsNamespaceSelector",
        "integrations",
    ]


def test_a_reset_takes_what_it_says() -> None:
    periods = Configuration().appwrapper.fault_tolerance
    longest = (
        periods.failure_grace_period + periods.retry_pause_period + periods.warmup_grace_period
    )
    assert longest == timedelta(minutes=7, seconds=30)
    assert "7m30s" in TEXT


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


def test_it_names_no_other_version_of_ours() -> None:
    ours = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    named = re.findall(r"appwrapper-(?:webhook|controller):(\S+)", TEXT)
    assert set(named) == {ours}


def test_its_kustomization_replaces_both_names() -> None:
    (block,) = (each for each in blocks_of(PAGE) if "mkdir my-cluster" in each.commands)
    text = block.commands.partition("<<END\n")[2].partition("END\n")[0]
    assert [each["name"] for each in yaml.safe_load(text)["images"]] == [
        "localhost/appwrapper-webhook",
        "localhost/appwrapper-controller",
    ]


def test_every_link_leads_somewhere() -> None:
    for target in re.findall(r"\]\(([^)#]*)(?:#[^)]*)?\)", TEXT):
        assert target == "" or (PAGE.parent / target).exists(), target
