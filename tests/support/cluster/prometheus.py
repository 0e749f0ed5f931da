"""Runs a real Prometheus beside a cluster's programs, with the rules of deploy/monitoring."""

import tempfile
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import aiohttp
import yaml

from localcluster.access.probes import http_ok
from localcluster.cluster import LocalCluster
from localcluster.machine.ports import HOST
from localcluster.machine.processes import ProcessSpec
from localcluster.machine.progress import reporter_for
from localcluster.programs.build_cache import BuildCache, default_folder
from localcluster.programs.catalogue import CATALOGUE
from localcluster.programs.toolchain import find_go
from tests.support.alerts import ALERTS, FOLDER
from tests.support.manifests import documents
from tests.support.patience import comes_to

NAME: Final = "prometheus"
_PROGRAMS: Final = ("controller", "webhook")
_EVERY: Final = "1s"
_OF_ALL: Final = ("alertname", "severity")


class Prometheus:
    """Sends requests to its HTTP API."""

    def __init__(self, address: str) -> None:
        self._address = address

    async def firing(self) -> dict[str, dict[str, str]]:
        """Returns the firing alerts, by name, with each one's annotations."""
        alerts = (await self._get("alerts"))["alerts"]
        return {
            each["labels"]["alertname"]: each["annotations"]
            for each in alerts
            if each["state"] == "firing"
        }

    async def labels(self, name: str) -> list[dict[str, str]]:
        """Returns the labels of each firing alert of this name, without the common ones."""
        alerts = (await self._get("alerts"))["alerts"]
        found = [
            {key: value for key, value in each["labels"].items() if key not in _OF_ALL}
            for each in alerts
            if (each["labels"]["alertname"], each["state"]) == (name, "firing")
        ]
        return sorted(found, key=str)

    async def troubles(self) -> list[str]:
        """Returns the errors of the rules, once each was evaluated."""
        groups = (await self._get("rules"))["groups"]
        rules = [each for group in groups for each in group["rules"]]
        assert len(rules) == 2 * len(ALERTS)
        return [f"{each['name']}: {each['lastError']}" for each in rules if each.get("lastError")]

    async def next_evaluation(self) -> None:
        """Waits until every rule was evaluated on what a query shows now."""
        for _ in range(2):  # the first to end may have begun before
            before = await self._evaluations()

            async def all_again(before: list[str] = before) -> bool:
                now = await self._evaluations()
                return all(one != other for one, other in zip(now, before, strict=True))

            await comes_to(all_again, True)

    async def _evaluations(self) -> list[str]:
        return [str(group["lastEvaluation"]) for group in (await self._get("rules"))["groups"]]

    async def value(self, query: str) -> float | None:
        """Returns the first value that a query finds; None if it finds nothing."""
        found = (await self._get("query", query=query))["result"]
        return float(found[0]["value"][1]) if found else None

    async def _get(self, path: str, **query: str) -> Any:
        async with (
            aiohttp.ClientSession(trust_env=False) as session,
            session.get(f"{self._address}/api/v1/{path}", params=query) as response,
        ):
            answer = await response.json()
        assert answer["status"] == "success", answer
        return answer["data"]


async def build_prometheus() -> Path:
    """Returns the program, built if it is missing."""
    cache = BuildCache(default_folder(), await find_go(), reporter_for())
    return (await cache.ensure([CATALOGUE[NAME]]))[NAME]


@asynccontextmanager
async def prometheus(
    cluster: LocalCluster, program: Path, thresholds: Mapping[str, float], imitated: str = ""
) -> AsyncGenerator[Prometheus, None]:
    """Scrapes both programs every second, and evaluates each rule twice: unchanged, and at once.

    The second copy does not wait, and has other thresholds for the rules in `thresholds`.
    `imitated` is the address of a page that imitates another replica of either program.
    """
    folder = Path(tempfile.mkdtemp(prefix=f"{NAME}-", dir=cluster.directory))
    (shipped,) = documents(FOLDER / "rules.yaml")
    rules = {"groups": [*shipped["spec"]["groups"], _at_once(thresholds)]}
    (folder / "rules.yaml").write_text(yaml.safe_dump(rules))
    (folder / "prometheus.yaml").write_text(yaml.safe_dump(_configuration(cluster, imitated)))
    address = f"{HOST}:{cluster.ports.reserve()}"
    command = (
        str(program),
        f"--config.file={folder / 'prometheus.yaml'}",
        f"--storage.tsdb.path={folder / 'data'}",
        f"--web.listen-address={address}",
    )
    probe = http_ok(f"http://{address}/-/ready")
    await cluster.processes.start(ProcessSpec(NAME, command, probe, folder=folder, tier=4))
    try:
        yield Prometheus(f"http://{address}")
    finally:
        await cluster.processes.stop(NAME)


def _at_once(thresholds: Mapping[str, float]) -> dict[str, Any]:
    rules = [
        {
            "alert": each.name,
            "expr": each.expression(thresholds.get(each.name)),
            "for": "0s",
            "annotations": {"runbook_url": each.runbook},
        }
        for each in ALERTS
    ]
    return {"name": "at once", "rules": rules}


def _configuration(cluster: LocalCluster, imitated: str) -> dict[str, Any]:
    targets = {program: [_address(cluster, program)] for program in _PROGRAMS}
    targets["webhook"] += [imitated] if imitated else []
    scraped = [
        {
            "job_name": program,
            "honor_labels": True,
            "static_configs": [
                {
                    "targets": targets[program],
                    # As the Prometheus operator adds it.
                    "labels": {"namespace": "appwrapper-system"},
                }
            ],
        }
        for program in _PROGRAMS
    ]
    return {
        "global": {"scrape_interval": _EVERY, "evaluation_interval": _EVERY},
        "rule_files": ["rules.yaml"],
        "scrape_configs": scraped,
    }


def _address(cluster: LocalCluster, program: str) -> str:
    file = cluster.directory / "product" / f"{program}.yaml"
    address: str = yaml.safe_load(file.read_text())["controllerManager"]["metrics"]["bindAddress"]
    return address
