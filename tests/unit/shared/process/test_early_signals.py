"""What a process does with signals while it starts. Real processes: handlers belong to one."""

import ast
import signal
import subprocess
import sys
from pathlib import Path

import pytest

_ROOT = Path(__file__).resolve().parents[4]
# Each program begins like this. What it does next happens here in its place.
_BEGINS = (
    "from shared.process.early_signals import end_at_once_on_signals; end_at_once_on_signals(); "
)
_MOMENTS = {
    "while it imports or reads": "os.kill(os.getpid(), number)",
    # What Python calls back (weak references, finalizers) swallows exceptions.
    "in a callback": "x = type('X', (), {})(); "
    "w = weakref.ref(x, lambda _: os.kill(os.getpid(), number)); del x",
    "behind whoever catches everything": (
        "exec('try:\\n os.kill(os.getpid(), number)\\nexcept BaseException:\\n pass')"
    ),
}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("moment", _MOMENTS)
def test_an_early_signal_ends_the_process_silently_with_0(
    moment: str, number: signal.Signals
) -> None:
    program = (
        f"import os, weakref; number = {int(number)}; {_BEGINS}{_MOMENTS[moment]}; os._exit(7)"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program], cwd=_ROOT, capture_output=True, check=False
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, b"", b"")


@pytest.mark.parametrize("program", ["webhook", "controller"])
def test_each_program_begins_with_it(program: str) -> None:
    """Before its main module, whose imports take a while, and after nothing that does."""
    module = ast.parse((_ROOT / program / "__main__.py").read_text())
    *imports, guard = module.body[1:]
    assert [ast.unparse(each) for each in imports] == [
        "import sys",
        "from shared.process.early_signals import end_at_once_on_signals",
    ]
    assert isinstance(guard, ast.If)
    assert [ast.unparse(each) for each in guard.body] == [
        "end_at_once_on_signals()",
        f"from {program}.main import main",
        "sys.exit(main())",
    ]


def test_it_costs_nothing_to_import() -> None:
    """Nothing of ours and nothing installed comes before the handlers."""
    program = f"{_BEGINS}import sys; print(*sorted(sys.modules))"
    printed = subprocess.run(
        [sys.executable, "-S", "-c", program], cwd=_ROOT, capture_output=True, check=True, text=True
    ).stdout.split()
    assert "signal" in printed
    assert {name for name in printed if name.startswith("shared")} == {
        "shared",
        "shared.process",
        "shared.process.early_signals",
    }
    assert not {"asyncio", "ssl", "logging", "argparse", "pydantic"} & set(printed)
