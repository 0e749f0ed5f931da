"""Load: admission reviews sent directly to a webhook, and AppWrappers created in the API server."""
