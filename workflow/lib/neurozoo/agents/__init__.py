"""Agents as files, and what is done with them.

`checkpoint` has the weights of a run, `playable_agent` what a run's folder can play, `frozen` what opens without this
package; `tagged_agents` are those of a run at its tags, `bundled_agents` come with the project, and `zoo_listing` finds
all frozen ones in a folder of results. `agent_import` and `export` know the formats of others.
"""
