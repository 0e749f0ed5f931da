"""Runs the cluster that all workers of one test run share, and observes it.

`python -m tests.support.cluster.host FOLDER OPTIONS` starts the cluster in FOLDER/cluster and
serves FOLDER/observer.sock, on which each line is a question or an answer, as one JSON object. The
runner of the tests owns this process: it ends with the runner, or on SIGTERM.

Workers only send questions. So a worker that dies takes nothing from the others.
"""

import asyncio
import shutil
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import orjson

from localcluster.access.options import decode_options
from localcluster.cluster import LocalCluster
from localcluster.machine.interrupts import Interrupted, end_with_parent, interruptible
from localcluster.machine.progress import reporter_for
from tests.support.cluster.attached import write_attachment
from tests.support.cluster.remote_observer import FAILED, SOCKET
from tests.support.observer.controller_words import ControllerWords
from tests.support.observer.observer import Observer

_LINE_BYTES = 64 * 1024 * 1024  # a story may be long


class Host:
    """Answers the workers' questions, each by the method of its name."""

    def __init__(self, cluster: LocalCluster, observer: Observer) -> None:
        self._cluster = cluster
        self._observer = observer
        self._words = ControllerWords.of(cluster.directory)
        self._turn = asyncio.Lock()

    def violations(self, namespaces: list[str]) -> list[dict[str, Any]]:
        """Return the violations in these namespaces since the last question about them."""
        return [asdict(each) for each in self._observer.violations(namespaces)]

    def violations_of(self, name: str, namespace: str) -> list[dict[str, Any]]:
        """Return the same for AppWrappers of one name; the others are kept."""
        return [asdict(each) for each in self._observer.violations_of(name, namespace)]

    def complaints(self, namespaces: list[str]) -> list[str]:
        """Return the controller's tracebacks about these namespaces."""
        return self._words.complaints(namespaces)

    def changes_of(self, namespace: str, name: str) -> int:
        """Return how many watch events the AppWrapper has caused."""
        return self._observer.changes_of(namespace, name)

    def story_of(self, namespace: str, name: str) -> str:
        """Return what happened to the AppWrapper, one line a change."""
        return self._observer.story_of(namespace, name)

    def verdict(self, failed: bool) -> list[str]:
        """Return every violation and traceback that no worker has read, and repairs by resync.

        `failed`: tests failed, so passes that ended with an error may have any reason.
        """
        found = [str(each) for each in self._observer.violations()] + self._words.complaints()
        if repairs := self._words.repairs():
            found.append(f"{repairs:g} times only the resync found what was to be done")
        if not failed and (unexplained := self._words.unexplained(self._observer.conflicts)):
            found.append(unexplained)
        return found

    def gaps(self) -> list[str]:
        """Return where the API server could not report all changes."""
        return self._observer.gaps

    def keep_logs(self) -> str:
        """Copy the logs of the cluster's processes; return the folder."""
        return str(self._cluster.keep_logs())

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the questions of one connection until it ends."""
        async for line in reader:
            writer.write(await self._answer(orjson.loads(line)) + b"\n")
            await writer.drain()
        writer.close()

    async def _answer(self, question: dict[str, Any]) -> bytes:
        method: Callable[..., Any] = getattr(self, question["ask"])
        try:
            async with self._turn:
                answer = await asyncio.to_thread(method, **question["with"])
        except Exception as failure:  # noqa: BLE001  the worker raises it
            return orjson.dumps({"failed": f"{type(failure).__name__}: {failure}"})
        return orjson.dumps({"answer": answer})


async def hold(folder: Path, options: str) -> None:
    """Start the cluster and answer questions until cancelled."""
    async with LocalCluster(decode_options(options), reporter_for()) as cluster:
        write_attachment(cluster)
        with Observer(cluster.kubeconfig) as observer:
            host = Host(cluster, observer)
            server = await asyncio.start_unix_server(host.serve, folder / SOCKET, limit=_LINE_BYTES)
            async with server:
                await server.serve_forever()


def main() -> int:
    """Run until SIGTERM or Ctrl-C."""
    folder, options = Path(sys.argv[1]), sys.argv[2]
    end_with_parent()
    try:
        interruptible(hold(folder, options))
    except (Interrupted, asyncio.CancelledError):
        shutil.rmtree(folder, ignore_errors=True)  # the runner may have been killed
        return 0
    except Exception as failure:
        (folder / FAILED).write_text(str(failure))  # workers read it, and the runner removes it
        raise
    return 0


if __name__ == "__main__":
    sys.exit(main())
