"""What the webhook refuses: one pure rule per file."""
