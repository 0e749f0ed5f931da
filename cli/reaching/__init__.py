"""Reach into a running pod: `appwrapper shell` and `appwrapper port-forward`."""
