"""One HTML page on which a modular agent plays the river crossing task; it works offline in any browser.

The page holds the core as WebAssembly (`native/browser.py`) and the agent's weights. It loads nothing and learns
nothing: what it shows is what the core computes.
"""

import os
from typing import Any

from neurozoo.agents.checkpoint import Checkpoint, read_checkpoint
from neurozoo.environments.game_networks import check_browser, layout_of
from neurozoo.environments.game_titles import game_title
from neurozoo.files import write_text
from neurozoo.files.templates import STATIC, environment
from neurozoo.native.browser import read_module
from neurozoo.networks.native_plan import native_plan, plan_scales


def write_play_page(checkpoint: str | os.PathLike, output: str | os.PathLike) -> None:
    """Writes a page with an agent that plays, and whose world one can change.

    Raises:
        NeurozooError: The checkpoint is missing or damaged, or is of no agent that can be played so.
    """
    agent = read_checkpoint(checkpoint)
    check_browser(agent.title, model=agent.model)
    page = (
        environment()
        .get_template("play.html")
        .render(
            title=game_title(agent.game),
            who=f"{agent.algo} · {agent.model.replace('_', ' ')} · run {agent.run}",
            agent=agent_of_page(agent),
            module=read_module(),
            script=(STATIC / "play.js").read_text(encoding="utf-8"),
        )
    )
    write_text(output, page)


def agent_of_page(agent: Checkpoint) -> dict[str, Any]:
    """Returns what `river_open` of native/browser/river.cc takes: plan, scales and weights, as lists of numbers."""
    layout = layout_of(agent.game, agent.model, agent.protocol)
    plan, scales = native_plan(layout), plan_scales(layout)
    return {"layers": len(plan), "plan": plan.ravel().tolist(), "scales": scales.ravel().tolist(),
            "weights": agent.theta.tolist()}  # fmt: skip
