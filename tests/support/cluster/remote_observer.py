"""Reads the observer of the shared cluster from its host."""

import socket
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import orjson

from localcluster.machine.slowness import stretched
from tests.support.observer.judge import Violation

# In the host's folder: the cluster's own folder, the socket, and the reason of a failed start.
CLUSTER: Final = "cluster"
SOCKET: Final = "observer.sock"
FAILED: Final = "failed"
_SECONDS: Final = stretched(360.0)  # longer than the observer itself waits


class HostFailed(Exception):
    """The host could not answer; the text contains the reason."""


class RemoteObserver:
    """An Observer as its workers see it: the same methods, over a socket."""

    def __init__(self, path: Path) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(_SECONDS)
        self._socket.connect(str(path))
        self._stream = self._socket.makefile("rb")

    def close(self) -> None:
        """End the connection."""
        self._stream.close()
        self._socket.close()

    def violations(self, namespaces: Iterable[str]) -> list[Violation]:
        """Return the violations in these namespaces since the last call."""
        found = self._ask("violations", namespaces=sorted(namespaces))
        return [_violation(each) for each in found]

    def violations_of(self, name: str, namespace: str) -> list[Violation]:
        """Return the same, of AppWrappers of one name; the others are kept for the next call."""
        found = self._ask("violations_of", name=name, namespace=namespace)
        return [_violation(each) for each in found]

    def complaints(self, namespaces: Iterable[str]) -> list[str]:
        """Return the controller's tracebacks about these namespaces."""
        found: list[str] = self._ask("complaints", namespaces=sorted(namespaces))
        return found

    def changes_of(self, namespace: str, name: str) -> int:
        """Return how many watch events the AppWrapper has caused until now."""
        return int(self._ask("changes_of", namespace=namespace, name=name))

    def story_of(self, namespace: str, name: str) -> str:
        """Return what happened to the AppWrapper until now, one line a change."""
        return str(self._ask("story_of", namespace=namespace, name=name))

    def verdict(self, *, failed: bool) -> list[str]:
        """Return the violations that no worker has read. The runner calls it once, at the end."""
        found: list[str] = self._ask("verdict", failed=failed)
        return found

    def gaps(self) -> list[str]:
        """Return where the API server could not report all changes."""
        found: list[str] = self._ask("gaps")
        return found

    def keep_logs(self) -> Path:
        """Copy the logs of the cluster's processes; return the folder."""
        return Path(self._ask("keep_logs"))

    def _ask(self, question: str, /, **arguments: Any) -> Any:
        """Raise HostFailed or OSError if there is no answer."""
        self._socket.sendall(orjson.dumps({"ask": question, "with": arguments}) + b"\n")
        line = self._stream.readline()
        if not line:
            raise HostFailed("the host of the shared cluster has ended")
        answer = orjson.loads(line)
        if "failed" in answer:
            raise HostFailed(answer["failed"])
        return answer["answer"]


def _violation(fields: dict[str, Any]) -> Violation:
    return Violation(**fields | {"story": tuple(fields["story"])})
