"""Gather the facts that rules need: the only part of checking a request that does I/O."""
