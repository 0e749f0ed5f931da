"""What of the breakers survives a restart."""

from datetime import timedelta

import pytest

from controller.fleet.breaker import BadRecord, Breaker, decode, encode
from tests.support.builders.autopilot import GPU
from tests.support.fakes.fake_clock import START

BREAKER = Breaker(START + timedelta(milliseconds=5), START)
# Versions until November 2026 read `openedAt` and ignore `confirmedAt`. They reject a record that
# has no `noExecute`, and would forget that the breaker is open. They read this record after a
# rollback, and when an old replica becomes the leader during a rolling update.
WRITTEN = """\
{
 "nvidia.com/gpu": {
  "confirmedAt": "2026-01-01T12:00:00.000000Z",
  "noExecute": {},
  "openedAt": "2026-01-01T12:00:00.005000Z"
 }
}"""
# Versions until November 2026 recorded each NoExecute node.
EARLIER = """\
{
 "nvidia.com/gpu": {
  "noExecute": {
   "n1": {
    "confirmed": true,
    "since": "2026-01-01T11:00:00.000000Z",
    "uid": "u1"
   },
   "n2": {
    "confirmed": true,
    "since": "2026-01-01T12:00:00.000000Z",
    "uid": "u2"
   },
   "n3": {
    "since": "2026-01-01T12:00:00.002000Z",
    "uid": "u3"
   }
  },
  "openedAt": "2026-01-01T12:00:00.005000Z"
 },
 "example.com/nic": {
  "noExecute": {
   "n1": {
    "since": "2026-01-01T12:00:00.000000Z",
    "uid": "u1"
   }
  }
 }
}"""


def test_people_can_read_it() -> None:
    assert encode({GPU: BREAKER, "example.com/nic": Breaker()}) == WRITTEN


def test_it_is_read_as_it_was_written() -> None:
    assert decode(WRITTEN) == {GPU: BREAKER}
    for one in (Breaker(START), Breaker(None, START)):
        assert decode(encode({GPU: one})) == {GPU: one}
    assert decode(encode({})) == {}


def test_a_record_of_an_earlier_version_keeps_the_opening() -> None:
    assert decode(EARLIER) == {GPU: Breaker(BREAKER.opened), "example.com/nic": Breaker()}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "null",
        "{",
        '{"nvidia.com/gpu": 1}',
        '{"nvidia.com/gpu": {"openedAt": 5}}',
        '{"nvidia.com/gpu": {"openedAt": "yesterday"}}',
        '{"nvidia.com/gpu": {"confirmedAt": "2026-01-01T00:00:00"}}',
    ],
)
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(BadRecord):
        decode(text)
