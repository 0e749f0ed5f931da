"""Informers log what they wait for: that would stand between the lines that the user reads."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from shared.kube.informer import Informer


@contextmanager
def silent_informers() -> Iterator[None]:
    """Informers log nothing inside the context."""
    log = logging.getLogger(Informer.__module__)
    log.disabled = True
    try:
        yield
    finally:
        log.disabled = False
