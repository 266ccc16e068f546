"""What runs leave to be read: logs, metrics, tables, statistics, lineages and reference curves."""
