"""Benchmarks: speed and memory, compared with the machine's limits and with other tools."""

from neurozoo.benchmark.report import as_text, write_page
from neurozoo.benchmark.suite import GAMES, NETWORKS, run_benchmark

__all__ = ["GAMES", "NETWORKS", "as_text", "run_benchmark", "write_page"]
