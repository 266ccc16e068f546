"""Agents as files: checkpoints, frozen models, imports, exports, scores and the list of all of them."""
