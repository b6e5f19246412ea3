"""The statements of some benchmarks, timed by torch itself: an ASV suite for tests/integration/test_agreement.py."""
