"""Pure update rules: they ask for episodes and are told the results; they know no files and no evaluators."""
