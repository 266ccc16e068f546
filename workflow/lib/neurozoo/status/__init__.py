"""The state of every run of a configuration, read from files alone."""

from neurozoo.status.overview import Overview, read_config, read_overview
from neurozoo.status.run_state import RunStatus, State
from neurozoo.status.table import as_text, show

__all__ = ["Overview", "RunStatus", "State", "as_text", "read_config", "read_overview", "show"]
