"""Serving over TLS from the first connection to the last, and saying whether this replica can."""
