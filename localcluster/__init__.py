"""A real Kubernetes on this machine, for the demo and the tests. Never imported by the product."""
