"""What `appwrapper check` looks at: gather and installed read the cluster, the others judge."""
