"""Protects the cluster from too many resets: rate limit, pause, evacuation breaker, node health."""
