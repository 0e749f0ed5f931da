"""Make, renew and serve the webhook's certificate."""
