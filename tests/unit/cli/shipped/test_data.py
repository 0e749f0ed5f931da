"""The command's shipped files agree with the configuration, and take no long imports."""

import subprocess
import sys
from typing import get_args

import pytest

from shared.annotations import STRATEGIES
from shared.config.fault_tolerance import ErrorAggregation
from tests.support.manifests import ROOT


def test_the_strategies_are_those_of_the_configuration() -> None:
    assert get_args(ErrorAggregation.model_fields["strategy"].annotation) == STRATEGIES


@pytest.mark.parametrize("command", [["pack"], ["validate", "-n", "team1"]])
def test_offline_commands_import_nothing_that_takes_long(command: list[str]) -> None:
    """What starts within a moment is what is not imported: no figure depends on the machine."""
    script = (
        "import sys; from cli.main import main; from cli.terminal import CommandTerminal;"
        f"main({command!r}, CommandTerminal());"
        "print(sorted({n.partition('.')[0] for n in sys.modules}"
        " - {*sys.stdlib_module_names}), file=sys.stderr)"
    )
    pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\n"
    ended = subprocess.run(
        [sys.executable, "-I", "-c", f"import sys; sys.path.insert(0, {str(ROOT)!r}); {script}"],
        input=f"{pod}spec: {{containers: [{{name: c, image: i}}]}}\n",
        capture_output=True,
        text=True,
        check=True,
    )
    assert "Pod" in ended.stdout
    loaded = {each for each in eval(ended.stderr) if not each.startswith("_")}
    ours = {"cli", "shared", "webhook"}
    for_the_configuration = {"annotated_types", "pydantic", "pydantic_core", "typing_extensions"}
    others = {"cython_runtime", "orjson", "ruamel", "typing_inspection", "yaml"}
    assert loaded <= ours | for_the_configuration | others
