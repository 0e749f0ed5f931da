"""Every error and warning, whole: file, line, key, what is wrong, what to write."""

import json

import pytest

from cli.generation.generator import RefusedValues, generate

NAMED = "jobName: my-job\ncontainerImage: image\nmainProgram: train.py\n"
LABEL = (
    "at most 63 lower-case letters, digits and hyphens, no hyphen at either end, such as my-team"
)
OBJECT = "the name of an object: lower-case letters, digits, hyphens and dots, such as my-config"
ONE_SOURCE = "exactly one of value, secret, configmap, fieldRef and resourceFieldRef"


def problems(text: str) -> list[str]:
    """Of values that stand behind three right lines, without the file's name."""
    with pytest.raises(RefusedValues) as refused:
        generate([("f", NAMED + text)], [])
    return [each.removeprefix("f:") for each in refused.value.problems]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("namespace: Red", f'4: namespace: Invalid value: "Red": must be {LABEL}'),
        ('queueName: ""', f'4: queueName: Invalid value: "": must be {LABEL}'),
        (
            "priority: high",
            '4: priority: Invalid value: "high": must be default-priority, low-priority or'
            " high-priority",
        ),
        (
            "imagePullPolicy: always",
            '4: imagePullPolicy: Invalid value: "always": must be IfNotPresent, Always or Never',
        ),
        (
            "restartPolicy: ExitCode",
            '4: restartPolicy: Invalid value: "ExitCode": must be Never, Always or OnFailure',
        ),
        (
            "schedulerName: other",
            '4: schedulerName: Invalid value: "other": must be sakkara-scheduler, sakkara,'
            " scheduler-plugins-scheduler or default-scheduler",
        ),
        (
            "numPods: 0",
            "4: numPods: Invalid value: 0: must be a whole number from 1 on, such as 4",
        ),
        pytest.param(
            f"numPods: {'9' * 5000}",
            f"4: numPods: Invalid value: {'9' * 5000}: must be a whole number from 1 on, such as 4",
            id="too many digits for int",
        ),
        (
            "numPods: 1.5",
            "4: numPods: Invalid value: 1.5: must be a whole number from 1 on, such as 4",
        ),
        (
            'numGpusPerPod: "8"',
            '4: numGpusPerPod: Invalid value: "8": must be a whole number from 0 on, such as 4',
        ),
        (
            "numGpusPerPod: 010",
            "4: numGpusPerPod: Invalid value: 010: must be a whole number from 0 on, such as 4",
        ),
        (
            "numCpusPerPod: -1",
            "4: numCpusPerPod: Invalid value: -1: must be a quantity of CPUs that is not negative,"
            " such as 4, 0.5 or 500m",
        ),
        (
            "limitCpusPerPod: 4 cores",
            '4: limitCpusPerPod: Invalid value: "4 cores": must be a quantity of CPUs that is not'
            " negative, such as 4, 0.5 or 500m",
        ),
        (
            "totalMemoryPerPod: 512m",
            '4: totalMemoryPerPod: Invalid value: "512m": must be a quantity of memory of at least'
            " 1Mi, such as 1.5Gi, 200M or 1Ti",
        ),
        (
            "limitMemoryPerPod: much",
            '4: limitMemoryPerPod: Invalid value: "much": must be a quantity of memory, such as'
            " 1.5Gi, 200M or 1Ti",
        ),
        (
            "disableSharedMemory: yes",
            '4: disableSharedMemory: Invalid value: "yes": must be true or false',
        ),
        (
            "setupCommands: make",
            '4: setupCommands: Invalid value: "make": must be a list: write each item on a line'
            " that begins with -",
        ),
        (
            "setupCommands:\n- true",
            '5: setupCommands[0]: Invalid value: true: must be a text: write - "true"',
        ),
        (
            "mainProgram: 5",
            '4: mainProgram: Invalid value: 5: must be a text: write mainProgram: "5"',
        ),
        (
            'roceGdrResName: "roce"',
            '4: roceGdrResName: Invalid value: "roce": must be the name of an extended resource'
            " with its domain, such as nvidia.com/roce_gdr",
        ),
        (
            "ncclGdrEnvConfigMap: A_B",
            f'4: ncclGdrEnvConfigMap: Invalid value: "A_B": must be {OBJECT}',
        ),
        (
            "mountNVMe: {}",
            "4: mountNVMe.storage: Required value: must be set: write storage: 800Gi",
        ),
        (
            "mountNVMe: {storage: 0}",
            "4: mountNVMe.storage: Invalid value: 0: must be a quantity of storage, such as 800Gi",
        ),
        (
            "mountNVMe: 800Gi",
            '4: mountNVMe: Invalid value: "800Gi": must be a mapping with storage, mountPath and'
            " storageClassName",
        ),
        (
            "volumes:\n- name: a\n  claimName: b\n  mountPath: /a:b",
            '7: volumes[0].mountPath: Invalid value: "/a:b": must be a path in the container,'
            " without a colon, such as /data",
        ),
        (
            "volumes:\n- name: a\n  claimName: b\n  mountPath: /a\n  readOnly: true",
            "8: volumes[0].readOnly: Forbidden: unknown key; write name, claimName and mountPath",
        ),
        (
            "initContainers: [{name: a, image: b, command: []}]",
            "4: initContainers[0].command: Invalid value: a list: must not be empty: write"
            ' ["sh", "-c", "echo hello"]',
        ),
        (
            "hostIgnoreList: [a b]",
            '4: hostIgnoreList[0]: Invalid value: "a b": must be a label\'s value: at most 63'
            " letters, digits and -_. with a letter or digit at both ends",
        ),
        (
            "customLabels:\n  a: b\n  c: d e",
            '6: customLabels.c: Invalid value: "d e": must be a label\'s value: at most 63'
            " letters, digits and -_. with a letter or digit at both ends",
        ),
        (
            "customLabels:\n  a: null",
            "5: customLabels.a: Required value: must be set: write a: my-project",
        ),
        ("numPod: 4", "4: numPod: Forbidden: unknown key; the nearest one is numPods"),
        ("QUEUENAME: a", "4: QUEUENAME: Forbidden: unknown key; the nearest one is queueName"),
        (
            "entirelyDifferent: 4",
            "4: entirelyDifferent: Forbidden: unknown key; `appwrapper generate --example` shows"
            " all keys",
        ),
    ],
)
def test_a_wrong_value_is_refused_where_it_stands(text: str, expected: str) -> None:
    # A second mainProgram in the same file would be a key that is there twice.
    files = [("f", NAMED), ("g", "\n\n\n" + text)]
    with pytest.raises(RefusedValues) as refused:
        generate(files, [])
    assert refused.value.problems == (f"g:{expected}",)


def test_a_misspelt_key_that_must_be_set_is_named_and_asked_for() -> None:
    text = "volumes:\n- name: a\n  claimname: b\n  mountPath: /a"
    assert problems(text) == [
        "5: volumes[0].claimName: Required value: must be set: write claimName: my-claim",
        "6: volumes[0].claimname: Forbidden: unknown key; the nearest one is claimName",
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "admissionGracePeriodDuration: 60",
            "60: has no unit: write 60s for seconds, or 60m, h or d",
        ),
        (
            "warmupGracePeriodDuration: 5 minutes",
            '"5 minutes": must be a duration such as 90s, 1h30m or 7d',
        ),
        ("failureGracePeriodDuration: -1m", '"-1m": must not be negative'),
        ("successTTLDuration: 0s", '"0s": must be longer than 0s'),
        ("retryPausePeriodDuration: [1m]", "a list: must be a duration such as 90s, 1h30m or 7d"),
        ("retryLimit: -1", "-1: must be a whole number from 0 to 2147483647, such as 5"),
        (
            "terminalExitCodes: [0, 3]",
            "a list: must be exit codes from 1 to 255 with commas between them, such as 3,10,42",
        ),
        (
            'retryableExitCodes: ""',
            '"": must be exit codes from 1 to 255 with commas between them, such as 3,10,42',
        ),
    ],
)
def test_fault_tolerance_is_refused_in_the_webhooks_words(text: str, expected: str) -> None:
    assert problems(text) == [f"4: {text.partition(':')[0]}: Invalid value: {expected}"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "numGpusPerPod: 2\nlimitGpusPerPod: 4",
            "5: limitGpusPerPod: Invalid value: 4: must equal numGpusPerPod (2), because Kubernetes"
            " never gives a pod more GPUs than it requests: remove this key",
        ),
        (
            "limitCpusPerPod: 500m",
            "4: limitCpusPerPod: Invalid value: 500m: must be at least numCpusPerPod (1)",
        ),
        (
            "limitMemoryPerPod: 1G",
            "4: limitMemoryPerPod: Invalid value: 1G: must be at least totalMemoryPerPod (1Gi)",
        ),
        (
            "numRoceGdr: 2",
            "4: numRoceGdr: Invalid value: 2: must be 0 while numPods is 1: one pod needs no"
            " network",
        ),
        (
            "environmentVariables:\n- name: A",
            f"5: environmentVariables[0]: Required value: must have {ONE_SOURCE} (an empty value is"
            ' written value: "")',
        ),
        (
            "environmentVariables:\n- {name: A, value: '', secret: {name: b, key: c}}",
            "5: environmentVariables[0]: Forbidden: has value and secret: it must have"
            f" {ONE_SOURCE}",
        ),
        (
            "environmentVariables:\n- {name: A, value: 1}\n- {name: A, value: 2}",
            "6: environmentVariables[1].name: Duplicate value: A: environmentVariables[0] has it"
            " already",
        ),
        (
            "topologyFileConfigMap: a\nenvironmentVariables:\n- {name: NCCL_TOPO_FILE, value: 1}",
            "6: environmentVariables[0].name: Forbidden: NCCL_TOPO_FILE is set because of"
            " topologyFileConfigMap: remove one of them",
        ),
        (
            "envFrom: [{prefix: A_}]",
            "4: envFrom[0]: Required value: must have exactly one of secretRef and configMapRef",
        ),
        (
            "envFrom:\n- {secretRef: {name: a}, configMapRef: {name: b}}",
            "5: envFrom[0]: Forbidden: has secretRef and configMapRef: it must have exactly one of"
            " secretRef and configMapRef",
        ),
        (
            "customLabels:\n- {key: kueue.x-k8s.io/queue-name, value: red}",
            "5: customLabels[0]: Forbidden: kueue.x-k8s.io/queue-name is set by queueName: write"
            " queueName: red",
        ),
        (
            "customLabels:\n- {key: a, value: b}\n- {key: a, value: c}",
            "6: customLabels[1].key: Duplicate value: a: customLabels[0] has it already",
        ),
        (
            "volumes:\n- {name: dshm, claimName: a, mountPath: /a}",
            "5: volumes[0].name: Forbidden: the name dshm is used by this command: choose another",
        ),
        (
            "volumes:\n- {name: a, claimName: a, mountPath: /dev/shm}",
            "5: volumes[0].mountPath: Duplicate value: /dev/shm: disableSharedMemory is mounted"
            " there too",
        ),
        (
            "initContainers:\n- {name: pytorch, image: a, command: [ls]}",
            "5: initContainers[0].name: Forbidden: the name pytorch is that of the main container:"
            " choose another",
        ),
    ],
)
def test_values_that_do_not_fit_together_are_refused(text: str, expected: str) -> None:
    assert problems(text) == [expected]


def test_all_errors_are_reported_at_once_by_file_and_line_options_last() -> None:
    files = [("one", "numPods: 0\nnamespace: A"), ("two", "priority: p\ncontainerImage: i")]
    with pytest.raises(RefusedValues) as refused:
        generate(files, [("--set", "numGpusPerPod=x")])
    assert refused.value.problems == (
        "one:1: numPods: Invalid value: 0: must be a whole number from 1 on, such as 4",
        f'one:2: namespace: Invalid value: "A": must be {LABEL}',
        "two: jobName: Required value: must be set: write jobName: my-job",
        'two:1: priority: Invalid value: "p": must be default-priority, low-priority or'
        " high-priority",
        '--set: numGpusPerPod: Invalid value: "x": must be a whole number from 0 on, such as 4',
    )


@pytest.mark.parametrize(
    ("name", "is_right"),
    [
        ("a", True),
        ("a" * 50, True),
        ("a" * 51, False),
        ("1a", False),
        ("a-", False),
        ("a.b", False),
    ],
)
def test_the_jobs_name_fits_into_those_of_its_pods_and_services(name: str, is_right: bool) -> None:
    text = f'jobName: "{name}"\ncontainerImage: i'
    if is_right:
        assert generate([("f", text)], []).appwrapper["metadata"]["name"] == name
        return
    with pytest.raises(RefusedValues) as refused:
        generate([("f", text)], [])
    assert refused.value.problems == (
        f'f:1: jobName: Invalid value: "{name}": must be at most 50 lower-case letters, digits and'
        " hyphens, the first a letter, the last no hyphen, such as my-job",
    )


def test_a_job_that_does_nothing_gets_a_warning() -> None:
    made = generate([("f", "jobName: j\ncontainerImage: i")], [])
    assert made.warnings == (
        "f: neither mainProgram nor setupCommands is set: the job does nothing",
    )


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        (
            "train.py <<END\nlr: 1\nEND",
            "must have no here-document (<<), because its lines become one command: write the text"
            " to a file in setupCommands",
        ),
        ("# train.py\n\n", "must name a program: it has only blanks and comments"),
        (" ", "must name a program: it has only blanks and comments"),
    ],
)
def test_a_main_program_that_is_no_command_is_refused(program: str, expected: str) -> None:
    text = f"jobName: j\ncontainerImage: i\nmainProgram: {json.dumps(program)}"
    with pytest.raises(RefusedValues) as refused:
        generate([("f", text)], [])
    assert refused.value.problems == (f"f:3: mainProgram: Invalid value: {expected}",)


def test_a_here_string_is_no_here_document() -> None:
    text = "jobName: j\ncontainerImage: i\nmainProgram: train.py <<< $((1 << 2))"
    assert generate([("f", text)], []).warnings == ()


LEGACY = """\
bypassCoscheduler: true
priorityslope: 0.1
schedulingSpec:
  minAvailable: 4
  requeuing:
    timeInSeconds: 120
    pauseTimeInSeconds: 90
    maxNumRequeuings: 3
    forceDeletionTimeInSeconds: soon
    growthType: none
    somethingElse: 1
requeuing: {}
"""


def test_keys_of_older_generators_are_ignored_with_a_warning_each() -> None:
    made = generate([("f", NAMED + LEGACY)], [])
    assert made.appwrapper == generate([("f", NAMED)], []).appwrapper
    ignored = "ignored: a key of an older generator; "
    none = f"{ignored}it has no successor"
    requeuing = "schedulingSpec.requeuing"
    assert [each.removeprefix("f:") for each in made.warnings] == [
        f"4: bypassCoscheduler: {ignored}write schedulerName: default-scheduler",
        f"5: priorityslope: {none}",
        f"7: schedulingSpec.minAvailable: {none}",
        f"9: {requeuing}.timeInSeconds: {ignored}write warmupGracePeriodDuration: 120s",
        f"10: {requeuing}.pauseTimeInSeconds: {ignored}write retryPausePeriodDuration: 90s",
        f"11: {requeuing}.maxNumRequeuings: {ignored}write retryLimit: 3",
        f"12: {requeuing}.forceDeletionTimeInSeconds: {ignored}write"
        " forcefulDeletionGracePeriodDuration",
        f"13: {requeuing}.growthType: {none}",
        f"14: {requeuing}.somethingElse: {none}",
        f"15: requeuing: {none}",
    ]


def test_a_bypass_that_is_off_needs_no_successor() -> None:
    made = generate([("f", NAMED + "bypassCoscheduler: false")], [])
    assert made.warnings == (
        "f:4: bypassCoscheduler: ignored: a key of an older generator; it has no successor",
    )
