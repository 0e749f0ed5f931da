"""The interfaces of a running cluster, for its users and for installers.

They cover identities, requests to the API server, and readiness probes.
"""
