"""deploy/monitoring: every alert is about metrics that exist, links to its section, and renders."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client import CollectorRegistry

from shared.api.objects import JsonObject
from shared.config.configuration import CertManagement, Configuration
from shared.kube.connection import Timeouts
from shared.kube.http_client import WATCH_JITTER
from shared.kube.informer import LONGEST_DELAY, WATCH_SECONDS
from tests.support.alerts import ALERTS, FOLDER, Alert
from tests.support.fakes.measured_controller import registries
from tests.support.manifests import MANIFESTS, ROOT, documents, objects_under
from tests.support.walkthrough import blocks_of
from webhook.metrics import WebhookMetrics

PAGE = ROOT / "docs" / "admins" / "monitoring.md"
# A metric with what selects among its lines; then by which labels values are put together.
METRIC = re.compile(
    r"\b((?:appwrapper|controller_runtime|leader_election|workqueue)\w*)(?:\{([^}]*)\})?"
)
BY = re.compile(r"\bby \(([^)]*)\)")
MATCHER = re.compile(r'(\w+)(=~|!=|=)"([^"]*)"')
LABEL_IN_TEXT = re.compile(r"\$labels\.(\w+)")
SUFFIXES = ("_bucket", "_count", "_sum")


async def metrics() -> dict[str, dict[str, set[str]]]:
    """By name: each label of the metrics of both programs, with the values that it has."""
    webhook = WebhookMetrics({"/mutate": (), "/validate": ("names",)})
    webhook.watch_certificate(lambda: None, lambda: None)
    webhook.show_ready(lambda: None)
    return dict(chain.from_iterable(of(each) for each in (*registries(), webhook.registry)))


def of(registry: CollectorRegistry) -> Iterator[tuple[str, dict[str, set[str]]]]:
    for collector in registry._collector_to_names:
        for family in collector.collect():
            labels: dict[str, set[str]] = {}
            for each in (collector, family):  # of a metric without a line yet, only these tell
                labels |= {name: set() for name in getattr(each, "_labelnames", ())}
            for sample in family.samples:
                for name, value in sample.labels.items():
                    labels.setdefault(name, set()).add(value)
            yield f"{family.name}_total" if family.type == "counter" else family.name, labels


def base_name(name: str, known: Mapping[str, object]) -> str:
    """A histogram's lines have its name with an ending."""
    bare = next((name.removesuffix(end) for end in SUFFIXES if name.endswith(end)), name)
    return bare if bare in known else name


def panels() -> list[JsonObject]:
    found: list[JsonObject] = json.loads((FOLDER / "dashboard.json").read_text())["panels"]
    return found


def queries() -> Iterator[Any]:
    for alert in ALERTS:
        yield pytest.param(alert.expression(), id=alert.name)
    for panel in panels():
        for target in panel["targets"]:
            yield pytest.param(target["expr"], id=f"panel {panel['title']}")


@pytest.mark.parametrize("query", [*queries()])
async def test_a_query_names_metrics_and_labels_that_exist(query: str) -> None:
    known = await metrics()
    for part in query.split(" or "):
        labels: set[str] = {"le"}
        for name, matchers in METRIC.findall(part):
            found = known[base_name(name, known)]
            labels |= set(found)
            for label, sign, value in MATCHER.findall(matchers):
                assert label in found
                assert sign == "!=" or value in found[label]
        named = {each.strip() for group in BY.findall(part) for each in group.split(",")}
        assert named - labels == set()


@pytest.mark.parametrize("alert", ALERTS, ids=lambda each: each.name)
def test_an_alert_is_complete(alert: Alert) -> None:
    annotations = alert.rule["annotations"]
    named = {each for text in annotations.values() for each in LABEL_IN_TEXT.findall(text)}
    groups = BY.findall(alert.expression())
    kept = {each.strip() for group in groups for each in group.split(",")}
    assert named - kept == set(), "a label that the expression drops"
    assert alert.rule["labels"].keys() == {"severity"}
    assert alert.rule["labels"]["severity"] in ("critical", "warning", "info")
    # Both are read in a chat: the summary is one line, with the value where there is one.
    assert "\n" not in annotations["summary"]


def test_names_and_sections_are_distinct() -> None:
    assert len({alert.name for alert in ALERTS}) == len(ALERTS)
    assert len({alert.section for alert in ALERTS}) == len(ALERTS)


@pytest.mark.parametrize("alert", ALERTS, ids=lambda each: each.name)
def test_the_section_of_an_alert_exists(alert: Alert) -> None:
    heading = alert.section.replace("-", " ").capitalize()
    assert f"\n## {heading}\n" in (ROOT / alert.runbook.partition("#")[0]).read_text()


def test_quota_without_pods_is_reported_after_the_last_attempt_without_any() -> None:
    (alert,) = (each for each in ALERTS if each.section == "quota-without-pods")
    defaults = Configuration().appwrapper.fault_tolerance
    longest = (
        defaults.warmup_grace_period * (defaults.retry_limit + 1)
        + defaults.retry_pause_period * 1.1 * defaults.retry_limit
    )
    assert longest.total_seconds() <= alert.threshold


def test_a_quiet_watch_raises_no_alert() -> None:
    """A dead connection is noticed at the end of its watch, and one more may be as dead."""
    (alert,) = (each for each in ALERTS if each.section == "watch-silent")
    longest = WATCH_SECONDS * max(WATCH_JITTER) + Timeouts().overtime
    assert 2 * longest + LONGEST_DELAY < alert.threshold


def test_a_certificate_that_is_replaced_in_time_raises_no_alert() -> None:
    (alert,) = (each for each in ALERTS if each.section == "certificate-expires")
    assert CertManagement().leaf_lifetime.total_seconds() / 3 > alert.threshold


@pytest.mark.parametrize("program", ["controller", "webhook"])
def test_a_service_monitor_finds_the_service_for_metrics(program: str) -> None:
    (monitor,) = (
        each
        for each in documents(FOLDER / "service-monitors.yaml")
        if each["metadata"]["name"] == f"appwrapper-{program}"
    )
    (endpoint,) = monitor["spec"]["endpoints"]
    wanted = monitor["spec"]["selector"]["matchLabels"].items()
    found = [
        each["metadata"]["name"]
        for each in objects_under(MANIFESTS / "base")
        if each["kind"] == "Service"
        and wanted <= each["metadata"]["labels"].items()
        and any(port["name"] == endpoint["port"] for port in each["spec"]["ports"])
        and each["metadata"]["namespace"] == monitor["metadata"]["namespace"]
    ]
    assert found == [f"appwrapper-{program}-metrics-service"]
    # Else the label `namespace` of a metric would be the scraped pod's.
    assert endpoint["honorLabels"] is True


def test_the_dashboard_shows_every_alert_and_no_panel_covers_another() -> None:
    titles = [each["title"] for each in panels()]
    assert [each.name for each in ALERTS] == titles[-len(ALERTS) :]
    described = [
        f"{each.rule['annotations']['description']} Runbook: {each.runbook}" for each in ALERTS
    ]
    assert [each["description"] for each in panels()[-len(ALERTS) :]] == described
    corners = {(each["gridPos"]["x"], each["gridPos"]["y"]) for each in panels()}
    assert len(corners) == len({each["id"] for each in panels()}) == len(titles)


def test_the_page_lists_every_alert_with_its_severity_and_its_section() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (\w+) \| .* \| \[.*\]\((.*)\) \|$", PAGE.read_text(), re.M)
    assert rows == [
        (each.name, each.rule["labels"]["severity"], f"runbook.md#{each.section}")
        for each in ALERTS
    ]


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="no kubectl on the PATH")
def test_commands_of_the_page_render(tmp_path: Path) -> None:
    """Every command of the page but those that ask the cluster; a long test types these, too."""
    shutil.copytree(ROOT / "deploy", tmp_path / "deploy")
    asks, makes, applies, patches = (each.commands for each in blocks_of(PAGE))
    assert "kubectl get prometheuses" in asks
    render = applies.replace("kubectl apply --filename -", "cat > rendered.yaml")
    assert render != applies
    for commands in (makes, render):
        subprocess.run(("bash", "-euc", commands), cwd=tmp_path, check=True)
    rendered = documents(tmp_path / "rendered.yaml")
    assert sorted((each["kind"], each["metadata"]["name"]) for each in rendered) == [
        ("ConfigMap", "appwrapper-dashboard"),
        ("PrometheusRule", "appwrapper"),
        ("ServiceMonitor", "appwrapper-controller"),
        ("ServiceMonitor", "appwrapper-webhook"),
    ]
    for each in rendered:
        assert each["metadata"]["labels"]["release"] == "kube-prometheus-stack"
        assert each["metadata"]["namespace"] == "appwrapper-system"
    (rules,) = (each for each in rendered if each["kind"] == "PrometheusRule")
    address = "https://git.example.com/team/appwrapper/blob/main/"
    assert [each["annotations"]["runbook_url"] for each in rules["spec"]["groups"][0]["rules"]] == [
        address + alert.runbook for alert in ALERTS
    ]
    patched = subprocess.run(
        ("bash", "-euc", patches), cwd=tmp_path, check=True, capture_output=True, text=True
    )
    (shown,) = (each.shown for each in blocks_of(PAGE) if each.commands == patches)
    assert patched.stdout == shown


def test_the_component_has_every_file_of_its_folder() -> None:
    component = yaml.safe_load((FOLDER / "Kustomization").read_text())
    named = [*component["resources"], *component["configMapGenerator"][0]["files"]]
    there = sorted(each.name for each in FOLDER.iterdir() if each.name != "Kustomization")
    assert sorted(named) == there
