"""Which AppWrappers the manifests and options make."""

import pytest

from cli.command import CommandError
from cli.manifests.manifest import Manifest, manifests_of
from cli.packing.wrapping import Wrapping, wrapping
from cli.submitting.submissions import NewAppWrapper, submissions
from shared.config.configuration import AllowedKinds
from tests.support.builders.packed import JOB

AW = """\
apiVersion: workload.codeflare.dev/v1beta2
kind: AppWrapper
metadata:
  name: train
  labels: {a: b}
spec:
  components: []
"""
NAMELESS = AW.replace("name: train", "generateName: train-")


def made(*texts: str, **options: object) -> list[NewAppWrapper]:
    asked: Wrapping = wrapping(**options)  # type: ignore[arg-type]
    return submissions(read(*texts), asked, AllowedKinds())


def read(*texts: str) -> list[Manifest]:
    return [
        each for index, text in enumerate(texts) for each in manifests_of(text, f"{index}.yaml")
    ]


def test_an_appwrapper_is_sent_as_it_is() -> None:
    (found,) = made(AW)
    assert found.body == read(AW)[0].value
    assert (found.name, found.locate("spec.components")[0]) == ("train", "0.yaml")
    place = found.locate("spec.components")[1]
    assert place is not None
    assert place.line == 7


def test_other_objects_are_wrapped_together() -> None:
    (found,) = made(JOB, JOB.replace("name: train", "name: other"), name="run-7")
    assert (found.name, len(found.body["spec"]["components"])) == ("run-7", 2)
    assert found.locate("metadata.name") == ("--name", None)


def test_options_take_precedence_over_the_metadata() -> None:
    (found,) = made(NAMELESS, name="run-7", namespace="team1", queue="urgent", annotations=["k=v"])
    assert found.body["metadata"] == {
        "name": "run-7",
        "namespace": "team1",
        "labels": {"a": "b", "kueue.x-k8s.io/queue-name": "urgent"},
        "annotations": {"k": "v"},
    }
    assert found.locate("metadata.labels[kueue.x-k8s.io/queue-name]") == ("--queue", None)
    assert made(NAMELESS)[0].name == "train-"


@pytest.mark.parametrize(
    ("texts", "options", "message"),
    [
        (
            (AW, JOB),
            {},
            "1.yaml:2: Job/train is beside an AppWrapper. Wrap it too, as one of its components,"
            " or create it with kubectl",
        ),
        (
            (AW, AW),
            {"name": "run-7"},
            "--name run-7 names one AppWrapper, and there are 2: 0.yaml:1 and 1.yaml:1. Leave the"
            " option out, or submit each from a file of its own",
        ),
        (
            (AW,),
            {"pod_sets": ["Job:none"]},
            "--podset declares the pods of objects that are wrapped, and 0.yaml:1 is an AppWrapper"
            " already. Leave the option out, and write podSets into its component: kubectl explain"
            " appwrapper.spec.components.podSets",
        ),
        (
            (AW,),
            {"helpers": ["train"]},
            "--helper marks one of the objects that are wrapped, and 0.yaml:1 is an AppWrapper"
            " already. Leave the option out, and write into its component: annotations:"
            ' {workload.codeflare.dev.appwrapper/helper: "true"}',
        ),
        (
            (AW.replace("name: train", "name: train\n  namespace: team2"),),
            {"namespace": "team1"},
            "0.yaml:5: AppWrapper/train names namespace team2, and --namespace is team1",
        ),
        (
            (),
            {},
            "there is no object to wrap: the input is empty, or has only comments",
        ),
    ],
)
def test_refused_manifests(
    texts: tuple[str, ...], options: dict[str, object], message: str
) -> None:
    with pytest.raises(CommandError) as refused:
        made(*texts, **options)
    assert str(refused.value) == message
