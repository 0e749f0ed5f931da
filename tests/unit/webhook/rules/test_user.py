import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.api.objects import is_label_value
from tests.support.builders.admission import appwrapper, facts, patch_of, request
from webhook import chain
from webhook.admission_review import User
from webhook.rules.user import as_label_value
from webhook.verdicts import Patched

USER = "workload.codeflare.dev/user"
USERID = "workload.codeflare.dev/userid"
BY = "workload.codeflare.dev/submitted-by"
LABELS = "/metadata/labels"


def labels_set_for(user: User, labels: dict[str, Any] | None = None) -> dict[str, str]:
    verdict = chain.mutate(request(appwrapper(labels=labels), user=user), facts())
    assert isinstance(verdict, Patched)
    [operation] = [each for each in verdict.patch if each["path"].startswith(LABELS)]
    assert (operation["op"], operation["path"]) == ("add", "/metadata/labels")
    return dict(operation["value"])


def test_name_and_id_of_the_request_become_labels() -> None:
    assert labels_set_for(User("alice", "42")) == {USER: "alice", USERID: "42"}


def test_an_annotation_contains_the_exact_name() -> None:
    made = appwrapper()
    made["metadata"]["annotations"] = {BY: "somebody else", "note": "x"}
    verdict = chain.mutate(request(made, user=User("oidc:ü@example.com", "")), facts())
    assert isinstance(verdict, Patched)
    assert {
        "op": "add",
        "path": "/metadata/annotations/workload.codeflare.dev~1submitted-by",
        "value": "oidc:ü@example.com",
    } in verdict.patch


def test_identities_with_equal_prefixes_are_distinguished() -> None:
    """As an identity provider makes them: its address, then who it is."""
    issuer = "https://login.example.com/realms/research-and-development/users#"
    one, other = as_label_value(f"{issuer}alice"), as_label_value(f"{issuer}bob")
    assert (one[:54], len(one)) == (other[:54], 63)
    assert one != other


def test_no_id_is_an_empty_label() -> None:
    assert labels_set_for(User("alice", "")) == {USER: "alice", USERID: ""}


def test_a_user_label_written_by_the_user_is_overwritten() -> None:
    labels = {USER: "bob", USERID: "1", "team": "a"}
    assert patch_of(appwrapper(labels=labels), under=LABELS) == [
        {"op": "add", "path": "/metadata/labels/workload.codeflare.dev~1user", "value": "alice"},
        {"op": "add", "path": "/metadata/labels/workload.codeflare.dev~1userid", "value": "42"},
    ]


def test_correct_labels_cause_no_operation() -> None:
    assert patch_of(appwrapper(labels={USER: "alice", USERID: "42"}), under=LABELS) == []


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("system:serviceaccount:team1:runner", "system_serviceaccount_team1_runner"),
        ("IAM#alice@example.com", "IAM_alice_example.com"),
        ("_.-alice-._", "alice"),
        ("über", "ber"),
        ("aüb", "a_b"),
        ("a\nb", "a_b"),
        (":::", ""),
        ("", ""),
        pytest.param("x" * 62 + ":", "x" * 62, id="trimmed, not cut"),
        ("x" * 64, "x" * 54 + "-7ce10097"),
        pytest.param(":" * 64, "65a75aca", id="nothing but its hash"),
        pytest.param("ü" * 62 + "a", "a", id="characters are counted, not bytes"),
    ],
)
def test_a_name_as_label_value(text: str, value: str) -> None:
    assert as_label_value(text) == value


@given(st.text(max_size=200))
def test_every_text_gives_a_valid_label_value(text: str) -> None:
    value = as_label_value(text)
    assert is_label_value(value)
    # The API server's own expression, written down a second time.
    assert re.fullmatch(r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?", value)
    assert len(value) <= 63


@given(st.text(alphabet=st.characters(codec="ascii"), max_size=80))
def test_a_valid_value_stays_what_it_is(text: str) -> None:
    value = as_label_value(text)
    assert as_label_value(value) == value
    if is_label_value(text):
        assert value == text
