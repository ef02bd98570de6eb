"""One module for each provider's way to write calls and results."""
