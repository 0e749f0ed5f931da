"""Apply the webhook's own rules to objects, without a cluster."""
