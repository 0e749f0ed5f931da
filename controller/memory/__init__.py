"""The memory that this process has of each AppWrapper. It is empty after a restart."""
