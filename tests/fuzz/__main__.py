"""`make fuzz` and what belongs to it.

python -m tests.fuzz run --seconds 600   fuzz; new inputs stay in .cache/fuzz
python -m tests.fuzz run --executions N  until N inputs were tried, however long that takes
python -m tests.fuzz replay FILE         one input again, without the fuzzer
python -m tests.fuzz keep                take what .cache/fuzz has found into the corpus
"""

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from tests.fuzz.folders import CORPUS, FINDINGS, FOUND, HERE, LARGEST_CORPUS, RECORD
from tests.fuzz.initial import inputs
from tests.fuzz.target import facts, meaning_of, run
from tests.support.fakes.in_process_webhook import InProcessWebhook

_LONGEST_INPUT = 6000
_WORKER = (sys.executable, "-m", "tests.fuzz.worker")
_LIMITS = (
    "-timeout=20",
    "-rss_limit_mb=2048",
    f"-artifact_prefix={FINDINGS}/",
    f"-dict={HERE / 'words.dict'}",
)
_PROGRESS_SECONDS = 10.0
_COUNTS = re.compile(r"inputs (\d+) findings (\d+)")
_DONE = re.compile(r"Done (\d+) runs in ")
_COVERAGE = re.compile(r"cov: (\d+) .*corp: (\d+)/")


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code: 1 when something was found, or could not run."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz")
    commands = parser.add_subparsers(dest="command", required=True)
    running = commands.add_parser("run", help="fuzz; new inputs stay in .cache/fuzz")
    length = running.add_mutually_exclusive_group()
    length.add_argument("--seconds", type=int, default=600, metavar="N")
    length.add_argument("--executions", type=int, metavar="N", help="as many, instead of a time")
    replaying = commands.add_parser("replay", help="one input again, without the fuzzer")
    replaying.add_argument("file", type=Path)
    commands.add_parser("keep", help="take what was found into tests/fuzz/corpus")
    flags = parser.parse_args(arguments)
    match flags.command:
        case "run":
            return fuzz(flags.seconds, flags.executions)
        case "replay":
            return replay(flags.file)
        case _:
            return keep()


def fuzz(seconds: int, executions: int | None) -> int:
    """Shows how it goes; everything found stays in .cache/fuzz, and how much was tried."""
    shutil.rmtree(FINDINGS, ignore_errors=True)
    for folder in (FOUND, FINDINGS):
        folder.mkdir(parents=True, exist_ok=True)
    _write_initial(FOUND)
    print(
        f"Fuzzing the webhook {f'for {seconds} s' if executions is None else f'{executions} times'}"
        f". New inputs go to {FOUND}, findings to {FINDINGS}; Ctrl-C ends it early.",
        flush=True,
    )
    flags = [
        *_LIMITS,
        f"-max_total_time={seconds}" if executions is None else f"-runs={executions}",
        f"-max_len={_LONGEST_INPUT}",
        "-len_control=50",
    ]
    command = [*_WORKER, *flags, str(FOUND), str(CORPUS)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, errors="replace") as worker:
        assert worker.stderr is not None
        ended_early = False
        progress = _Progress()
        try:
            tail = progress.follow(worker.stderr)
        except KeyboardInterrupt:
            tail, ended_early = [], True
            worker.terminate()
    progress.record()
    found = sorted(path for path in FINDINGS.iterdir() if path.is_file())
    if worker.returncode != 0 and not found and not ended_early:
        print("\n".join(tail))
        print(f"error: the fuzzer ended with code {worker.returncode}")
        return 1
    for file in found:
        print(f"finding: replay it with  .venv/bin/python -m tests.fuzz replay {file}")
    print(f"{len(found)} findings")
    return 1 if found else 0


class _Progress:
    """Turns libFuzzer's many lines into one every ten seconds, and counts."""

    def __init__(self) -> None:
        self._began = self._shown = time.monotonic()
        self._inputs = self._edges = self._kept = self._findings = "0"

    def record(self) -> None:
        """Adds this run to the record, and tells what all runs of this checkout come to."""
        seconds, executions = time.monotonic() - self._began, int(self._inputs)
        run = {
            "at": datetime.now(UTC).isoformat(timespec="seconds"),  # noqa: TID251  told to people
            "executions": executions,
            "seconds": round(seconds),
            "findings": int(self._findings),
        }
        with RECORD.open("a", encoding="utf-8") as record:
            record.write(json.dumps(run) + "\n")
        runs = [json.loads(line) for line in RECORD.read_text(encoding="utf-8").splitlines()]
        print(
            f"{executions} executions, {executions / seconds:.0f} a second; "
            f"{sum(each['executions'] for each in runs)} in {len(runs)} runs, by {RECORD}"
        )

    def follow(self, lines: Iterable[str]) -> list[str]:
        """Until the worker ends. Returns its last lines."""
        tail: list[str] = []
        for raw in lines:
            line = raw.rstrip()
            if line.startswith("finding "):
                print(line, flush=True)
            elif found := _COUNTS.fullmatch(line):
                self._inputs, self._findings = found.groups()
            elif found := _DONE.match(line):
                self._inputs = found[1]
            elif found := _COVERAGE.search(line):
                self._edges, self._kept = found.groups()
            else:
                tail = [*tail[-30:], line]
            if time.monotonic() - self._shown > _PROGRESS_SECONDS:
                self._shown = time.monotonic()
                self._show()
        self._show()
        return tail

    def _show(self) -> None:
        print(
            f"{time.monotonic() - self._began:4.0f} s: {self._inputs} inputs, "
            f"{self._edges} edges covered, {self._kept} inputs kept, {self._findings} findings",
            flush=True,
        )


def replay(file: Path) -> int:
    """Raises what the input causes; 0 when every promise is kept."""
    data = file.read_bytes()
    if data:
        mode, circumstances = meaning_of(data[0])
        print(f"{mode.name}, circumstances {circumstances:04b}, {len(data)} bytes: {data[1:200]!r}")
    with InProcessWebhook(facts(0)) as app:
        run(app, data)
    print("every promise is kept")
    return 0


def keep() -> int:
    """The smallest set of inputs that covers as much, in tests/fuzz/corpus."""
    with tempfile.TemporaryDirectory() as folder:
        merged, initial = Path(folder) / "merged", Path(folder) / "initial"
        merged.mkdir()
        initial.mkdir()
        _write_initial(initial)
        FOUND.mkdir(parents=True, exist_ok=True)
        sources = [str(path) for path in (CORPUS, initial, FOUND)]
        # Which code an input reaches counts, how often it does so not: that would keep many more.
        flags = [*_LIMITS, "-merge=1", "-use_counters=0", f"-max_len={_LONGEST_INPUT}"]
        command = [*_WORKER, *flags, str(merged)]
        code = subprocess.run([*command, *sources], check=False).returncode
        kept = sorted(merged.iterdir(), key=lambda path: path.stat().st_size)
        if code != 0 or not kept:
            print(f"error: merging ended with code {code}; the corpus is as it was")
            return 1
        shutil.rmtree(CORPUS)
        CORPUS.mkdir()
        size = 0
        for path in kept:
            size += path.stat().st_size
            if size > LARGEST_CORPUS:
                print(f"the largest inputs are left out: at most {LARGEST_CORPUS} bytes are kept")
                break
            shutil.copy(path, CORPUS / path.name[:12])
    print(f"{len(list(CORPUS.iterdir()))} inputs in {CORPUS.relative_to(Path.cwd())}")
    return 0


def _write_initial(folder: Path) -> None:
    for number, data in enumerate(inputs()):
        (folder / f"initial-{number}").write_bytes(data)


if __name__ == "__main__":
    sys.exit(main())
