"""One module per command: its DESCRIPTION, `add_arguments` for its options, and `run`."""
