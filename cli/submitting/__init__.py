"""Create AppWrappers from manifests and follow them: `appwrapper submit`."""
