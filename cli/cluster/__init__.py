"""Read the cluster for check, explain and team: one reader, and views of what it reads."""
