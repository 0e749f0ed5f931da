"""A record in a termination message: in its budget, and found in what is left of it (case 24)."""

from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.support.builders.error_records import FULL, RECORDS
from worker.record import ErrorRecord
from worker.termination_message import MARKER, encode, find

TRACEBACK = 'ValueError: größer als 3 €\n  File "žluťoučký.py", line 1 😀\x1b[31m\n' * 400


@pytest.mark.parametrize("containers", range(1, 13))
def test_a_record_fits_into_its_containers_share(containers: int) -> None:
    budget = min(4096, 12288 // containers)
    record = replace(FULL, message=TRACEBACK)
    content = encode(record, budget)
    assert budget - 12 <= len(content) <= budget
    found = find(content.decode())
    assert found is not None
    assert replace(found, message="") == replace(FULL, message="")
    assert found.message.startswith("ValueError: größer als 3 €")
    assert "\n[... cut ...]\n" in found.message
    assert found.message.endswith("line 1 😀\x1b[31m\n")


@given(RECORDS, st.integers(0, 4096))
@example(FULL, 4096)
def test_no_record_exceeds_its_budget(record: ErrorRecord, budget: int) -> None:
    content = encode(record, budget)
    assert len(content) <= budget
    found = find(content.decode())
    if content:
        assert found is not None
        assert (found.recoverable, found.time_ns) == (record.recoverable, record.time_ns)
        assert (found.exit_code, found.collateral) == (record.exit_code, record.collateral)
    else:
        assert budget < 300


def test_a_short_record_is_whole() -> None:
    assert find(encode(FULL, 4096).decode()) == FULL


def test_the_format_on_paper() -> None:
    record = ErrorRecord(code="EXIT_42", message="é\n", exit_code=42, time_ns=7, origin="USER")
    assert encode(record, 1000).decode() == (
        'AWERR1 {"kind":"NON_RECOVERABLE","ts_ns":7,"origin":"USER","code":"EXIT_42","exit":42,'
        '"msg":"é\\n"}'
    )


def test_the_uri_goes_first_then_all_but_the_verdict() -> None:
    long = replace(FULL, message="boom", worker="w" * 200)
    assert find(encode(replace(long, uri="u" * 400), 1024).decode()) == replace(long, uri="")
    short = find(encode(long, 300).decode())
    assert short is not None
    assert (short.worker, short.code, short.message) == ("", "ValueError", "boom")
    assert encode(FULL, 100) == b""


def test_a_runtimes_prefix_and_text_behind_do_not_matter() -> None:
    text = encode(FULL, 4096).decode()
    assert find(f"context deadline exceeded: {text}") == FULL
    assert find(f"{text}\nlater words") == FULL


def test_a_false_marker_before_it_does_not_matter() -> None:
    text = encode(FULL, 4096).decode()
    assert find(f'{MARKER}{{"kind":"MAYBE"}} {MARKER}no JSON {text}') == FULL


def test_a_cut_message_keeps_its_end() -> None:
    whole = ErrorRecord(code="ValueError", message='say "no" to\nthem', exit_code=1, time_ns=7)
    text = encode(whole, 1000).decode()
    begin = text.index('"msg":"') + len('"msg":"')
    for end in range(begin, len(text)):
        found = find(text[:end])
        assert found is not None
        assert replace(found, message=whole.message) == whole
        assert whole.message.startswith(found.message)
        # Nothing is lost but the escape that was cut.
        assert len(found.message) >= end - begin - 4 - text[begin:end].count("\\")


def test_a_cut_number_is_not_taken_for_a_shorter_one() -> None:
    text = encode(ErrorRecord(exit_code=137, time_ns=1234), 1000).decode()
    cut = text[: text.index("137") + 2]
    assert find(cut) == ErrorRecord(time_ns=1234)
    assert find(text[: text.index("1234") + 4]) == ErrorRecord()


def test_without_the_marker_or_the_verdict_there_is_no_record() -> None:
    text = encode(FULL, 4096).decode()
    assert find(text[1:]) is None
    assert find(text[: text.index('",')]) is None
    assert find("") is None
    assert find("just a log line") is None


def test_facts_of_another_type_count_as_absent() -> None:
    text = (
        MARKER + '{"kind":"RECOVERABLE","ts_ns":"soon","exit":true,"rank":-1,"signal":1e9,'
        '"collateral":1,"code":7,"msg":"m"}'
    )
    # A number with a fraction ends the reading: whatever follows is not ours.
    assert find(text) == ErrorRecord(recoverable=True)


def test_lone_surrogates_do_not_reach_who_reads_it() -> None:
    found = find(MARKER + '{"kind":"RECOVERABLE","msg":"a\\ud800b"}')
    assert found == ErrorRecord(recoverable=True, message="a?b")
    assert encode(ErrorRecord(message="a\ud800b"), 1000).endswith(b'"msg":"a?b"}')


@pytest.mark.parametrize("value", ["[" * 3000, "{" * 3000, "9" * 3000, '"' + "\\" * 3001, "1e999"])
def test_hostile_json_is_no_record(value: str) -> None:
    assert find(f"{MARKER}{value}") is None
    assert find(f'{MARKER}{{"kind":{value}') is None
    found = find(f'{MARKER}{{"kind":"RECOVERABLE","x":{value}')
    assert found == ErrorRecord(recoverable=True)


@given(RECORDS, st.integers(0, 900), st.integers(0, 900))
def test_a_cut_at_either_end_never_raises(record: ErrorRecord, start: int, end: int) -> None:
    text = encode(record, 1024).decode()
    find(text[start:])
    cut = find(text[:end])
    assert cut is None or cut.recoverable == record.recoverable


@given(st.text(max_size=300))
def test_any_text_is_read_or_holds_no_record(text: str) -> None:
    find(text)
    find(MARKER + text)
    find(MARKER + '{"kind":"RECOVERABLE",' + text)
