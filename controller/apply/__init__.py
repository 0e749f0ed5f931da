"""Performs the actions of a decision; only this package writes AppWrappers and components."""
