"""What a Secret says, whoever wrote it."""

import base64
import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from localcluster.installers.rotated_certificate import RotatedCertificate
from tests.support.fakes.tls import HOST, START, authority, contents, leaf
from webhook.tls.certificate_secret import (
    Contents,
    NextAuthority,
    PreviousAuthority,
    encode,
    parse,
)

CONTENTS = replace(
    contents(),
    next=NextAuthority(authority(), forced=True),
    previous=(
        PreviousAuthority(authority().certificate, START + timedelta(days=1)),
        PreviousAuthority(authority().certificate, START + timedelta(days=2)),
    ),
)
DATA = encode(CONTENTS)
LEAF = CONTENTS.leaf
assert LEAF is not None


def encoded(text: bytes) -> str:
    return base64.b64encode(text).decode()


def rotation(**fields: Any) -> str:
    return encoded(json.dumps({"nextForced": True, "previous": [], **fields}).encode())


def test_encoded_data_is_decoded_to_the_same() -> None:
    assert sorted(DATA) == [
        "ca.crt", "ca.key", "next-ca.crt", "next-ca.key", "rotation.json", "tls.crt", "tls.key",
    ]  # fmt: skip
    assert parse(DATA) == CONTENTS


def test_absent_parts_are_not_written() -> None:
    assert sorted(encode(contents())) == ["ca.crt", "ca.key", "tls.crt", "tls.key"]
    assert encode(Contents()) == {}


@pytest.mark.parametrize("data", [{}, {"ca.crt": "", "tls.crt": None}, {"other": "eA=="}])
def test_an_empty_secret_has_no_problems(data: dict[str, Any]) -> None:
    assert parse(data) == Contents()


def test_the_go_operators_certificates_are_carried_on() -> None:
    theirs = RotatedCertificate.make("appwrapper-ca", HOST, START)
    read = parse(theirs.secret("appwrapper-system", "any")["data"])
    assert read.authority is not None
    assert read.leaf is not None
    assert read.authority.certificate_pem == theirs.files["ca.crt"]
    assert read.leaf.certificate_pem == theirs.files["tls.crt"]
    assert read.problems == ()


BAD_ROTATION = [
    encoded(b"{"),
    encoded(b"[]"),
    encoded(b'"text"'),
    encoded(b"{}"),
    rotation(nextForced="yes"),
    rotation(previous=[1]),
    rotation(previous=[{"certificate": 1, "trustedUntil": "2026-01-01T00:00:00+00:00"}]),
    rotation(previous=[{"certificate": "", "trustedUntil": "soon"}]),
    rotation(previous=[{"certificate": "", "trustedUntil": "2026-01-01T00:00:00"}]),
]


@pytest.mark.parametrize("text", BAD_ROTATION)
def test_a_damaged_rotation_leaves_the_rest_usable(text: str) -> None:
    found = parse({**DATA, "rotation.json": text})
    assert CONTENTS.next is not None
    assert found == replace(
        CONTENTS,
        next=NextAuthority(CONTENTS.next.pair, forced=False),
        previous=(),
        problems=("rotation.json is damaged",),
    )


def test_a_previous_ca_that_is_none_is_named() -> None:
    wrong = [{"certificate": "nothing", "trustedUntil": "2026-01-01T00:00:00+00:00"}]
    assert parse({**DATA, "rotation.json": rotation(previous=wrong)}).problems == (
        "rotation.json: previous: it holds 0 PEM certificates instead of one",
    )


OTHER_KEY = encoded(authority().key_pem)
NO_CA = encoded(LEAF.certificate_pem)


@pytest.mark.parametrize(
    ("changes", "without", "problem"),
    [
        ({"ca.key": None}, "authority", "ca.key missing"),
        ({"ca.crt": None, "ca.key": ""}, "authority", "ca.crt and ca.key missing"),
        ({"ca.key": OTHER_KEY}, "authority",
         "ca.crt and ca.key: the key belongs to another certificate"),
        ({"ca.crt": "%%%"}, "authority", "ca.crt and ca.key: it is not base64"),
        ({"ca.crt": NO_CA, "ca.key": encoded(LEAF.key_pem)}, "authority", "ca.crt is no CA"),
        ({"tls.crt": None, "tls.key": None}, "leaf", "tls.crt and tls.key missing"),
        ({"tls.key": OTHER_KEY}, "leaf",
         "tls.crt and tls.key: the key belongs to another certificate"),
        ({"next-ca.key": None}, "next", "next-ca.key missing"),
        ({"next-ca.crt": encoded(b"x")}, "next",
         "next-ca.crt and next-ca.key: it holds 0 PEM certificates instead of one"),
    ],
)  # fmt: skip
def test_each_unusable_pair_is_left_out_and_named(
    changes: dict[str, str | None], without: str, problem: str
) -> None:
    found = parse({**DATA, **changes})
    left = {"authority": None, "leaf": None, "next": None}
    assert found.problems == (problem,)
    assert getattr(found, without) is None
    kept = left.keys() - {without}
    assert {key: getattr(found, key) for key in kept} == {
        key: getattr(CONTENTS, key) for key in kept
    }
    assert found.previous == CONTENTS.previous


def test_a_problem_never_shows_what_is_in_the_secret() -> None:
    for key in DATA:
        (problem, *_) = parse({**DATA, key: encoded(b"very secret")}).problems
        assert "very secret" not in problem


def test_the_bundle_has_each_ca_once_the_one_in_use_first() -> None:
    assert CONTENTS.authority is not None
    assert CONTENTS.next is not None
    again = PreviousAuthority(CONTENTS.authority.certificate, START)
    doubled = replace(CONTENTS, previous=(*CONTENTS.previous, again))
    expected = (
        CONTENTS.authority.certificate,
        CONTENTS.next.pair.certificate,
        *(one.certificate for one in CONTENTS.previous),
    )
    assert doubled.trusted == CONTENTS.trusted == expected
    assert doubled.bundle.count(b"BEGIN CERTIFICATE") == 4
    assert leaf(CONTENTS.authority).certificate not in CONTENTS.trusted
