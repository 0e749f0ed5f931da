"""`python -m bench --profile`: what a life costs, by request, function and write."""
