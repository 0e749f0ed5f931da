"""The report of `appwrapper check --install`. Pure."""

from dataclasses import dataclass
from datetime import datetime

from cli.checks.findings import CheckFinding
from cli.checks.items import Item, ItemResult
from cli.checks.kueue_setup import KUEUE, KUEUE_SETTINGS
from cli.checks.layout import columns
from cli.checks.product_setup import PRODUCT
from cli.checks.setup_facts import Installed


@dataclass(frozen=True, slots=True)
class InstallationReport:
    """The checked items, in the order of an installation."""

    namespace: str
    items: tuple[Item, ...]

    @property
    def findings(self) -> tuple[CheckFinding, ...]:
        """The items with a warning."""
        return tuple(
            CheckFinding(about=each.title, message=each.found, advice=each.advice)
            for each in self.items
            if each.verdict is ItemResult.WARNING
        )

    @property
    def unread(self) -> tuple[str, ...]:
        """The items without a result, and why."""
        return tuple(
            f"{each.title}: {each.found}" + (f". {each.advice}" if each.advice else "")
            for each in self.items
            if each.verdict is ItemResult.UNKNOWN
        )


def installation_report(seen: Installed, now: datetime) -> InstallationReport:
    items = [each.item(seen, now) for each in (*PRODUCT, *KUEUE)]
    settings = seen.kueue_settings
    if isinstance(settings, str):
        advice = "docs/admins/install.md lists what it needs"
        items.append(Item("Kueue's configuration", ItemResult.UNKNOWN, settings, advice))
    else:
        items += [each.item(seen, now) for each in KUEUE_SETTINGS]
    return InstallationReport(seen.configuration.namespace, tuple(items))


def installation_text(report: InstallationReport) -> str:
    """Format one line an item. `appwrapper check` prints the other texts with advice below."""
    found = {ItemResult.WARNING: "see below", ItemResult.UNKNOWN: "see below"}
    rows = [
        (each.title, each.verdict.value, found.get(each.verdict, each.found))
        for each in report.items
    ]
    return columns([("WHAT", "IS", "FOUND"), *rows], left=3)
