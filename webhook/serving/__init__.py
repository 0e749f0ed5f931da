"""Serve over TLS, from the first connection to the last."""
