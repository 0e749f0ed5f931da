"""The pages for users: reachable, and true to the code. What holds for all pages: test_links."""

import re
import shlex
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from shared.annotations import PERIODS, TABLE
from shared.api.names import LABEL_APPWRAPPER, LABEL_ATTEMPT, LABEL_USER
from shared.config.fault_tolerance import FaultToleranceConfig
from shared.kinds.table import KINDS, pod_sets_once_admitted
from tests.support.command import appwrapper
from tests.support.manifests import ROOT, SAMPLES, document
from tests.support.shown_commands import commands_in
from tests.support.walkthrough import blocks_of, shows
from webhook.rules.user import as_label_value

FOLDER = ROOT / "docs" / "users"
PAGES = sorted(FOLDER.glob("*.md"))
TEXTS = {page.name: page.read_text() for page in PAGES}
CONFIG = FaultToleranceConfig()
VALIDATED = [
    block
    for page in PAGES
    if page.name in {"first-job.md", "checkpoints.md", "kinds.md"}
    for block in blocks_of(page)
    if block.commands.startswith("appwrapper validate")
]


def test_the_index_lists_every_page_once() -> None:
    listed = re.findall(r"^\| .* \| \[([^]]+)]\(([^)]+)\) \|$", TEXTS["README.md"], re.MULTILINE)
    assert all(text == target for text, target in listed)
    assert sorted(text for text, _ in listed) == sorted(TEXTS.keys() - {"README.md"})


@pytest.mark.parametrize("name", [each for each in TEXTS if commands_in(f"users/{each}")])
def test_a_test_names_each_page_with_commands(name: str) -> None:
    named = re.compile(rf'"(docs/)?(users/)?{name}"')
    files = [each for each in (ROOT / "tests").rglob("*.py") if each != Path(__file__)]
    assert name == "kinds.md" or any(named.search(file.read_text()) for file in files)


@pytest.mark.parametrize("block", VALIDATED, ids=lambda block: block.heading)
def test_manifests_of_the_pages_are_valid(monkeypatch: pytest.MonkeyPatch, block: Any) -> None:
    monkeypatch.chdir(ROOT)
    (line,) = block.commands.splitlines()
    program, *words = shlex.split(line, comments=True)
    assert program == "appwrapper"
    ended = appwrapper(*words)
    assert (ended.code, ended.err) == (1 if block.is_refused else 0, "")
    assert block.shown is None or shows(block.shown, ended.out), ended.out
    assert "warning" not in ended.out


def test_the_pages_validate_four_times() -> None:
    assert [each.is_refused for each in VALIDATED] == [False, False, False, True]


@pytest.mark.parametrize("name", TEXTS)
def test_every_manifest_is_yaml_and_its_annotations_exist(name: str) -> None:
    known = {each.key for each in TABLE}
    prefix = "workload.codeflare.dev.appwrapper/"
    others = {f"{prefix}helper", f"{prefix}hold", f"{prefix}keep"}
    for text in re.findall(r"^```yaml\n(.*?)^```", TEXTS[name], re.MULTILINE | re.DOTALL):
        assert yaml.safe_load(text)
        assert set(re.findall(rf"^ *({prefix}\w+):", text, re.MULTILINE)) <= known | others


def test_the_periods_of_the_timeline_are_the_defaults() -> None:
    text = TEXTS["failures.md"]
    defaults = {
        "failureGracePeriodDuration": "1 min to be replaced first",
        "retryPausePeriodDuration": "90 to 99 s later",
        "admissionGracePeriodDuration": "within 1 min",
        "warmupGracePeriodDuration": "within 5 min",
        "forcefulDeletionGracePeriodDuration": "forced after 10 min",
    }
    minutes = {
        "failureGracePeriodDuration": 1,
        "retryPausePeriodDuration": 1.5,
        "admissionGracePeriodDuration": 1,
        "warmupGracePeriodDuration": 5,
        "forcefulDeletionGracePeriodDuration": 10,
    }
    for period in PERIODS:
        if period.name in defaults:
            assert defaults[period.name] in text, period.name
            assert f"`{period.name}" in text
            assert period.default(CONFIG) == timedelta(minutes=minutes[period.name])
    assert CONFIG.retry_limit == 3
    assert "the fourth failure | 3 retries are spent" in text


def test_the_labels_of_the_pages_are_those_of_the_code() -> None:
    assert f"`{LABEL_USER}`" in TEXTS["deleting.md"]
    assert f"-l {LABEL_USER}=alice" in TEXTS["deleting.md"]
    assert as_label_value("alice@example.com") == "alice_example.com"
    assert "`alice_example.com`" in TEXTS["deleting.md"]
    assert f"`{LABEL_ATTEMPT}`" in TEXTS["checkpoints.md"]
    assert f"-l {LABEL_APPWRAPPER}=failing-pytorchjob" in TEXTS["failures.md"]


def test_a_sample_of_each_kind_with_pods_and_its_number_of_pods() -> None:
    rows = re.findall(
        r"^\| (\w+) \| \[([^]]+)]\(../../samples/([^)]+)\) \| (\d+) \|",
        TEXTS["kinds.md"],
        re.MULTILINE,
    )
    assert {row[0] for row in rows} == {
        kind.resource.kind for kind in KINDS if kind.pod_sets is not None and not kind.pods_by
    }
    for kind, text, file, pods in rows:
        assert text == file
        components = document(SAMPLES / file)["spec"]["components"]
        assert kind in {each["template"]["kind"] for each in components}
        counted = [one.replicas for each in components for one in pod_sets_once_admitted(each)]
        assert sum(counted) == int(pods)
    shown = {file for _, _, file, _ in rows}
    assert {f"kinds/{each.name}" for each in (SAMPLES / "kinds").iterdir()} <= shown
