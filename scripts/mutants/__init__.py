"""Check the tests with mutants: copies of the product with one plausible fault each."""
