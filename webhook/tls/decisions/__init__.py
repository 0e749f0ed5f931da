"""What the next step in a certificate's life is, and what it makes: values in, values out."""
