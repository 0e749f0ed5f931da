"""What the webhook would say to manifests, without a cluster or by a server's dry run."""
