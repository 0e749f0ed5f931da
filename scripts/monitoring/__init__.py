"""Writes deploy/monitoring, alerts and a dashboard, from one table."""
