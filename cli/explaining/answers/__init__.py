"""One function per situation. `chain` tries them in order and uses the first that applies."""
