"""Whether an exit code forbids a retry. Pure."""

from collections.abc import Iterable

from controller.phases.fault_tolerance import FaultTolerance


def is_terminal(codes: Iterable[int], config: FaultTolerance) -> bool:
    """Some code is listed as terminal, or a list of retryable ones exists and lacks it."""
    return any(
        code in config.terminal_exit_codes
        or (bool(config.retryable_exit_codes) and code not in config.retryable_exit_codes)
        for code in codes
    )
