"""A real node: containerd, kubelet, kube-proxy in namespaces that end with the cluster's process.

Outside them there is one end of a veth pair with its routes, and one directory per cgroup
hierarchy. No process, mount, bridge, sysctl or iptables rule of the node exists on the host.
"""

COMPONENTS = ("node", "pause")
"""The components to build for it, by their names in localcluster/programs/catalogue.py."""
