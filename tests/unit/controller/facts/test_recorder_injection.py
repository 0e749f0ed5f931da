"""The recorder that the controller starts: what pods get, and which stay as they are."""

from copy import deepcopy
from datetime import timedelta
from typing import Any

import pytest

from controller.apply.component_body import Additions
from controller.facts.recorder_environment import Recording, recording_of
from controller.facts.recorder_injection import inject_recorder
from controller.phases.snapshot import FaultTolerance
from shared.api.appwrapper import AppWrapper
from shared.config.fault_tolerance import ErrorAggregation
from shared.injection.avoided_hosts import AvoidedHosts
from shared.injection.fields import InjectionConflict

IMAGE = "registry.example.com/team/appwrapper-controller:0.1.0"
MOUNT = {"name": "appwrapper-recorder", "mountPath": "/opt/appwrapper"}
MAIN: dict[str, Any] = {"name": "main", "command": ["torchrun"], "args": ["train.py"]}
APPWRAPPER = AppWrapper({"metadata": {"namespace": "t", "name": "a", "uid": "u"}, "status": {}})


def injected(**spec: Any) -> dict[str, Any]:
    template = {"spec": deepcopy({"containers": [MAIN], **spec})}
    inject_recorder(template, IMAGE, "template")
    return template["spec"]


def test_an_init_container_copies_the_recorder_and_the_command_runs_under_it() -> None:
    assert injected() == {
        "containers": [
            {
                "name": "main",
                "command": ["python3", "/opt/appwrapper/worker", "--", "torchrun"],
                "args": ["train.py"],
                "volumeMounts": [{**MOUNT, "readOnly": True}],
            }
        ],
        "volumes": [{"name": "appwrapper-recorder", "emptyDir": {}}],
        "initContainers": [
            {
                "name": "appwrapper-recorder",
                "image": IMAGE,
                "command": ["cp", "-R", "/app/worker", "/opt/appwrapper"],
                "resources": {},
                "volumeMounts": [MOUNT],
                "securityContext": {
                    "allowPrivilegeEscalation": False,
                    "capabilities": {"drop": ["ALL"]},
                    "seccompProfile": {"type": "RuntimeDefault"},
                },
            }
        ],
    }


def test_the_user_s_own_parts_stay_and_other_containers_too() -> None:
    beside, first = {"name": "logs", "command": ["tail"]}, {"name": "fetch"}
    own, volume = {"name": "data", "mountPath": "/data"}, {"name": "data", "emptyDir": {}}
    spec = injected(
        containers=[{**MAIN, "volumeMounts": [own]}, beside],
        initContainers=[first],
        volumes=[volume],
    )
    assert spec["containers"][1] == beside
    assert spec["containers"][0]["volumeMounts"][0] == own
    assert spec["volumes"][0] == volume
    assert [each["name"] for each in spec["initContainers"]] == ["appwrapper-recorder", "fetch"]


def test_it_asks_for_no_more_than_the_container_and_for_no_device() -> None:
    """So Kueue's count of the pod's request is right, and a ResourceQuota accepts the pod."""
    requests = {"cpu": "4", "memory": "8Gi", "nvidia.com/gpu": "8"}
    limits = {"memory": "8Gi", "nvidia.com/gpu": "8"}
    main = {**MAIN, "resources": {"requests": requests, "limits": limits}}
    (copying,) = injected(containers=[main])["initContainers"]
    assert copying["resources"] == {
        "requests": {"cpu": "4", "memory": "8Gi"},
        "limits": {"memory": "8Gi"},
    }


def test_it_runs_as_the_container_s_user() -> None:
    context = {"runAsUser": 1000, "runAsNonRoot": True, "privileged": True}
    (copying,) = injected(containers=[{**MAIN, "securityContext": context}])["initContainers"]
    assert copying["securityContext"] == {
        "runAsUser": 1000,
        "runAsNonRoot": True,
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "seccompProfile": {"type": "RuntimeDefault"},
    }


def test_a_second_call_changes_nothing() -> None:
    once = injected()
    template = {"spec": deepcopy(once)}
    inject_recorder(template, IMAGE, "template")
    assert template["spec"] == once


@pytest.mark.parametrize(
    "main",
    [
        {"name": "main", "args": ["train.py"]},  # only its image knows what it starts
        {**MAIN, "command": []},
        *(
            {**MAIN, "volumeMounts": [{"name": "recorder", "mountPath": path}]}
            for path in (
                "/opt/appwrapper",
                "/opt/appwrapper/",
                "/opt",
                "//opt/./",
                "opt",
                "/data/../opt",
                "/",
                "/opt/appwrapper/worker",
            )
        ),
    ],
)
def test_a_container_that_cannot_or_need_not_run_under_it_stays(main: dict[str, Any]) -> None:
    assert injected(containers=[main]) == {"containers": [main]}


@pytest.mark.parametrize("path", ["/opt/appwrapper-2", "/op", "/opt/cache", "/data/opt", 7, None])
def test_a_mount_elsewhere_changes_nothing(path: Any) -> None:
    own = {"name": "data", "mountPath": path}
    (main,) = injected(containers=[{**MAIN, "volumeMounts": [own]}])["containers"]
    assert main["volumeMounts"] == [own, {**MOUNT, "readOnly": True}]


def test_a_pod_without_containers_stays() -> None:
    assert injected(containers=[]) == {"containers": []}


@pytest.mark.parametrize("field", ["containers", "initContainers", "volumes"])
def test_a_field_of_a_wrong_type_is_a_conflict(field: str) -> None:
    with pytest.raises(InjectionConflict):
        injected(**{field: "text"})


@pytest.mark.parametrize(
    ("recorder", "image", "strategy", "expected"),
    [
        (True, IMAGE, "earliest", IMAGE),
        (True, IMAGE, "default", IMAGE),
        (True, "", "earliest", ""),
        (False, IMAGE, "earliest", ""),
        (True, IMAGE, "off", ""),
    ],
)
def test_the_annotation_and_the_operator_s_image_decide(
    recorder: bool, image: str, strategy: str, expected: str
) -> None:
    effective = FaultTolerance(recorder=recorder, error_aggregation=strategy)
    operator = ErrorAggregation(recorder_image=image)
    assert recording_of(APPWRAPPER, effective, operator).image == expected


@pytest.mark.parametrize(
    ("image", "is_helper", "starts"),
    [(IMAGE, False, True), (IMAGE, True, False), ("", False, False)],
)
def test_a_helper_runs_without_it(image: str, is_helper: bool, starts: bool) -> None:
    recording = Recording(strategy="earliest", image=image)
    additions = Additions(AvoidedHosts(), recording, timedelta(minutes=10))
    template = {"spec": {"containers": [deepcopy(MAIN)]}}
    additions.put_into(template, "template", is_helper=is_helper)
    assert ("initContainers" in template["spec"]) is starts
