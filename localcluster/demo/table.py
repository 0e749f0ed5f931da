"""Formats the demo's lines: AppWrappers as `kubectl get appwrappers` shows them. Pure."""

from datetime import datetime

from shared.api.objects import JsonObject

HEADINGS = ("NAME", "STATUS", "QUOTA", "DEPLOYED", "UNHEALTHY", "AGE")
# Styles of rich, by a line's beginning.
_STYLES = {"#": "dim", "$": "bold", "ROOT CAUSE": "bold red"}
TableRow = tuple[str, str, str, str, str, str]


def row_of(appwrapper: JsonObject, now: datetime) -> TableRow:
    """Returns the cells of one AppWrapper, in the order of HEADINGS. `now` is timezone-aware."""
    metadata, status = appwrapper["metadata"], appwrapper.get("status", {})
    conditions = {each["type"]: each["status"] for each in status.get("conditions", ())}
    created = datetime.fromisoformat(metadata["creationTimestamp"])
    return (
        metadata["name"],
        status.get("phase", ""),
        conditions.get("QuotaReserved", ""),
        conditions.get("ResourcesDeployed", ""),
        conditions.get("Unhealthy", ""),
        age_text((now - created).total_seconds()),
    )


def age_text(seconds: float) -> str:
    """Formats an age as kubectl does: seconds up to two minutes, then minutes and seconds."""
    whole = max(0, int(seconds))
    return f"{whole}s" if whole < 120 else f"{whole // 60}m{whole % 60}s"


def line_of(row: TableRow) -> str:
    """Returns the row as a line of a log, in columns of a fixed width."""
    return f"{row[0]:<20} {row[1]:<11} {row[2]:<6} {row[3]:<9} {row[4]:<10} {row[5]}"


def style_of(line: str) -> str:
    """Returns a printed line's style: headings dim, commands bold, a root cause in red."""
    return next((style for start, style in _STYLES.items() if line.startswith(start)), "")
