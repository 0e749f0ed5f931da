"""What real API servers and operators made of odd objects, against what the webhook counts."""

import pytest

from shared.kinds.table import KINDS
from tests.support.builders.kind_shapes import SHAPES, shaped
from tests.support.kind_shapes_table import Answer, read_table

RECORDED = read_table()
EACH = [(kind, name) for kind, shapes in SHAPES.items() for name in shapes]


def test_every_kind_with_pods_has_its_shapes() -> None:
    with_pods = {each.group_kind for each in KINDS if each.pod_sets is not None}
    assert with_pods - SHAPES.keys() == {"trainer.kubeflow.org/TrainJob"}  # beside its runtime
    assert SHAPES.keys() <= with_pods


def test_every_shape_is_recorded() -> None:
    recorded = [(kind, name) for kind, shapes in RECORDED.items() for name in shapes]
    assert recorded == EACH, "run python -m tests.support.record_kind_shapes"


@pytest.mark.parametrize(("kind", "name"), EACH)
def test_no_operator_makes_more_pods_than_are_counted(kind: str, name: str) -> None:
    made, recorded = RECORDED[kind][name]
    answer = Answer.to(shaped(kind, name))
    assert answer == recorded
    assert answer.refused or made.pods <= answer.counted


@pytest.mark.parametrize("kind", SHAPES)
def test_the_ordinary_object_makes_as_many_pods_as_are_counted(kind: str) -> None:
    """A recorder that counts no pods would find every record right."""
    made, answer = RECORDED[kind]["ordinary"]
    assert (made.refused, answer.refused) == ("", "")
    assert made.pods == answer.counted > 0
