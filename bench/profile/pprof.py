"""Decodes CPU profiles of Go programs: protobuf messages of profile.proto. Pure."""

import gzip
from collections.abc import Iterator
from typing import NamedTuple

# Field numbers of profile.proto.
_SAMPLE, _LOCATION, _FUNCTION, _STRING = 2, 4, 5, 6


class GoSample(NamedTuple):
    """`stack` begins with the innermost function."""

    stack: tuple[str, ...]
    seconds: float


def samples(profile: bytes) -> Iterator[GoSample]:
    """Yields the samples of one profile, as /debug/pprof/profile returns it."""
    strings: list[str] = []
    functions: dict[int, int] = {}
    locations: dict[int, list[int]] = {}
    found: list[bytes] = []
    for number, value in _fields(gzip.decompress(profile)):
        if not isinstance(value, bytes):
            continue
        if number == _STRING:
            strings.append(value.decode())
        elif number == _SAMPLE:
            found.append(value)
        elif number == _FUNCTION:
            function = dict(_fields(value))
            functions[int(function[1])] = int(function[2])
        elif number == _LOCATION:
            # Field 4 is one line; inlined functions have one each, the innermost first.
            lines = [
                dict(_fields(part))
                for n, part in _fields(value)
                if n == 4 and isinstance(part, bytes)
            ]
            locations[int(dict(_fields(value))[1])] = [int(line[1]) for line in lines]
    for sample in found:
        message = list(_fields(sample))
        stack = [
            strings[functions[each]]
            for location in _numbers(message, 1)
            for each in locations[location]
        ]
        # The values are the number of samples and their nanoseconds.
        yield GoSample(tuple(stack), _numbers(message, 2)[1] / 1e9)


def _numbers(message: list[tuple[int, int | bytes]], wanted: int) -> list[int]:
    """Reads a repeated number, packed or not."""
    numbers: list[int] = []
    for number, value in message:
        if number != wanted:
            continue
        if isinstance(value, int):
            numbers.append(value)
            continue
        at = 0
        while at < len(value):
            one, at = _varint(value, at)
            numbers.append(one)
    return numbers


def _fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    at = 0
    while at < len(message):
        key, at = _varint(message, at)
        if key & 7 == 0:
            value, at = _varint(message, at)
            yield key >> 3, value
        elif key & 7 == 2:
            size, at = _varint(message, at)
            yield key >> 3, message[at : at + size]
            at += size
        else:
            raise ValueError(f"profile.proto has no fields of wire type {key & 7}")


def _varint(message: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = message[at]
        value |= (byte & 0x7F) << shift
        at += 1
        if byte < 0x80:
            return value, at
        shift += 7
