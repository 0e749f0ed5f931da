"""A certificate that nobody trusts, so that probes get an answer while there is no other.

The kubelet verifies no certificates; API servers do, and refuse this one as they would refuse a
handshake that fails.
"""

from datetime import datetime, timedelta
from typing import Final

from webhook.tls.authority import AuthorityName, issue_leaf, make_authority, new_key
from webhook.tls.key_pair import KeyPair

_NAME: Final = "no-certificate-yet"
_LIFE: Final = timedelta(days=3650)  # a process that waits as long has other problems


def make_stopgap(now: datetime) -> KeyPair:
    """A new one. Its CA's key is forgotten at once."""
    authority = make_authority(AuthorityName(_NAME, _NAME), _LIFE, now, new_key())
    return issue_leaf(authority, (_NAME,), _LIFE, now, new_key())
