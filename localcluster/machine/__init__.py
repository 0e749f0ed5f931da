"""The machine's programs, files, locks, ports and terminal, as a local cluster uses them.

The other packages here build on it; it uses none of them and nothing of Kubernetes.
"""
