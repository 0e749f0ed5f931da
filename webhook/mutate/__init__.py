"""What the webhook adds to an AppWrapper: one pure rule per file."""
