"""What pods get so that their failures can be explained, and what they keep of their own."""

from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.facts.recorder_environment import (
    Recording,
    prepare_recording,
    recording_of,
    termination_budget,
)
from controller.phases.snapshot import FaultTolerance
from shared.api.appwrapper import AppWrapper
from shared.config.fault_tolerance import ErrorAggregation
from shared.injection.fields import InjectionConflict

FALLBACK = "FallbackToLogsOnError"
STORED = Recording(strategy="earliest", attempt=2, uri="s3://errors/x/team1/train/u1/2")
APPWRAPPER = AppWrapper(
    {
        "metadata": {"namespace": "team1", "name": "train", "uid": "u1"},
        "spec": {},
        "status": {"attempt": 2},
    }
)
OPERATOR = ErrorAggregation(stores={"team": "s3://errors/x/"})


def field(name: str, path: str) -> dict[str, Any]:
    return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}}


def value(name: str, text: str) -> dict[str, Any]:
    return {"name": name, "value": text}


OF_THE_POD = [
    field("AW_WORKER_NAME", "metadata.name"),
    field("AW_POD_UID", "metadata.uid"),
    field("AW_NODE_NAME", "spec.nodeName"),
]


def prepared(recording: Recording = STORED, **spec: Any) -> dict[str, Any]:
    spec.setdefault("containers", [{"name": "c"}])
    template = {"spec": deepcopy(spec)}
    prepare_recording(template, recording, "template")
    return template["spec"]


def test_a_container_gets_the_whole_environment() -> None:
    assert prepared() == {
        "containers": [
            {
                "name": "c",
                "terminationMessagePolicy": FALLBACK,
                "env": [
                    *OF_THE_POD,
                    value("AW_ERROR_STRATEGY", "earliest"),
                    value("AW_ATTEMPT", "2"),
                    value("AW_TERMINATION_BUDGET", "4096"),
                    value("AW_ERROR_URI", "s3://errors/x/team1/train/u1/2"),
                ],
            }
        ]
    }


def test_without_a_store_pods_get_no_address() -> None:
    (container,) = prepared(Recording(strategy="default", attempt=1))["containers"]
    assert container["env"] == [
        *OF_THE_POD,
        value("AW_ERROR_STRATEGY", "default"),
        value("AW_ATTEMPT", "1"),
        value("AW_TERMINATION_BUDGET", "4096"),
    ]


def test_users_keep_what_they_set() -> None:
    own = [value("AW_ERROR_URI", "file:///mine"), field("AW_WORKER_NAME", "spec.hostname")]
    own += [{"name": "AW_ATTEMPT"}, value("PATH", "/bin")]
    (container,) = prepared(containers=[{"name": "c", "env": own}])["containers"]
    assert container["env"][:4] == own
    assert [each["name"] for each in container["env"][4:]] == [
        "AW_POD_UID",
        "AW_NODE_NAME",
        "AW_ERROR_STRATEGY",
        "AW_TERMINATION_BUDGET",
    ]


def test_a_name_that_is_no_text_is_left_to_the_api_server() -> None:
    own = [{"name": ["AW_ATTEMPT"]}]
    (container,) = prepared(containers=[{"name": "c", "env": own}])["containers"]
    assert container["env"][:1] == own


def test_a_value_from_another_source_is_replaced() -> None:
    """Kubernetes lets `env` take precedence over `envFrom`, which is not touched."""
    sources = [{"secretRef": {"name": "team"}}]
    (container,) = prepared(containers=[{"name": "c", "envFrom": sources}])["containers"]
    assert container["envFrom"] == sources
    assert len(container["env"]) == 7


def test_init_containers_show_their_logs_and_get_no_environment() -> None:
    spec = prepared(initContainers=[{"name": "i"}], ephemeralContainers=[{"name": "e"}])
    assert spec["initContainers"] == [{"name": "i", "terminationMessagePolicy": FALLBACK}]
    assert spec["ephemeralContainers"] == [{"name": "e"}]


@pytest.mark.parametrize("asked", ["File", FALLBACK])
def test_a_policy_that_users_set_stays(asked: str) -> None:
    container = {"name": "c", "terminationMessagePolicy": asked}
    init = {"name": "i", "terminationMessagePolicy": asked}
    spec = prepared(containers=[container], initContainers=[init])
    assert spec["containers"][0]["terminationMessagePolicy"] == asked
    assert spec["initContainers"] == [init]


@pytest.mark.parametrize(
    ("path", "warnings"),
    [
        pytest.param("/tmp/end", ["/tmp/end"], id="another"),
        pytest.param("/dev/termination-log", [], id="Kubernetes' own"),
        pytest.param("", [], id="empty"),
        pytest.param(None, [], id="null"),
        pytest.param("/tmp/$(HOME)", ["/tmp/$$(HOME)"], id="meant literally"),
    ],
)
def test_another_termination_message_path_is_passed_on(
    path: str | None, warnings: list[str]
) -> None:
    containers = [{"name": "c", "terminationMessagePath": path}]
    (container,) = prepared(containers=containers)["containers"]
    found = [each["value"] for each in container["env"] if each["name"] == "AW_TERMINATION_LOG"]
    assert found == warnings
    assert container["terminationMessagePath"] == path


@pytest.mark.parametrize(
    ("containers", "init", "budget"),
    [(1, 0, 4096), (3, 0, 4096), (2, 2, 3072), (5, 0, 2457), (9, 3, 1024)],
)
def test_all_messages_of_a_pod_share_a_budget(containers: int, init: int, budget: int) -> None:
    spec = prepared(
        containers=[{"name": f"c{n}"} for n in range(containers)],
        initContainers=[{"name": f"i{n}"} for n in range(init)],
    )
    for container in spec["containers"]:
        assert value("AW_TERMINATION_BUDGET", str(budget)) in container["env"]
    assert termination_budget(containers + init) == budget


def test_nothing_is_asked_for_where_all_is_off() -> None:
    containers = [{"name": "c"}]
    assert prepared(Recording(log_tail=False), containers=containers) == {"containers": containers}


@pytest.mark.parametrize("strategy", ["off", "earliest", "default"])
@pytest.mark.parametrize("log_tail", [True, False])
@pytest.mark.parametrize("inject", [True, False])
def test_the_switches(strategy: str, log_tail: bool, inject: bool) -> None:
    operator = ErrorAggregation(log_tail=log_tail, inject_env=inject)
    effective = FaultTolerance(error_aggregation=strategy)
    (container,) = prepared(recording_of(APPWRAPPER, effective, operator))["containers"]
    assert ("terminationMessagePolicy" in container) is log_tail
    assert ("env" in container) is (inject and strategy != "off")


@pytest.mark.parametrize(
    ("store", "uri"), [("team", "s3://errors/x/team1/train/u1/2"), ("", ""), ("another", "")]
)
def test_the_store_is_named_by_the_appwrapper_and_found_by_the_operator(
    store: str, uri: str
) -> None:
    effective = FaultTolerance(error_store=store)
    assert recording_of(APPWRAPPER, effective, OPERATOR) == Recording(
        strategy="earliest", attempt=2, uri=uri
    )


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"containers": {}}, "template.spec.containers is an object, not an array"),
        ({"containers": ["c"]}, "template.spec.containers[0] is a string, not an object"),
        ({"initContainers": 1}, "template.spec.initContainers is a number, not an array"),
        (
            {"containers": [{"env": "x"}]},
            "template.spec.containers[0].env is a string, not an array",
        ),
        (
            {"containers": [{}, {"env": [1]}]},
            "template.spec.containers[1].env[0] is a number, not an object",
        ),
    ],
)
def test_an_unusable_template_is_reported_with_its_path(spec: Any, message: str) -> None:
    with pytest.raises(InjectionConflict) as raised:
        prepared(**spec)
    assert str(raised.value) == message


def _names() -> st.SearchStrategy[str]:
    return st.sampled_from(["AW_ERROR_URI", "AW_ATTEMPT", "AW_POD_UID", "PATH", ""])


def _containers() -> st.SearchStrategy[Any]:
    variable = st.fixed_dictionaries({"name": _names()}, optional={"value": st.text(max_size=3)})
    container = st.fixed_dictionaries(
        {},
        optional={
            "env": st.none() | st.lists(variable, max_size=4),
            "terminationMessagePath": st.none() | st.sampled_from(["", "/x", "/dev/$"]),
            "terminationMessagePolicy": st.none() | st.sampled_from(["File", FALLBACK]),
        },
    )
    return st.none() | st.lists(container, max_size=3)


@given(
    _containers(),
    _containers(),
    st.builds(
        Recording,
        strategy=st.sampled_from(["", "earliest"]),
        uri=st.sampled_from(["", "file:///a$b"]),
        log_tail=st.booleans(),
    ),
)
def test_twice_is_once_and_nothing_of_the_users_is_lost(
    containers: Any, init: Any, recording: Recording
) -> None:
    once = prepared(recording, containers=containers, initContainers=init)
    assert prepared(recording, **once) == once
    for before, after in zip(containers or (), once["containers"] or (), strict=True):
        assert (after.get("env") or [])[: len(before.get("env") or [])] == (before.get("env") or [])
        kept = {key: before[key] for key in before if before[key] and key != "env"}
        assert kept.items() <= after.items()
