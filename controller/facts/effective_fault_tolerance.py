"""The operator's configuration and an AppWrapper's annotations, as effective values.

The webhook warns of bad values or rejects them. The controller limits the remaining ones here.
"""

from datetime import timedelta
from hashlib import blake2b
from typing import Any, Final

from controller.phases.snapshot import FaultTolerance
from shared.annotations import LONGEST_POD_GRACE, table_for
from shared.api.appwrapper import AppWrapper
from shared.config.configuration import AppWrapperConfig
from shared.config.fault_tolerance import LONGEST_EXTENSION

# How long one AppWrapper pauses between two attempts.
#
# Workloads that fail together, for example by a file system outage, would restart together. So each
# pause is up to a tenth longer, by a hash that is the same in every pass.

_DIGEST_SIZE: Final = 4  # bytes
_LARGEST: Final = 2 ** (8 * _DIGEST_SIZE) - 1


def spread_out(pause: timedelta, uid: str, attempt: int) -> timedelta:
    """Return `pause` plus up to a tenth of it; a zero pause remains zero."""
    digest = blake2b(f"{uid}/{attempt}".encode(), digest_size=_DIGEST_SIZE).digest()
    share = int.from_bytes(digest, "big") / _LARGEST
    return pause + share * LONGEST_EXTENSION * pause


def effective_fault_tolerance(appwrapper: AppWrapper, config: AppWrapperConfig) -> FaultTolerance:
    """Return the effective values: the default for malformed ones, zero for negative ones.

    A value that is too large becomes the limit. `spread_out` then extends the pause.
    """
    annotations, defaults = appwrapper.annotations, config.fault_tolerance
    table = table_for(appwrapper.labels, is_being_deleted=appwrapper.deletion_requested)
    values: dict[str, Any] = {each.sets: each.read(annotations, defaults) for each in table}
    asked = values.pop("retry_pause")
    return FaultTolerance(
        **values,
        retry_pause=spread_out(asked, appwrapper.uid, appwrapper.attempt),
        asked_retry_pause=asked,
        longest_pod_grace=LONGEST_POD_GRACE.read(annotations, defaults),
        stability_period=config.stability_period,
        settle_period=config.settle_period,
        flap_period=config.flap_period,
        remember_suspects=config.suspect_nodes != "Off",
        record_settle=defaults.error_aggregation.settle_period,
        store_timeout=defaults.error_aggregation.read_timeout,
    )
