"""What a cluster offers to whoever uses it or installs something into it, while it runs.

Who one is there, how one asks its API server, and how one tells that something answers.
"""
