"""Coverage-guided fuzzing of the webhook: `make fuzz`. Its corpus is replayed by the unit tests."""
