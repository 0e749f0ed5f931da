import re
from pathlib import Path

import orjson
import pytest

from bench.circumstances import Circumstances
from bench.recorded import Recorded
from bench.results import Contender, ResultRow, ResultSection, SpeedTarget
from shared.api.objects import JsonObject

RUN = Recorded(
    Circumstances("2026-01-02", "0123abcd", {"Kueue": "v1"}, "2 cores", 0.3, "bench", 90.0),
    {
        "mutate": ResultSection(
            "Mutation",
            [
                ResultRow(
                    "p50",
                    "ms",
                    (SpeedTarget(1),),
                    {Contender.OURS: [1.0, 3.0], Contender.PEER: [2.0]},
                )
            ],
            ["A note."],
        )
    },
)


def written(folder: Path, stored: JsonObject) -> Path:
    file = folder / "results.json"
    file.write_bytes(orjson.dumps(stored))
    return file


def test_a_run_is_read_as_it_was_recorded(tmp_path: Path) -> None:
    assert Recorded.read(written(tmp_path, RUN.as_json())) == RUN


def test_a_median_that_was_edited_is_refused(tmp_path: Path) -> None:
    stored = orjson.loads(orjson.dumps(RUN.as_json()))
    stored["sections"][0]["rows"][0]["median"]["this operator"]["median"] = 1.0
    file = written(tmp_path, stored)
    message = f"{file}: medians or ratios differ from the rounds; was it edited?"
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        Recorded.read(file)


def test_a_file_of_an_older_benchmark_is_refused(tmp_path: Path) -> None:
    stored = {name: value for name, value in RUN.as_json().items() if name != "commit"}
    file = written(tmp_path, stored)
    message = f"{file}: there is no 'commit'; write it with --json again"
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        Recorded.read(file)


def test_it_has_all_circumstances_and_the_part_of_each_section() -> None:
    assert RUN.as_json() == {
        "date": "2026-01-02",
        "commit": "0123abcd",
        "versions": {"Kueue": "v1"},
        "machine": "2 cores",
        "load": 0.3,
        "command": "bench",
        "seconds": 90.0,
        "sections": [{"part": "mutate"} | RUN.sections["mutate"].as_json()],
    }
