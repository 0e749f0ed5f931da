import pytest

from shared.config.configuration import Configuration
from shared.config.loading import ConfigError, parse_config
from shared.config.validation import validate


def test_the_defaults_are_valid() -> None:
    assert validate(Configuration()) == []


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("admissionGracePeriod", "5m1s"),
        ("warmupGracePeriod", "24h0.001s"),
        ("failureGracePeriod", "-1s"),
        ("unreachableGracePeriod", "24h1s"),
        ("resetPause", "25h"),
        ("deletionOnFailureGracePeriod", "-1us"),
        ("deletionGracePeriod", "7d"),
        ("gracePeriodCeiling", "0s"),
        ("successTTLCeiling", "0s"),
        ("retryLimit", "-1"),
    ],
)
def test_limits_of_fault_tolerance_are_named(key: str, value: str) -> None:
    with pytest.raises(ConfigError) as error:
        parse_config(f"appwrapper: {{faultTolerance: {{{key}: {value}}}}}", "c")
    assert any(
        problem.startswith(f"c:1: appwrapper.faultTolerance.{key}: Invalid value: ")
        for problem in error.value.problems
    )


@pytest.mark.parametrize("value", ["0s", "24h"])
def test_grace_periods_may_reach_their_limits(value: str) -> None:
    parse_config(f"appwrapper: {{faultTolerance: {{failureGracePeriod: {value}}}}}")


EVERYTHING_WRONG = """
appwrapper:
  autopilot:
    preferNoScheduleWeight: 0
    resourceTaints:
      "bad resource": [{key: "", value: "-", effect: NoSchedule}]
  faultTolerance:
    errorAggregation:
      settlePeriod: -1s
      maxFiles: 0
  schedulerName: Bad_Name
  slackQueue: {name: Slack}
  allowedKinds: {direct: ["*"], wrapped: [batch/job, "a/b/C", "Bad_/Kind", Pod]}
  teamNamespaceSelector:
    matchLabels: {"a b": "-"}
  exemptions: {quotaManagers: [""], serviceAccountNamespaces: [A]}
  maxPodSets: 19
  stabilityPeriod: -1s
  settlePeriod: -2s
  flapPeriod: -3s
  maxObjectSize: 0
  nodeHealth: {latch: -1s}
  resetRateLimit: {perSecond: 0, burst: 0}
  evacuationBreaker: {percent: 0, minimumNodes: 0, window: 0}
controllerManager:
  metrics: {bindAddress: "0"}
  health: {bindAddress: ":70000"}
  webhook: {bindAddress: "0", drainPeriod: 601s}
"""

EVERY_PROBLEM = [
    "c:4: appwrapper.autopilot.preferNoScheduleWeight: Invalid value: 0: must be from 1 to 100",
    'c:6: appwrapper.autopilot.resourceTaints.bad resource: Invalid value: "bad '
    'resource": must be the name of a resource, such as nvidia.com/gpu',
    'c:6: appwrapper.autopilot.resourceTaints.bad resource[0].key: Invalid value: "": '
    "must be the key of a node label",
    'c:6: appwrapper.autopilot.resourceTaints.bad resource[0].value: Invalid value: "-": '
    "must be a label's value",
    'c:9: appwrapper.faultTolerance.errorAggregation.settlePeriod: Invalid value: "-1s": '
    "must not be negative",
    "c:10: appwrapper.faultTolerance.errorAggregation.maxFiles: Invalid value: 0: must "
    "be at least 1",
    'c:11: appwrapper.schedulerName: Invalid value: "Bad_Name": must be the name of an '
    "object: lower case letters, digits, '-' and '.'",
    'c:12: appwrapper.slackQueue.name: Invalid value: "Slack": must be the name of an '
    "object: lower case letters, digits, '-' and '.'",
    'c:13: appwrapper.allowedKinds.wrapped[0]: Invalid value: "batch/job": must be '
    "group/Kind (batch/Job), Kind in the core group (Pod), or '*'",
    'c:13: appwrapper.allowedKinds.wrapped[1]: Invalid value: "a/b/C": must be '
    "group/Kind (batch/Job), Kind in the core group (Pod), or '*'",
    'c:13: appwrapper.allowedKinds.wrapped[2]: Invalid value: "Bad_/Kind": must be '
    "group/Kind (batch/Job), Kind in the core group (Pod), or '*'",
    'c:15: appwrapper.teamNamespaceSelector.matchLabels.a b: Invalid value: "a b": must '
    "be the key of a label",
    'c:15: appwrapper.teamNamespaceSelector.matchLabels.a b: Invalid value: "-": must be '
    "a label's value",
    'c:16: appwrapper.exemptions.quotaManagers[0]: Invalid value: "": must be a user\'s name',
    'c:16: appwrapper.exemptions.serviceAccountNamespaces[0]: Invalid value: "A": must '
    "be the name of a namespace",
    "c:17: appwrapper.maxPodSets: Invalid value: 19: must be from 1 to 18, what Kueue's "
    "Workload can hold",
    'c:18: appwrapper.stabilityPeriod: Invalid value: "-1s": must not be negative',
    'c:19: appwrapper.settlePeriod: Invalid value: "-2s": must not be negative',
    'c:20: appwrapper.flapPeriod: Invalid value: "-3s": must not be negative',
    "c:21: appwrapper.maxObjectSize: Invalid value: 0: must be from 1 to 3Mi, what the "
    "API server can take",
    'c:22: appwrapper.nodeHealth.latch: Invalid value: "-1s": must not be negative',
    "c:23: appwrapper.resetRateLimit.perSecond: Invalid value: 0: must be more than 0 "
    "(pauseResets stops resets)",
    "c:23: appwrapper.resetRateLimit.burst: Invalid value: 0: must be at least 1",
    "c:24: appwrapper.evacuationBreaker.percent: Invalid value: 0: must be from 1 to 100",
    "c:24: appwrapper.evacuationBreaker.minimumNodes: Invalid value: 0: must be at least 1",
    "c:24: appwrapper.evacuationBreaker.window: Invalid value: 0: must be longer than 0s",
    'c:27: controllerManager.health.bindAddress: Invalid value: ":70000": must be '
    "host:port or :port, with a port from 0 to 65535",
    'c:28: controllerManager.webhook.bindAddress: Invalid value: "0": must be an '
    "address: the webhook has to listen",
    'c:28: controllerManager.webhook.drainPeriod: Invalid value: "601s": must be from 0s to 10m',
]

# What depends on two values is checked once each value is right.
CONFLICTS = """
appwrapper:
  faultTolerance:
    gracePeriodCeiling: 1m
    admissionGracePeriod: 2m
    warmupGracePeriod: 1m
    deletionGracePeriod: 1m
    resetPause: 1m
    errorAggregation:
      stores: {"-": nowhere}
  teamNamespaceSelector:
    matchExpressions:
    - {key: a, operator: In}
    - {key: b, operator: Exists, values: [x]}
"""

EVERY_CONFLICT = [
    'c:5: appwrapper.faultTolerance.admissionGracePeriod: Invalid value: "2m": must be '
    "from 0s to gracePeriodCeiling (1m)",
    'c:5: appwrapper.faultTolerance.admissionGracePeriod: Invalid value: "2m": must not '
    "exceed warmupGracePeriod (1m)",
    'c:10: appwrapper.faultTolerance.errorAggregation.stores[-]: Invalid value: "-": '
    "must be a name that an annotation holds",
    "c:10: appwrapper.faultTolerance.errorAggregation.stores[-]: Invalid value: must be "
    "a URL, such as s3://bucket/path",
    "c:12: appwrapper.teamNamespaceSelector.matchExpressions[0].values: Required value: "
    "operator In needs values",
    "c:12: appwrapper.teamNamespaceSelector.matchExpressions[1].values: Forbidden: "
    "operator Exists takes no values",
]


@pytest.mark.parametrize(
    ("text", "problems"), [(EVERYTHING_WRONG, EVERY_PROBLEM), (CONFLICTS, EVERY_CONFLICT)]
)
def test_every_error_is_reported_at_once(text: str, problems: list[str]) -> None:
    with pytest.raises(ConfigError) as error:
        parse_config(text, "c")
    assert error.value.problems == problems


@pytest.mark.parametrize("nowhere", ["", "0"])
def test_metrics_and_probes_may_listen_nowhere_the_webhook_may_not(nowhere: str) -> None:
    off = f"{{bindAddress: '{nowhere}'}}"
    parse_config(f"controllerManager: {{metrics: {off}, health: {off}}}", "c")
    with pytest.raises(ConfigError) as error:
        parse_config(f"controllerManager: {{webhook: {off}}}", "c")
    assert error.value.problems == [
        f'c:1: controllerManager.webhook.bindAddress: Invalid value: "{nowhere}": '
        "must be an address: the webhook has to listen"
    ]


@pytest.mark.parametrize("period", ["0s", "10m"])
def test_a_drain_period_from_nothing_to_ten_minutes_is_accepted(period: str) -> None:
    parse_config(f"controllerManager: {{webhook: {{drainPeriod: {period}}}}}", "c")


@pytest.mark.parametrize(("size", "right"), [("1", True), ("3Mi", True), (3 * 2**20 + 1, False)])
def test_the_largest_object_is_one_that_the_api_server_can_take(size: object, right: bool) -> None:
    text = f"appwrapper: {{maxObjectSize: {size}}}"
    if right:
        parse_config(text, "c")
        return
    with pytest.raises(ConfigError) as error:
        parse_config(text, "c")
    assert error.value.problems == [
        "c:1: appwrapper.maxObjectSize: Invalid value: 3145729: "
        "must be from 1 to 3Mi, what the API server can take"
    ]


def test_counted_resources_are_names_of_resources() -> None:
    with pytest.raises(ConfigError) as error:
        parse_config('appwrapper: {countedResources: [cpu, example.com/a, "a b"]}', "c")
    assert error.value.problems == [
        'c:1: appwrapper.countedResources[2]: Invalid value: "a b": must be the name of a '
        "resource, such as nvidia.com/gpu"
    ]


def test_resource_claims_are_refused_or_warned_of() -> None:
    with pytest.raises(ConfigError) as error:
        parse_config("appwrapper: {resourceClaims: Allow}", "c")
    assert error.value.problems == [
        'c:1: appwrapper.resourceClaims: Invalid value: "Allow": '
        "must be 'Reject', 'Warn' or 'Count'"
    ]
