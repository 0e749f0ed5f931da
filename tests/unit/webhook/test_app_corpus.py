"""Inputs that once covered new code, or broke a promise. The fuzzer itself is not needed here."""

from tests.fuzz.folders import CORPUS, LARGEST_CORPUS
from tests.fuzz.initial import inputs
from tests.fuzz.target import run
from tests.support.fakes.in_process_webhook import InProcessWebhook

INPUTS = sorted(CORPUS.iterdir())


def test_the_corpus_is_there_and_small() -> None:
    sizes = [path.stat().st_size for path in INPUTS]
    assert len(sizes) > 100
    assert sum(sizes) <= LARGEST_CORPUS


def test_every_input_of_the_corpus_finds_the_promises_kept(app: InProcessWebhook) -> None:
    for path in INPUTS:
        try:
            run(app, path.read_bytes())
        except Exception as error:
            raise AssertionError(f"python -m tests.fuzz replay {path}") from error


def test_so_does_every_input_to_begin_with(app: InProcessWebhook) -> None:
    for data in inputs():
        run(app, data)
