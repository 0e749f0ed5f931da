"""Validate manifests by the webhook's rules, without a cluster or by the server's dry run."""
