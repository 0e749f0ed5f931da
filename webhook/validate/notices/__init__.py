"""What the webhook warns of and lets pass: one pure rule per file.

kubectl prints a warning as `Warning: TEXT`; the API server cuts it at 256 characters.
"""
