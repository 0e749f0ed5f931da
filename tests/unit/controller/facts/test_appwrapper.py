from controller.facts.own_status import project_appwrapper
from shared.api.objects import JsonObject


def test_what_only_others_read_is_forgotten() -> None:
    raw: JsonObject = {
        "metadata": {
            "name": "train",
            "managedFields": [{}],
            "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{}", "a": "b"},
        },
        "spec": {"suspend": True},
    }
    assert project_appwrapper(raw) == {
        "metadata": {"name": "train", "annotations": {"a": "b"}},
        "spec": {"suspend": True},
    }
    assert "managedFields" in raw["metadata"]


def test_an_object_without_annotations() -> None:
    assert project_appwrapper({"metadata": {"name": "train"}}) == {"metadata": {"name": "train"}}
