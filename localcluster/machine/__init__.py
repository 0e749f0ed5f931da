"""What a local cluster asks of this machine: programs, files, locks, ports, the terminal.

It is below everything else here, and knows nothing of Kubernetes.
"""
