from typing import Any

import pytest

from shared.config.configuration import AppWrapperConfig
from tests.support.builders.admission import POD, SERVICE, appwrapper, component, errors_of, request
from tests.support.builders.pod_schema import POD_SCHEMA
from webhook.rules.kinds import kinds_to_review
from webhook.rules.submission import Facts

NO = 'User "alice" cannot create resource "pods" in API group "" in the namespace "team1"'


def test_every_component_of_a_denied_kind_is_refused() -> None:
    known = Facts(AppWrapperConfig(), pod_schema=POD_SCHEMA, denied_kinds={("v1", "Pod"): NO})
    submitted = appwrapper(component(POD), component(SERVICE), component(POD))
    assert errors_of(submitted, known=known) == [
        f"spec.components[0].template: Forbidden: {NO}; a user needs the right to create each "
        "component: ask an admin of namespace team1 for it",
        f"spec.components[2].template: Forbidden: {NO}",
    ]


def test_another_version_of_a_kind_is_another_question() -> None:
    known = Facts(AppWrapperConfig(), pod_schema=POD_SCHEMA, denied_kinds={("v2", "Pod"): NO})
    assert errors_of(appwrapper(component(POD)), known=known) == []


@pytest.mark.parametrize(
    ("components", "config", "kinds"),
    [
        ([component(POD), component(SERVICE), component(POD)], {}, ["Pod", "Service"]),
        ([component(POD)], {"user_rbac_admission_check": False}, []),
        ([component({"apiVersion": "v1", "kind": "Node"}), component(POD)], {}, ["Pod"]),
        ([component(appwrapper()), component(POD)], {}, ["Pod"]),
        ([component([]), component({"kind": "Pod"}), None], {}, []),
    ],
)
def test_kinds_that_need_a_review(
    components: list[Any], config: dict[str, Any], kinds: list[str]
) -> None:
    created = request(appwrapper(*components))
    asked = kinds_to_review(created, AppWrapperConfig(**config))
    assert asked == [("v1", kind) for kind in kinds]


def test_with_every_kind_allowed_an_appwrapper_is_still_not_asked_about() -> None:
    config = AppWrapperConfig.model_validate({"allowedKinds": {"wrapped": ("*",)}})
    node = {"apiVersion": "v1", "kind": "Node"}
    created = request(appwrapper(component(appwrapper()), component(node)))
    assert kinds_to_review(created, config) == [("v1", "Node")]


def versions(count: int) -> list[dict[str, Any]]:
    """As many different Kinds, in the eyes of RBAC perhaps the same."""
    return [component({**POD, "apiVersion": f"v{index}"}) for index in range(count)]


@pytest.mark.parametrize(("count", "asked"), [(64, 64), (65, 0)])
def test_the_number_of_reviews_is_limited(count: int, asked: int) -> None:
    created = request(appwrapper(*versions(count)))
    assert len(kinds_to_review(created, AppWrapperConfig())) == asked


@pytest.mark.parametrize(
    ("count", "config", "errors"),
    [
        (64, {}, []),
        (
            65,
            {},
            [
                "spec.components: Too many: 65: "
                "rights to at most 64 different Kinds can be looked up"
            ],
        ),
        (65, {"user_rbac_admission_check": False}, []),
    ],
)
def test_a_kind_without_review_is_refused(
    count: int, config: dict[str, Any], errors: list[str]
) -> None:
    known = Facts(AppWrapperConfig(**config), pod_schema=POD_SCHEMA)
    found = errors_of(appwrapper(*versions(count)), known=known)
    assert [error for error in found if "rights" in error] == errors
