"""What each Kind's own status says about its end: one file per Kind, one table."""
