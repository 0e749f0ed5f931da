"""What of the breakers survives a restart."""

from datetime import timedelta

import pytest

from controller.fleet.breaker import BadRecord, Breaker, Turned, decode, encode
from tests.support.builders.autopilot import GPU
from tests.support.fakes.fake_clock import START

BREAKER = Breaker(
    START + timedelta(milliseconds=5),
    {"n2": Turned("u2", START), "n1": Turned("u1", START, confirmed=True)},
)
WRITTEN = """\
{
 "nvidia.com/gpu": {
  "noExecute": {
   "n1": {
    "confirmed": true,
    "since": "2026-01-01T12:00:00.000000Z",
    "uid": "u1"
   },
   "n2": {
    "since": "2026-01-01T12:00:00.000000Z",
    "uid": "u2"
   }
  },
  "openedAt": "2026-01-01T12:00:00.005000Z"
 }
}"""


def test_people_can_read_it() -> None:
    assert encode({GPU: BREAKER, "example.com/nic": Breaker()}) == WRITTEN


def test_it_is_read_as_it_was_written() -> None:
    closed = Breaker(None, {"n1": Turned("u1", START)})
    assert decode(WRITTEN) == {GPU: BREAKER}
    assert decode(encode({GPU: closed})) == {GPU: closed}
    assert decode(encode({})) == {}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "null",
        "{",
        '{"nvidia.com/gpu": 1}',
        '{"nvidia.com/gpu": {}}',
        '{"nvidia.com/gpu": {"noExecute": {"n1": {"uid": "u1"}}}}',
        '{"nvidia.com/gpu": {"noExecute": {"n1": {"uid": "u1", "since": "yesterday"}}}}',
        '{"nvidia.com/gpu": {"noExecute": {"n1": {"uid": "u1", "since": "2026-01-01T00:00:00"}}}}',
        '{"nvidia.com/gpu": {"noExecute": {}, "openedAt": 5}}',
        '{"nvidia.com/gpu": {"noExecute": []}}',
    ],
)
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(BadRecord):
        decode(text)
