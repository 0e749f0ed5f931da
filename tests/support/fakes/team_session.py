"""Runs `appwrapper team` against objects in memory, as a person at a terminal or as a pipe."""

import io
from dataclasses import dataclass

from cli.cluster.connection import Cluster
from cli.command import CommandError, ExitCode
from cli.commands.team import run_on
from cli.main import build_parser
from cli.terminal import CommandTerminal
from shared.api.objects import JsonObject
from shared.kube.discovery import Discovery
from tests.support.builders import teams
from tests.support.fakes.cluster_objects import ClusterObjects
from tests.support.fakes.fake_clock import FakeClock


class HastyClock(FakeClock):
    """Its sleeps end at once and advance its time."""

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self._elapsed += seconds


class Keyboard(io.StringIO):
    """An input with a person at it."""

    def isatty(self) -> bool:
        return True


@dataclass(frozen=True, slots=True)
class Ended:
    """`out` has no blanks at line ends; tables have them. `error` is CommandError's text."""

    code: ExitCode
    out: str
    error: str = ""


async def team(
    client: ClusterObjects,
    *words: str,
    typed: str | None = None,
    clock: FakeClock | None = None,
    **environment: str,
) -> Ended:
    """Runs `appwrapper team WORDS`; with `typed` at a terminal."""
    arguments = build_parser(["team"]).parse_args(["team", *words])
    stdin = io.StringIO() if typed is None else Keyboard(typed)
    out, err = io.StringIO(), io.StringIO()
    cluster = Cluster(client, Discovery(client, FakeClock()), clock or HastyClock(), "default")
    error = ""
    try:
        code = await run_on(cluster, arguments, CommandTerminal(stdin, out, err, environment))
    except CommandError as raised:
        code, error = raised.exit_code, str(raised)
    lines = [line.rstrip() for line in out.getvalue().splitlines()]
    return Ended(code, "".join(f"{line}\n" for line in lines), error)


def empty(nodes: int = 8, **changes: object) -> ClusterObjects:
    """Builds a cluster with the objects that teams share, without a team."""
    return ClusterObjects([*teams.what_teams_share(), *teams.gpu_nodes(nodes)], **changes)  # type: ignore[arg-type]


def with_team(*more: JsonObject, nodes: int = 8, **changes: object) -> ClusterObjects:
    """Builds the same cluster with team1."""
    objects = [*teams.what_teams_share(), *teams.gpu_nodes(nodes), *teams.team("team1"), *more]
    return ClusterObjects(objects, **changes)  # type: ignore[arg-type]
