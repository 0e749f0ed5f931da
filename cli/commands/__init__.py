"""One file per command: its options, and the way from them to a report and its words."""
