import orjson
import pytest

from bench import objects
from shared.api import names
from shared.config.configuration import AppWrapperConfig
from webhook.admission_review import LARGEST_BODY, parse_review
from webhook.chain import mutate
from webhook.rules.submission import Facts
from webhook.verdicts import Allowed


@pytest.mark.parametrize("review", [objects.mutate_review(), objects.validate_review()])
def test_reviews_are_about_four_kilobytes(review: bytes) -> None:
    assert 3_300 <= len(review) <= 5_000


def test_the_large_review_is_about_nine_tenths_of_a_mebibyte() -> None:
    assert 0.89 <= len(objects.large_review()) / 2**20 <= 0.92


def test_the_largest_review_is_nearly_as_large_as_the_webhook_reads() -> None:
    assert 0.998 <= len(objects.largest_review()) / LARGEST_BODY <= 1


def test_review_asks_about_one_master_and_three_workers() -> None:
    request = orjson.loads(objects.mutate_review())["request"]
    template = request["object"]["spec"]["components"][0]["template"]
    replicas = {
        name: each["replicas"] for name, each in template["spec"]["pytorchReplicaSpecs"].items()
    }
    assert (request["operation"], template["kind"]) == ("CREATE", "PyTorchJob")
    assert replicas == {"Master": 1, "Worker": 3}
    assert names.LABEL_USER not in request["object"]["metadata"]["labels"]


def test_validated_review_is_what_mutation_makes_of_it() -> None:
    """And Kueue of that."""
    review = orjson.loads(objects.validate_review())
    subject = review["request"]["object"]
    assert subject["metadata"]["labels"][names.LABEL_USER] == objects.USER
    assert subject["spec"].pop("suspend") is True
    again = mutate(parse_review(orjson.dumps(review)), Facts(AppWrapperConfig()))
    assert again == Allowed()


def test_platform_runs_the_very_job_that_is_wrapped() -> None:
    plain = objects.job("one", "batch", objects.QUEUE)
    wrapped = objects.wrapped_job("one", "batch", objects.QUEUE)["spec"]["components"][0][
        "template"
    ]
    assert plain["metadata"]["labels"].pop(names.LABEL_QUEUE_NAME) == objects.QUEUE
    assert plain["spec"].pop("suspend") is True
    assert plain == wrapped
