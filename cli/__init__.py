"""The `appwrapper` command, also `kubectl appwrapper`."""
