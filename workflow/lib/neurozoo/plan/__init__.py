"""From a configuration to planned runs and the files that each of them makes."""
