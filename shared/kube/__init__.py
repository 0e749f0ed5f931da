"""The only door to the API server: credentials, requests, watches, discovery."""
