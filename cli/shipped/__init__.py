"""What ships with the command as data, so that it judges without a cluster."""
