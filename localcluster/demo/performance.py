"""Plays the scenario on a running cluster and shows each step as a person would see it.

kubectl submits the manifests, so that a person can type every printed command. An informer follows
the AppWrappers.
"""

import asyncio
import os
import shlex
import shutil
import sys
from pathlib import Path

from rich.console import Console
from rich.text import Text

from localcluster.cluster import LocalCluster
from localcluster.demo.ledger import Ledger, SampleVerdict, settled, unfinished
from localcluster.demo.scenario import SCENARIO, Sample
from localcluster.demo.table import HEADINGS, line_of, row_of, style_of
from localcluster.machine.child import captured
from localcluster.machine.slowness import stretched
from localcluster.team import NAMESPACE
from shared.api.objects import APPWRAPPERS, JsonObject
from shared.kube.informer import Informer
from shared.kube.object_cache import Change
from shared.process.clock import SystemClock
from shared.process.sources import Sources

REPOSITORY = Path(__file__).resolve().parents[2]
# From the first submission on. The samples themselves need about 40 s.
PATIENCE_SECONDS = stretched(180.0)
# Kueue processes a new AppWrapper within a moment; until then `explain` has another answer.
_EXPLANATIONS = 20
_KUEUE_MESSAGE = "Kueue reports ("
_WIDEST = 120


class Performance:
    """One play of the scenario."""

    def __init__(self, cluster: LocalCluster) -> None:
        self._cluster = cluster
        self._clock = SystemClock()
        self._ledger = Ledger()
        self._changed = asyncio.Event()
        self._appwrappers: Informer[JsonObject] = Informer(
            cluster.client,
            APPWRAPPERS,
            transform=lambda appwrapper: appwrapper,
            sources=Sources.of_the_machine(),
            namespace=NAMESPACE,
            failed=lambda error: _show(f"(watching again after: {error})"),
        )
        self._appwrappers.add_handler(self._see)

    async def play(self) -> list[str]:
        """Submits every sample and follows it; returns one line per sample that missed its end."""
        began = self._clock.monotonic()
        _show(line_of(HEADINGS))
        async with asyncio.TaskGroup() as tasks:
            watching = tasks.create_task(self._appwrappers.run())
            try:
                async with asyncio.timeout(PATIENCE_SECONDS):
                    await self._submit_all()
                    while not settled(self._ledger, SCENARIO):
                        await self._next_change()
            except TimeoutError:
                _show(f"Waited {PATIENCE_SECONDS:.0f} s for the samples.")
            finally:
                watching.cancel()
        failures = unfinished(self._ledger, SCENARIO)
        if not failures:
            seconds = self._clock.monotonic() - began
            _show(f"\nAll {len(SCENARIO)} samples reached their expected end in {seconds:.0f} s:")
            for sample in SCENARIO:
                _show(f"  {sample.name}: {self._ledger.evaluate(sample).reason}")
        return failures

    def print_commands(self) -> None:
        """Prints commands to continue by hand."""
        _show("\nThe cluster stays up until Ctrl-C. In another terminal:\n")
        for line in commands_to_go_on(self._cluster.kubeconfig, self._cluster.kubectl):
            _show(f"  {line}")
        _show(f"\nLogs of every component: {self._cluster.logs}")

    async def _submit_all(self) -> None:
        for sample in SCENARIO:
            while sample.after and not self._may_follow(sample):
                await self._next_change()
            await self._submit(sample)
            if sample.explained:
                await self._explain(sample)

    def _may_follow(self, sample: Sample) -> bool:
        """True if the sample before has reached its phase, or never will."""
        before = next(each for each in SCENARIO if each.name == sample.after)
        missed = self._ledger.evaluate(before).verdict is SampleVerdict.MISSED
        return missed or self._ledger.has_reached(sample.after, sample.after_phase)

    async def _submit(self, sample: Sample) -> None:
        arguments = ("apply", "-n", NAMESPACE, "-f", sample.file)
        code, output = await captured(
            (
                str(self._cluster.kubectl),
                f"--kubeconfig={self._cluster.kubeconfig}",
                *arguments,
            ),
            folder=REPOSITORY,
        )
        _show(f"\n# {sample.shows}: {sample.ending}\n$ kubectl {' '.join(arguments)}")
        _show(output.rstrip())
        if code != 0:
            self._ledger.refuse(sample.name, output.strip())

    async def _explain(self, sample: Sample) -> None:
        """Runs `explain` as a user would, until Kueue has reported why the AppWrapper waits."""
        arguments = ("explain", sample.name, "-n", NAMESPACE)
        while not self._ledger.has_reached(sample.name, "Suspended"):
            await self._next_change()
        output = ""
        for _ in range(_EXPLANATIONS):
            _, output = await captured(
                (sys.executable, "-m", "cli", *arguments),
                folder=REPOSITORY,
                environment={
                    **os.environ,
                    "KUBECONFIG": str(self._cluster.kubeconfig),
                    "COLUMNS": str(min(shutil.get_terminal_size().columns, _WIDEST)),
                },
            )
            if _KUEUE_MESSAGE in output:
                break
            await self._clock.sleep(0.5)
        _show(f"\n# Why does it wait?\n$ appwrapper {' '.join(arguments)}")
        _show(output.rstrip())

    def _see(self, change: Change[JsonObject]) -> None:
        if (appwrapper := change.new) is None:
            return
        name = appwrapper["metadata"]["name"]
        known = self._ledger.root_causes.get(name)
        self._ledger.see(appwrapper)
        found = self._ledger.root_causes.get(name)
        if found and found != known:
            _show(f"\n# Which worker broke {name}?\nROOT CAUSE  {found.get('summary', '')}\n")
        now = self._clock.now()
        row, before = row_of(appwrapper, now), change.old
        if before is None or row_of(before, now)[:-1] != row[:-1]:
            _show(line_of(row))
        self._changed.set()

    async def _next_change(self) -> None:
        await self._changed.wait()
        self._changed.clear()


def _show(text: str) -> None:
    """Prints lines, on a terminal in their styles."""
    console = Console()
    for line in text.split("\n"):
        console.print(Text(line, style_of(line)), soft_wrap=True)


def commands_to_go_on(kubeconfig: Path, kubectl: Path) -> list[str]:
    """Returns commands for another terminal; each works as printed after the samples."""
    return [
        f"cd {shlex.quote(str(REPOSITORY))}",
        f"export KUBECONFIG={shlex.quote(str(kubeconfig))}",
        # The PATH may have no kubectl, or one that is too old.
        f"export PATH={shlex.quote(str(kubectl.parent))}:$PATH",
        f"kubectl get appwrappers -n {NAMESPACE}",
        # The demo left an AppWrapper of the same name.
        f"kubectl delete -n {NAMESPACE} -f samples/job-with-podgroup.yaml",
        f"kubectl apply -n {NAMESPACE} -f samples/job.yaml",
        f"kubectl get appwrappers,workloads,pods -n {NAMESPACE}",
        f"kubectl describe appwrapper sample-job -n {NAMESPACE}",
        f"kubectl get -n {NAMESPACE} localqueue",
        f"kubectl delete -n {NAMESPACE} -f samples/job.yaml",
    ]
