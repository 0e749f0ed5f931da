"""What holds of every answer, tried with JSON of every kind. `make fuzz` tries for longer."""

from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.fuzz.promises import check_answer, check_any, check_creation, check_update
from tests.fuzz.target import Mode, facts, header, run
from tests.support.builders.admission import POD, appwrapper, component, review
from tests.support.builders.arbitrary import appwrappers, components, json_values
from tests.support.fakes.in_process_webhook import InProcessWebhook
from webhook.app import MUTATE, VALIDATE

# Where something is found, making it small takes longer than a unit test may.
pytestmark = pytest.mark.timeout(600)

# The same examples in every run: a test that fails by chance hides what broke it.
PROPERTY = settings(
    derandomize=True,
    deadline=None,
    max_examples=250,
    phases=(Phase.generate, Phase.shrink),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
CIRCUMSTANCES = st.integers(0, 31)
STORED = orjson.dumps(appwrapper(component()))
POD_KIND = {"group": "", "version": "v1", "kind": "Pod"}


@PROPERTY
@given(st.binary() | json_values().map(orjson.dumps))
def test_a_malformed_review_gets_400(app: InProcessWebhook, body: bytes) -> None:
    for path in (MUTATE, VALIDATE):
        assert app.post(path, body).status == 400


@PROPERTY
@given(
    field=st.sampled_from(sorted(review({})["request"])),
    value=json_values(),
    operation=st.sampled_from(["CREATE", "UPDATE"]),
)
def test_a_request_with_anything_in_a_field_is_answered(
    app: InProcessWebhook, field: str, value: Any, operation: str
) -> None:
    made = review(orjson.loads(STORED), old=orjson.loads(STORED), operation=operation)
    made["request"][field] = value
    check_any(app, orjson.dumps(made))


@PROPERTY
@given(CIRCUMSTANCES, st.sampled_from(["CREATE", "UPDATE", "DELETE"]), json_values(), json_values())
def test_anything_as_an_object_is_answered(
    app: InProcessWebhook, circumstances: int, operation: str, submitted: Any, old: Any
) -> None:
    app.know(facts(circumstances))
    check_any(app, orjson.dumps(review(submitted, old=old, operation=operation)))


# Of what the request says, too. The API server sees to it that both agree.
GIVEN_TWICE = [
    *[(key,) for key in ("apiVersion", "kind", "metadata")],
    *[("metadata", key) for key in ("name", "namespace", "generateName", "labels", "annotations")],
]


@pytest.mark.parametrize("way", GIVEN_TWICE)
@pytest.mark.parametrize("value", [None, "", "x", "n" * 300, 1, 1.5, True, [], [1], {}, {"a": 1}])
def test_an_object_with_nonsense_metadata_is_answered(
    app: InProcessWebhook, way: tuple[str, ...], value: Any
) -> None:
    for made in (orjson.loads(STORED), {**POD, "metadata": {**POD["metadata"]}}):
        inner = made
        for key in way[:-1]:
            inner = inner[key]
        inner[way[-1]] = value
        fields: dict[str, Any] = {"kind": POD_KIND} if "containers" in made["spec"] else {}
        check_any(app, orjson.dumps(review(made, **fields)))
        stored = orjson.loads(STORED)
        for sent, old in ((made, made), (made, stored), (stored, made)):
            check_any(app, orjson.dumps(review(sent, old=old, operation="UPDATE", **fields)))


@PROPERTY
@given(CIRCUMSTANCES, appwrappers())
def test_anything_in_an_appwrapper_is_answered(
    app: InProcessWebhook, circumstances: int, submitted: dict[str, Any]
) -> None:
    app.know(facts(circumstances))
    check_creation(app, review(submitted))


@PROPERTY
@given(CIRCUMSTANCES, appwrappers(), appwrappers())
def test_an_update_to_anything_adds_nothing(
    app: InProcessWebhook, circumstances: int, stored: dict[str, Any], sent: dict[str, Any]
) -> None:
    app.know(facts(circumstances))
    check_update(app, review(sent, old=stored, operation="UPDATE"))
    check_update(app, review(stored, old=stored, operation="UPDATE"))


@PROPERTY
@given(components().filter(lambda made: not _has_a_template(made)))
def test_a_component_without_template_is_never_admitted(
    app: InProcessWebhook, component: Any
) -> None:
    submitted = orjson.loads(STORED)
    submitted["spec"]["components"].append(component)
    body = orjson.dumps(review(submitted))
    response = check_answer(app.post(VALIDATE, body), body)
    assert response is not None
    assert not response["allowed"]


def _has_a_template(component: Any) -> bool:
    return isinstance(component, dict) and isinstance(component.get("template"), dict)


@PROPERTY
@given(CIRCUMSTANCES, st.binary(min_size=1, max_size=25))
def test_a_real_one_broken_is_mutated_once_and_replayed_without_effect(
    app: InProcessWebhook, circumstances: int, program: bytes
) -> None:
    run(app, header(Mode.EDITED_CREATE, circumstances) + program)


@PROPERTY
@given(CIRCUMSTANCES, st.binary(min_size=1, max_size=25))
def test_a_broken_update_of_a_real_one_adds_nothing(
    app: InProcessWebhook, circumstances: int, program: bytes
) -> None:
    run(app, header(Mode.EDITED_UPDATE, circumstances) + program)
