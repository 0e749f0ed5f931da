"""From a values file to an AppWrapper around a PyTorchJob: `appwrapper generate`. Pure.

The keys are those of the MLBatch chart `pytorchjob-generator`, with the same results; what differs
is listed in docs/users/generate.md.
"""
