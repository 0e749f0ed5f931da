"""The checks of `appwrapper check`: gather and installed read the cluster, the others check it."""
