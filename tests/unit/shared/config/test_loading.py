from datetime import timedelta
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from shared.config.configuration import Configuration
from shared.config.loading import ConfigError, Override, load_config, parse_config


def problems(text: str) -> list[str]:
    with pytest.raises(ConfigError) as error:
        parse_config(text, "c.yaml")
    return error.value.problems


@pytest.mark.parametrize("text", ["", "# nothing\n", "{}", "appwrapper: null", "appwrapper: {}"])
def test_an_empty_configuration_is_every_default(text: str) -> None:
    loaded = parse_config(text)
    assert (loaded.config, loaded.warnings, loaded.origins) == (Configuration(), (), {})


def test_the_go_operators_keys_and_nanoseconds_are_read() -> None:
    loaded = parse_config(
        """
appwrapper:
  userRBACAdmissionCheck: false
  schedulerName: scheduler-plugins-scheduler
  faultTolerance:
    warmupGracePeriod: 600000000000
    resetPause: 2m
    deletionGracePeriod: 5m
    gracePeriodCeiling: 1d
    successTTLCeiling: 1h
""",
        "c.yaml",
    )
    appwrapper, limits = loaded.config.appwrapper, loaded.config.appwrapper.fault_tolerance
    assert appwrapper.user_rbac_admission_check is False
    assert appwrapper.scheduler_name == "scheduler-plugins-scheduler"
    assert limits.warmup_grace_period == timedelta(minutes=10)
    assert limits.retry_pause_period == timedelta(minutes=2)
    assert limits.forceful_deletion_grace_period == timedelta(minutes=5)
    assert limits.grace_period_maximum == timedelta(days=1)
    assert limits.success_ttl == timedelta(hours=1)
    assert loaded.origins[("appwrapper", "faultTolerance", "resetPause")] == "c.yaml:7"


def test_the_seeds_names_mean_the_same() -> None:
    loaded = parse_config(
        """
appwrapper:
  slackQueueName: slack-cluster-queue
  faultTolerance:
    retryPausePeriod: 2m
    forcefulDeletionGracePeriod: 5m
    gracePeriodMaximum: 1d
    successTTL: 1h
""",
        "c.yaml",
    )
    limits = loaded.config.appwrapper.fault_tolerance
    assert limits.retry_pause_period == timedelta(minutes=2)
    assert limits.forceful_deletion_grace_period == timedelta(minutes=5)
    assert limits.grace_period_maximum == timedelta(days=1)
    assert limits.success_ttl == timedelta(hours=1)
    assert loaded.config.appwrapper.slack_queue.name == "slack-cluster-queue"
    assert loaded.origins[("appwrapper", "slackQueue", "name")] == "c.yaml:3"


def test_a_configured_resource_keeps_the_taints_of_others() -> None:
    loaded = parse_config(
        "appwrapper: {autopilot: {resourceTaints: {amd.com/gpu: [{key: k, effect: NoExecute}]}}}"
    )
    assert list(loaded.config.appwrapper.autopilot.resource_taints) == [
        "nvidia.com/gpu",
        "amd.com/gpu",
    ]


def test_the_seeds_taints_replace_the_default_list() -> None:
    loaded = parse_config(
        """
appwrapper:
  autopilot:
    injectAntiAffinities: true
    monitorNodes: true
    resourceTaints:
      nvidia.com/gpu:
      - key: autopilot.ibm.com/gpuhealth
        value: ERR
        effect: NoSchedule
      - key: autopilot.ibm.com/gpuhealth
        value: EVICT
        effect: NoExecute
"""
    )
    taints = loaded.config.appwrapper.autopilot.resource_taints["nvidia.com/gpu"]
    assert [(taint.value, taint.effect) for taint in taints] == [
        ("ERR", "NoSchedule"),
        ("EVICT", "NoExecute"),
    ]


def test_keys_that_mean_nothing_here_are_warned_about() -> None:
    loaded = parse_config(
        """
webhooksEnabled: true
appwrapper:
  enableKueueIntegrations: true
  kueueJobReconciller:
    manageJobsWithoutQueueName: true
    waitForPodsReady: {enable: false}
  faultTolerance:
    errorAggregation: {skewTolerance: 2s}
controllerManager:
  enableHTTP2: false
""",
        "c.yaml",
    )
    assert loaded.config == Configuration()
    assert loaded.warnings == (
        "c.yaml:2: webhooksEnabled: ignored: "
        "the webhook is a deployment of its own: remove that instead",
        "c.yaml:4: appwrapper.enableKueueIntegrations: ignored: "
        "Kueue itself integrates AppWrappers",
        "c.yaml:5: appwrapper.kueueJobReconciller: ignored: Kueue's own configuration decides",
        "c.yaml:9: appwrapper.faultTolerance.errorAggregation.skewTolerance: ignored: "
        "the times of failures are compared as the nodes' clocks report them",
        "c.yaml:11: controllerManager.enableHTTP2: ignored: HTTP/2 is never offered",
    )


def test_settings_that_another_one_switches_off_are_warned_about() -> None:
    text = """
appwrapper:
  slackQueueName: slack
  nodeHealth:
    latch: 12h
  defaultQueueNameOnDirectKinds: true
  autopilot:
    preferNoScheduleWeight: 7
"""
    queueless = "c.yaml:6: appwrapper.defaultQueueNameOnDirectKinds: no effect: defaultQueueName is"
    assert parse_config(text, "c.yaml").warnings == (f"{queueless} empty",)
    off = f"{text}    monitorNodes: false\n    injectAntiAffinities: false\n"
    unwatched = "no effect: autopilot.monitorNodes is false"
    weight = "c.yaml:8: appwrapper.autopilot.preferNoScheduleWeight: no effect: autopilot."
    assert set(parse_config(off, "c.yaml").warnings) == {
        f"c.yaml:3: appwrapper.slackQueueName: {unwatched}",
        f"c.yaml:5: appwrapper.nodeHealth.latch: {unwatched}",
        f"{queueless} empty",
        f"{weight}injectAntiAffinities is false",
    }


def test_required_suspect_nodes_are_accepted_with_a_warning() -> None:
    loaded = parse_config("appwrapper: {suspectNodes: Required}", "c.yaml")
    assert loaded.config.appwrapper.suspect_nodes == "Required"
    warning = "c.yaml:1: appwrapper.suspectNodes: Required acts as Preferred"
    assert loaded.warnings == (warning,)
    assert parse_config("appwrapper: {suspectNodes: Preferred}", "c.yaml").warnings == ()


def test_unknown_keys_name_the_line_and_the_nearest_valid_one() -> None:
    text = """
appwrapper:
  schedulername: a
  retryLimit: 3
  faultTolerance:
    retyrLimit: 4
    bogus: 1
  autopilot:
    resourceTaints:
      nvidia.com/gpu:
      - {key: a, effect: NoSchedule, values: x}
autopilot:
  monitorNodes: true
"""
    prefix = "Forbidden: unknown key"
    assert problems(text) == [
        f"c.yaml:3: appwrapper.schedulername: {prefix}; "
        "the nearest valid one is appwrapper.schedulerName",
        f"c.yaml:4: appwrapper.retryLimit: {prefix}; "
        "the nearest valid one is appwrapper.faultTolerance.retryLimit",
        f"c.yaml:6: appwrapper.faultTolerance.retyrLimit: {prefix}; "
        "the nearest valid one is appwrapper.faultTolerance.retryLimit",
        f"c.yaml:7: appwrapper.faultTolerance.bogus: {prefix}",
        f"c.yaml:11: appwrapper.autopilot.resourceTaints[nvidia.com/gpu][0].values: {prefix}; "
        "the nearest valid one is appwrapper.autopilot.resourceTaints[nvidia.com/gpu][0].value",
        f"c.yaml:12: autopilot: {prefix}; the nearest valid one is appwrapper.autopilot",
    ]


def test_values_of_another_type_are_all_named() -> None:
    text = """
appwrapper:
  maxPodSets: "8"
  pauseResets: 1
  defaultQueueName: 5
  maxObjectSize: 1Zi
  gracePeriodMaximumPolicy: Ignore
  allowedKinds: {direct: [1], wrapped: Pod}
  resetRateLimit: {perSecond: .nan, burst: 1.0}
  faultTolerance:
    retryPausePeriod: 1x
    warmupGracePeriod: true
  teamNamespaceSelector: 2020-01-01
  autopilot:
    resourceTaints: {a.com/b: [{key: b}]}
controllerManager: [1]
"""
    durations = "must be a duration such as 90s, 1h30m or 7d, or a number of nanoseconds"
    found = problems(text)
    assert found == [
        'c.yaml:3: appwrapper.maxPodSets: Invalid value: "8": must be a valid integer',
        "c.yaml:4: appwrapper.pauseResets: Invalid value: 1: must be a valid boolean",
        "c.yaml:5: appwrapper.defaultQueueName: Invalid value: 5: must be a valid string",
        'c.yaml:6: appwrapper.maxObjectSize: Invalid value: "1Zi": '
        "must be a number of bytes, or a size such as 512Ki or 1Mi",
        'c.yaml:7: appwrapper.gracePeriodMaximumPolicy: Invalid value: "Ignore": '
        "must be 'Clamp' or 'Reject'",
        "c.yaml:8: appwrapper.allowedKinds.direct[0]: Invalid value: 1: must be a valid string",
        'c.yaml:8: appwrapper.allowedKinds.wrapped: Invalid value: "Pod": must be a valid array',
        "c.yaml:9: appwrapper.resetRateLimit.perSecond: Invalid value: NaN: "
        "must be a finite number",
        "c.yaml:9: appwrapper.resetRateLimit.burst: Invalid value: 1.0: must be a valid integer",
        'c.yaml:11: appwrapper.faultTolerance.retryPausePeriod: Invalid value: "1x": '
        "'1x' is not a duration such as 90s, 1h30m or 7d",
        f"c.yaml:12: appwrapper.faultTolerance.warmupGracePeriod: Invalid value: true: {durations}",
        'c.yaml:13: appwrapper.teamNamespaceSelector: Invalid value: "2020-01-01": '
        "must be an object",
        "c.yaml:15: appwrapper.autopilot.resourceTaints[a.com/b][0].effect: Required value: "
        "must be set",
        "c.yaml:16: controllerManager: Invalid value: [1]: must be an object",
    ]


def test_the_same_setting_under_two_names_is_refused() -> None:
    text = "appwrapper: {faultTolerance: {resetPause: 1m, retryPausePeriod: 2m}}"
    assert problems(text) == [
        "c.yaml:1: appwrapper.faultTolerance.retryPausePeriod: Duplicate value: "
        "appwrapper.faultTolerance.resetPause is another name of the same setting"
    ]


def test_errors_name_the_key_that_the_file_uses() -> None:
    assert problems("appwrapper:\n  faultTolerance:\n    retryPausePeriod: 25h\n") == [
        'c.yaml:3: appwrapper.faultTolerance.retryPausePeriod: Invalid value: "25h": '
        "must be from 0s to gracePeriodCeiling (24h)"
    ]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a: 1\na: 2\n", "c.yaml:2: the key 'a' is given twice"),
        ("1: 2\n", "c.yaml:1: a key must be text"),
        ("a: [\n", "c.yaml:2: expected the node content, but found '<stream end>'"),
        ("a: 1\n---\nb: 2\n", "c.yaml:2: but found another document"),
        ("- a\n", "c.yaml:1: the configuration must be a mapping of keys to values"),
        (
            "kind: ConfigMap\ndata: {}\n",
            "c.yaml:1: this is a ConfigMap; pass the text of its key config.yaml",
        ),
    ],
)
def test_a_malformed_configuration_is_refused(text: str, problem: str) -> None:
    assert problems(text) == [problem]


def test_a_flag_wins_over_the_file_and_is_its_origin() -> None:
    override = Override(("controllerManager", "webhook", "bindAddress"), ":1", "--port")
    loaded = parse_config("controllerManager: {webhook: {bindAddress: ':2'}}", "c", (override,))
    assert loaded.config.controller_manager.webhook.bind_address == ":1"
    assert loaded.origins == {("controllerManager", "webhook", "bindAddress"): "--port"}


def test_a_missing_or_unreadable_file_is_named(tmp_path: Path) -> None:
    for path, expected in {
        tmp_path / "none": "no such file; --config names the configuration",
        tmp_path: "cannot be read: Is a directory",
    }.items():
        with pytest.raises(ConfigError) as error:
            load_config(path)
        assert error.value.problems == [f"{path}: {expected}"]


_KEYS = st.sampled_from(
    [
        "appwrapper",
        "faultTolerance",
        "resetPause",
        "autopilot",
        "resourceTaints",
        "x",
        "allowedKinds",
    ]
)
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_KEYS, inner, max_size=4),
    max_leaves=12,
)


@given(_JSON)
def test_any_document_gives_a_configuration_or_problems(document: object) -> None:
    try:
        loaded = parse_config(yaml.safe_dump(document))
    except ConfigError as error:
        assert error.problems  # noqa: PT017  either outcome is right, but never an empty one
    else:
        assert isinstance(loaded.config, Configuration)
