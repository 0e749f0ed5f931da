"""Implement the webhook's rules by topic; `webhook.chain` orders them. Pure."""
