"""The bottom layer: API names and views, pod sets, injection, configuration, API server access."""
