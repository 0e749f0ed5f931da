"""The fuzzing process: `python -m tests.fuzz.worker [libFuzzer's flags] [folders]`.

A broken promise does not end it: each kind is kept once, with its input, and the search goes on.
Only what Python cannot catch ends it: a crash of native code, a hang, too much memory.
"""

import logging
import shlex
import sys
import time
import traceback
from hashlib import sha256

import atheris

with atheris.instrument_imports(include=["shared", "webhook"]):
    from tests.fuzz.folders import FINDINGS
    from tests.fuzz.target import facts, run
    from tests.support.fakes.in_process_webhook import InProcessWebhook

_REPORT_SECONDS = 5.0


class Worker:
    """Counts inputs and keeps findings."""

    def __init__(self, app: InProcessWebhook) -> None:
        self._app = app
        self._inputs = 0
        self._reported = time.monotonic()
        self._seen: set[str] = set()

    def try_input(self, data: bytes) -> None:
        self._inputs += 1
        try:
            run(self._app, data)
        except Exception as error:  # noqa: BLE001  every kind is a finding
            self._keep(data, error)
        if time.monotonic() - self._reported > _REPORT_SECONDS:
            self._reported = time.monotonic()
            print(f"inputs {self._inputs} findings {len(self._seen)}", file=sys.stderr, flush=True)

    def _keep(self, data: bytes, error: Exception) -> None:
        """Once for each place in the code and each promise."""
        places = [
            f"{frame.filename}:{frame.lineno}"
            for frame in traceback.extract_tb(error.__traceback__)
        ]
        kind = sha256("\n".join([type(error).__name__, *places]).encode()).hexdigest()[:12]
        if kind in self._seen:
            return
        self._seen.add(kind)
        FINDINGS.mkdir(parents=True, exist_ok=True)
        file = FINDINGS / kind
        file.write_bytes(data)
        last = f"{type(error).__name__}: {error}".replace("\n", " ")
        print(f"finding {file} {last[:200]}", file=sys.stderr, flush=True)


def main() -> None:
    logging.disable(logging.CRITICAL)
    with InProcessWebhook(facts(0)) as app:
        # Merging, libFuzzer starts this program again, as a line for the shell.
        again = f"{shlex.quote(sys.executable)} -m {__spec__.name}"
        atheris.Setup([again, *sys.argv[1:]], Worker(app).try_input)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
