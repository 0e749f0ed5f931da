"""Runs an image as the kubelet's runtime does, with runc, but with no kubelet: one container.

As strict as the product's pods: its user, no capability, no new privileges, a root that nobody can
write to, no /tmp. It has processes and a network of its own, and ends with the test.
"""

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from shared.api.objects import JsonObject
from tests.e2e.image_archive import ArchivedImage
from tests.support.patience import PATIENCE_SECONDS

_NAMESPACES = ("pid", "network", "ipc", "uts", "mount")


class Container:
    """A running one. `output` is the file that both streams of its process go to."""

    def __init__(
        self,
        image: ArchivedImage,
        root: Path,
        folder: Path,
        arguments: Sequence[str],
        *,
        command: Sequence[str] | None = None,
        mounts: Mapping[str, Path] | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """`arguments` follow the image's entry point, or `command` in its place.

        `root` is the image's file system, `folder` an empty one for the container's own files.
        `mounts`: absolute path in the container → file or folder, read-only.
        """
        folder.mkdir(parents=True)
        config = image.configuration["config"]
        entry = config["Entrypoint"] if command is None else list(command)
        environment = dict(each.split("=", 1) for each in config["Env"]) | dict(environment or {})
        specification = _specification(
            root, [*entry, *arguments], config["User"], config["WorkingDir"], environment
        )
        specification["mounts"] += [
            {"destination": target, "source": str(source), "options": ["bind", "ro"]}
            for target, source in (mounts or {}).items()
        ]
        (folder / "config.json").write_text(json.dumps(specification))
        self.output = folder / "output"
        self._runc = ["runc", "--root", str(folder / "state")]
        self._name = f"image-test-{os.getpid()}-{folder.name}"
        with self.output.open("wb") as output:
            # The namespace's first process dies with us, and everything in it with that.
            self.process = subprocess.Popen(
                ["unshare", "--pid", "--mount", "--fork", "--kill-child", "--mount-proc",
                 *self._runc, "run", "--no-new-keyring", "--bundle", str(folder), self._name],
                stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
            )  # fmt: skip

    def __enter__(self) -> "Container":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        subprocess.run(
            [*self._runc, "delete", "--force", self._name], check=False, capture_output=True
        )

    def text(self) -> str:
        """What it wrote until now."""
        return self.output.read_text()

    def wait(self) -> int:
        """Its exit code."""
        return self.process.wait(timeout=PATIENCE_SECONDS)

    def first_process(self) -> int:
        """The id, as this machine has it, of what the container knows as process 1."""
        pending = [self.process.pid]
        while pending:
            for child in _children(pending.pop()):
                with suppress(FileNotFoundError, ProcessLookupError):  # it ended meanwhile
                    status = Path(f"/proc/{child}/status").read_text()
                    (ids,) = (line for line in status.splitlines() if line.startswith("NSpid:"))
                    # This machine's, that of the namespaces around runc, the container's.
                    if len(ids.split()) == 4 and ids.split()[-1] == "1":
                        return child
                    pending.append(child)
        raise AssertionError(f"the container has not started: {self.text()}")


def _children(process: int) -> list[int]:
    """Of all its threads: runc starts processes from any."""
    found: list[int] = []
    for thread in Path(f"/proc/{process}/task").glob("*"):
        with suppress(FileNotFoundError, ProcessLookupError):  # it ended meanwhile
            found += [int(each) for each in (thread / "children").read_text().split()]
    return found


def _specification(
    root: Path,
    command: list[str],
    user: str,
    folder: str,
    environment: Mapping[str, str],
) -> JsonObject:
    uid, gid = user.split(":")
    nobody: list[str] = []
    return {
        "ociVersion": "1.0.2",
        "process": {
            "terminal": False,
            "user": {"uid": int(uid), "gid": int(gid)},
            "args": command,
            "env": [f"{name}={value}" for name, value in environment.items()],
            "cwd": folder,
            "capabilities": dict.fromkeys(
                ("bounding", "effective", "inheritable", "permitted", "ambient"), nobody
            ),
            "noNewPrivileges": True,
        },
        "root": {"path": str(root), "readonly": True},
        "hostname": "image-test",
        "mounts": [
            {"destination": "/proc", "type": "proc", "source": "proc"},
            {
                "destination": "/dev",
                "type": "tmpfs",
                "source": "tmpfs",
                "options": ["nosuid", "strictatime", "mode=755", "size=64k"],
            },
        ],
        "linux": {"namespaces": [{"type": name} for name in _NAMESPACES]},
    }
