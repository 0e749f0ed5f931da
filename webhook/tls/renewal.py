"""When certificates are replaced. Pure arithmetic."""

from datetime import datetime, timedelta
from typing import Final

from cryptography.x509 import Certificate

# Certificates begin in the past: a server whose clock is behind must not find them not yet valid.
BACKDATED: Final = timedelta(minutes=5)


def due_at(certificate: Certificate) -> datetime:
    """When two thirds of its life are over; from then on it is to be replaced."""
    life = certificate.not_valid_after_utc - certificate.not_valid_before_utc
    return certificate.not_valid_before_utc + life * 2 / 3


def is_to_come(certificate: Certificate, now: datetime) -> bool:
    """Whether it is not valid yet: whoever made it was ahead of the time."""
    return now < certificate.not_valid_before_utc


def made_at(certificate: Certificate) -> datetime:
    """When it was made, if by us."""
    return certificate.not_valid_before_utc + BACKDATED
