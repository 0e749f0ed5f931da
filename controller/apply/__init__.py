"""Writes only: performs the actions a decision asked for."""
