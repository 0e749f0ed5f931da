"""What ships of the configurations is what the webhook reads, field by field."""

import subprocess
import sys
from typing import Any, get_args

import pytest

from cli.shipped.configurations import shipped_configuration
from cli.shipped.data import OVERLAYS
from shared.annotations import STRATEGIES
from shared.config.fault_tolerance import ErrorAggregation
from shared.config.loading import load_config
from shared.config.values import Section
from tests.support.manifests import MANIFESTS, ROOT


def assert_same(shipped: Any, loaded: Any) -> None:
    if isinstance(loaded, Section):
        names = type(loaded).model_fields
        assert vars(shipped).keys() == names.keys()
        for name in names:
            assert_same(getattr(shipped, name), getattr(loaded, name))
    elif isinstance(loaded, tuple | list):
        assert type(shipped) is type(loaded)
        for one, other in zip(shipped, loaded, strict=True):
            assert_same(one, other)
    elif isinstance(loaded, dict):
        assert shipped.keys() == loaded.keys()
        for key in loaded:
            assert_same(shipped[key], loaded[key])
    else:
        assert (type(shipped), shipped) == (type(loaded), loaded)


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_every_field_is_the_same(overlay: str) -> None:
    loaded = load_config(MANIFESTS / "overlays" / overlay / "config.yaml").config.appwrapper
    assert_same(shipped_configuration(overlay), loaded)


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
    assert loaded <= ours | {"cython_runtime", "orjson", "ruamel", "yaml"}
