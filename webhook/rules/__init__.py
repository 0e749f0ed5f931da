"""What the webhook does: rules by topic, in the order of `webhook.chain`. Pure."""
