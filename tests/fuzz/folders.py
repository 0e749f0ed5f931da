"""Where inputs and findings are."""

from pathlib import Path

HERE = Path(__file__).parent
# Kept in the repository, so not large.
CORPUS = HERE / "corpus"
LARGEST_CORPUS = 300_000  # bytes
# Of one checkout.
_CACHE = Path(".cache/fuzz")
FOUND = _CACHE / "inputs"
FINDINGS = _CACHE / "findings"
# One line a run: when, how many executions, in how many seconds, with how many findings.
RECORD = _CACHE / "executions.jsonl"
