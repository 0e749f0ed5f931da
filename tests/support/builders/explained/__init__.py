"""Situations of AppWrappers as the API server would show them, for `appwrapper explain`."""
