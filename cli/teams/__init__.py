"""Manage teams for `appwrapper team`: their namespace, quota, queue and users."""
