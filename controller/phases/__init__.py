"""The phase machine: pure decisions, no I/O. Entry point: `decide.decide`."""
