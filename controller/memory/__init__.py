"""What this process remembers of each AppWrapper; nothing of it survives a restart."""
