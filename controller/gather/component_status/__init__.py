"""What each Kind's own status says of its end and its trouble: one file per Kind, one table."""
