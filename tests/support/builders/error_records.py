"""Records for the tests of their formats, and strategies for arbitrary records."""

from hypothesis import strategies as st

from worker.record import SYSTEM, UNKNOWN, USER, ErrorRecord

FULL = ErrorRecord(
    code="ValueError",
    message="ValueError: schlechte Scherbe €\n\nTraceback (most recent call last):\n  …",
    recoverable=True,
    origin=USER,
    time_ns=1_795_448_580_588_024_376,
    worker="train-worker-3",
    pod_uid="0b9f4c1e-0000-4000-8000-123456789abc",
    attempt=2,
    rank=0,
    exit_code=139,
    signal=11,
    collateral=True,
    precision_ns=6_000_000_000,
    started_ns=1_795_448_570_000_000_001,
    record_id="a2b1c0a7ee6a363b",
    uri="s3://errors/ns/aw/uid/2/error-train-worker-3.pb",
)

# No lone surrogates: they have tests of their own.
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=300)
NUMBERS = st.none() | st.integers(0, 2**31 - 1)
TIMES = st.none() | st.integers(1, 2**63 - 1)
RECORDS = st.builds(
    ErrorRecord,
    code=TEXTS.filter(bool),
    message=TEXTS,
    recoverable=st.booleans(),
    origin=st.sampled_from([USER, SYSTEM, UNKNOWN]),
    time_ns=TIMES,
    worker=TEXTS,
    pod_uid=TEXTS,
    attempt=st.integers(0, 2**31 - 1),
    rank=NUMBERS,
    exit_code=NUMBERS,
    signal=NUMBERS,
    collateral=st.booleans(),
    precision_ns=st.integers(0, 10**12),
    started_ns=TIMES,
    record_id=TEXTS,
)
