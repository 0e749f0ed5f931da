"""Decide the next step in a certificate's life and compute its result: values in, values out."""
