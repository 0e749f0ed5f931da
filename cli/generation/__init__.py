"""Generate an AppWrapper with a PyTorchJob from a values file: `appwrapper generate`. Pure.

The MLBatch chart `pytorchjob-generator` has the same keys and results. docs/users/generate.md lists
the differences.
"""
