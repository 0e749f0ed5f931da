from typing import Any

import pytest

from shared.config.configuration import Exemptions
from tests.support.builders.admission import POD, SERVICE, appwrapper, component, errors_of

FORBIDDEN = "Forbidden: Kueue writes them when it admits the AppWrapper; leave them out"


@pytest.mark.parametrize("infos", [[{}], [{"nodeSelector": {"a": "b"}}], {"a": 1}, "x"])
def test_a_user_cannot_grant_quota(infos: Any) -> None:
    forged = component(POD, podSetInfos=infos)
    assert errors_of(appwrapper(component(SERVICE), forged)) == [
        f"spec.components[1].podSetInfos: {FORBIDDEN}"
    ]


@pytest.mark.parametrize("infos", [None, []])
def test_none_are_none(infos: Any) -> None:
    assert errors_of(appwrapper(component(POD, podSetInfos=infos))) == []


def test_a_quota_manager_may_write_them() -> None:
    made = appwrapper(component(POD, podSetInfos=[{}]))
    assert errors_of(made, exemptions=Exemptions(quota_managers=("alice",))) == []
    assert errors_of(made, exemptions=Exemptions(quota_managers=("bob",))) == [
        f"spec.components[0].podSetInfos: {FORBIDDEN}"
    ]
