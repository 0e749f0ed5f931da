"""`appwrapper generate`, as a person or a pipe runs it."""

import io
import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from cli import main as program
from cli.command import ExitCode
from cli.generation.describe import example, json_schema
from cli.terminal import CommandTerminal
from tests.support.manifests import ROOT

NAMED = "jobName: j\ncontainerImage: i\nmainProgram: t.py\n"


def ran(*words: str, stdin: str = "") -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    code = program.main(["generate", *words], CommandTerminal(io.StringIO(stdin), out, err, {}))
    return code, out.getvalue(), err.getvalue()


@pytest.fixture
def values(tmp_path: Path) -> str:
    (tmp_path / "values.yaml").write_text(NAMED)
    return str(tmp_path / "values.yaml")


def test_it_prints_yaml_for_kubectl(values: str) -> None:
    code, out, err = ran("-f", values)
    assert (code, err) == (ExitCode.FINE, "")
    assert out.startswith("apiVersion: workload.codeflare.dev/v1beta2\nkind: AppWrapper\n")
    assert yaml.safe_load(out)["metadata"]["name"] == "j"


def test_it_prints_the_same_as_json(values: str) -> None:
    assert json.loads(ran("-f", values, "-o", "json")[1]) == yaml.safe_load(ran("-f", values)[1])


def test_files_are_merged_then_set_then_set_string(values: str, tmp_path: Path) -> None:
    (tmp_path / "more.yaml").write_text("numPods: 2\ncustomLabels: {a: b}\n")
    more = str(tmp_path / "more.yaml")
    words = ("--set-string", "customLabels.c=1", "--set", "numPods=3,customLabels.c=2")
    made = yaml.safe_load(ran("-f", values, "-f", more, *words)[1])
    (component,) = made["spec"]["components"]
    assert component["template"]["metadata"]["labels"] == {"a": "b", "c": "1"}
    assert component["template"]["spec"]["pytorchReplicaSpecs"]["Worker"]["replicas"] == 2


def test_it_makes_a_train_job_on_request(values: str) -> None:
    made = yaml.safe_load(ran("-f", values, "--kind", "trainjob")[1])
    kinds = [each["template"]["kind"] for each in made["spec"]["components"]]
    assert kinds == ["TrainingRuntime", "TrainJob"]


def test_standard_input_is_a_file(values: str) -> None:
    made = yaml.safe_load(ran("-f", values, "-f", "-", stdin="jobName: other")[1])
    assert made["metadata"]["name"] == "other"
    assert ran("-f", "-", stdin="jobName: [")[2] == (
        "error: standard input:1: this is not YAML: while parsing a flow node, expected the node"
        " content, but found '<stream end>'\n"
    )


def test_warnings_go_to_standard_error(values: str) -> None:
    code, out, err = ran("-f", values, "--set", "bypassCoscheduler=true")
    assert code == ExitCode.FINE
    assert out == ran("-f", values)[1]
    assert err == (
        "warning: --set: bypassCoscheduler: ignored: a key of an older generator; write"
        " schedulerName: default-scheduler\n"
    )


def test_one_error_is_one_line(values: str) -> None:
    assert ran("-f", values, "--set", "numPods=0") == (
        ExitCode.WANTING,
        "",
        "error: --set: numPods: Invalid value: 0: must be a whole number from 1 on, such as 4\n",
    )


def test_several_errors_are_a_list() -> None:
    assert ran() == (
        ExitCode.WANTING,
        "",
        "error: the values have 2 errors:\n"
        "  the values: jobName: Required value: must be set: write jobName: my-job\n"
        "  the values: containerImage: Required value: must be set: write containerImage:"
        " ghcr.io/my-org/my-image:v1\n",
    )


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    missing = str(tmp_path / "missing.yaml")
    assert ran("-f", missing) == (2, "", f"error: {missing}: No such file or directory\n")
    binary = tmp_path / "binary.yaml"
    binary.write_bytes(b"\xff")
    why = "this is not UTF-8 text: invalid start byte"
    assert ran("-f", str(binary)) == (2, "", f"error: {binary}: {why}\n")
    out, err = io.StringIO(), io.StringIO()
    stdin = io.TextIOWrapper(io.BytesIO(b"\xff"), encoding="utf-8")
    assert program.main(["generate", "-f", "-"], CommandTerminal(stdin, out, err, {})) == 2
    assert err.getvalue() == f"error: standard input: {why}\n"


def test_wrong_syntax_of_set_is_reported() -> None:
    assert ran("--set", "numPods") == (
        ExitCode.UNABLE,
        "",
        "error: --set numPods: there is no = after the key; write KEY=VALUE, such as numPods=4 or"
        " volumes[0].claimName=data\n",
    )


def test_example_and_schema_are_printed() -> None:
    assert ran("--example") == (ExitCode.FINE, example(), "")
    assert json.loads(ran("--schema")[1]) == json_schema()


def test_the_printed_example_is_accepted() -> None:
    assert ran("-f", "-", stdin=ran("--example")[1])[::2] == (ExitCode.FINE, "")


def test_it_imports_nothing_that_takes_long(values: str) -> None:
    """What starts within a moment is what is not imported: no figure depends on the machine."""
    script = (
        f"import sys; sys.path.insert(0, {str(ROOT)!r})\n"
        "from cli.main import main\nfrom cli.terminal import CommandTerminal\n"
        f"main(['generate', '-f', {values!r}], CommandTerminal())\n"
        "print({name.partition('.')[0] for name in sys.modules} - {*sys.stdlib_module_names},"
        " file=sys.stderr)"
    )
    command = [sys.executable, "-I", "-c", script]
    ended = subprocess.run(command, capture_output=True, text=True, check=True)
    loaded = {each for each in eval(ended.stderr) if not each.startswith("_")}
    of_pydantic = {"annotated_types", "pydantic", "pydantic_core", "typing_extensions"}
    assert loaded == {"cli", "shared", "ruamel", "typing_inspection"} | of_pydantic
