"""Load: admission reviews straight to a webhook, and AppWrappers through the API server."""
