"""Builds the Snapshot that a decision is based on, by reads alone; raises if reads fail."""
