"""The API server's own schema of pod templates, and decoding by that schema."""
