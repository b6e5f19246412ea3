"""A reproducible benchmark-and-bisect harness for PyTorch."""

__version__ = "0.1.0"
