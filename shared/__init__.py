"""The bottom layer: API names and views, pod sets, injection, configuration, the API server's door."""
