"""Data that ships with the command, for checks without a cluster."""
