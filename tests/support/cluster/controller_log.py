"""Reads the controller's log lines about one AppWrapper, on a cluster with others."""

import json

from localcluster.access.running import RunningCluster
from shared.api.objects import JsonObject
from tests.support.cluster.life import Life


def entries_about(cluster: RunningCluster, life: Life) -> list[JsonObject]:
    """Returns the complete lines that name its UID."""
    uid = life.events[0].object["metadata"]["uid"]
    # The last line may be in the middle of a character.
    text = (cluster.logs / "controller.log").read_text(errors="replace")
    lines = [line for line in text.split("\n")[:-1] if line.startswith("{")]
    return [json.loads(line) for line in lines if f'"uid":"{uid}"' in line]


def moves_in(entries: list[JsonObject]) -> list[JsonObject]:
    """Returns the lines about a change of phase.

    Without the first Suspended: if Kueue is quick, no status has it.
    """
    moves = [each for each in entries if each["message"].startswith("from ")]
    return [each for each in moves if each["message"] != "from new to Suspended"]
