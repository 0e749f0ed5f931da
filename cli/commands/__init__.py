"""One module per command: its options, its run and the output of its report."""
