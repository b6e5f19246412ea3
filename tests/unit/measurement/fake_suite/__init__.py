"""A tiny ASV suite without torch: benchmarks that behave, and benchmarks that do not."""
