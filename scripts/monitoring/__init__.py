"""Alerts and a dashboard as files: one table, and what writes deploy/monitoring from it."""
