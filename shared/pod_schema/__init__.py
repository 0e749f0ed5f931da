"""What a pod template may hold, as the API server itself says it, and decoding by that."""
