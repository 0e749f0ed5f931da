"""Profiles are encoded here by hand, as Go's runtime writes them."""

import gzip

import pytest

from bench.profile.pprof import GoSample, samples


def varint(value: int) -> bytes:
    encoded = b""
    while value > 0x7F:
        encoded += bytes([value & 0x7F | 0x80])
        value >>= 7
    return encoded + bytes([value])


def number(field: int, value: int) -> bytes:
    return varint(field << 3) + varint(value)


def message(field: int, body: bytes) -> bytes:
    return varint(field << 3 | 2) + varint(len(body)) + body


STRINGS = ["", "runtime.memmove", "handlers.UpdateResource", "finisher.finishRequest"]


def profile(sample: bytes) -> bytes:
    functions = [message(5, number(1, each) + number(2, each)) for each in (1, 2, 3)]
    # The second location is of a function inlined into another.
    locations = [
        message(4, number(1, 300) + message(4, number(1, 1))),
        message(4, number(1, 301) + message(4, number(1, 2)) + message(4, number(1, 3))),
    ]
    strings = [message(6, each.encode()) for each in STRINGS]
    return gzip.compress(b"".join([message(2, sample), *functions, *locations, *strings]))


@pytest.mark.parametrize(
    "sample",
    [
        message(1, varint(300) + varint(301)) + message(2, varint(3) + varint(30_000_000)),
        number(1, 300) + number(1, 301) + number(2, 3) + number(2, 30_000_000),
    ],
    ids=["packed", "one by one"],
)
def test_a_sample_has_its_stack_and_seconds(sample: bytes) -> None:
    assert list(samples(profile(sample))) == [GoSample(tuple(STRINGS[1:]), 0.03)]


def test_another_encoding_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^profile.proto has no fields of wire type 5$"):
        list(samples(gzip.compress(b"\x0d\0\0\0\0")))
