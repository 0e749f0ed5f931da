from bench.profile.run import python_tables
from bench.profile.stacks import StackSample

WORK = "Workers._work (controller/runtime/worker.py:2)"
SAMPLES = {
    "controller": [
        StackSample(["is_only_placed (controller/facts/pods.py:3)", WORK], 30.0),
        StackSample(["epoll (loop.c:1)"], 70.0),
    ],
    "webhook": [],
}


def test_shares_of_a_sampled_program() -> None:
    parts, controller, webhook = python_tables(SAMPLES)
    assert parts.rows == [
        ("event loop: asyncio, uvloop", [70.0, 0.0]),
        ("facts: controller/facts", [30.0, 0.0]),
    ]
    assert "controller 100, webhook 0" in parts.notes[0]
    assert controller.rows == [
        ("none: event loop, TLS, HTTP", [70.0, 0.0]),
        ("is_only_placed (controller/facts/pods.py)", [30.0, 30.0]),
        ("Workers._work (controller/runtime/worker.py)", [0.0, 30.0]),
    ]
    assert not webhook.rows
