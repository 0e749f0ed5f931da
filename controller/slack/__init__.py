"""Adjusts the lending limits of the slack ClusterQueue to the capacity that nodes can offer."""
