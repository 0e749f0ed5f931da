"""Judges objects by the webhook's own rules, without a cluster."""
