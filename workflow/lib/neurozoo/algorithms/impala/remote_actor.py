"""A rank that only acts: it plays rollouts for a learner with the weights that the learner sends."""

import numpy as np

from neurozoo.algorithms.impala.collector import unrolls_of
from neurozoo.algorithms.impala.network import ActingNetwork
from neurozoo.algorithms.impala.player import Player, named
from neurozoo.algorithms.impala.playing import MakeEnvironments
from neurozoo.algorithms.impala.settings import ImpalaSettings
from neurozoo.algorithms.impala.team import Team
from neurozoo.compute.mpi import LEADER, Ranks
from neurozoo.environments.observations import byte_scale
from neurozoo.environments.protocols import Protocol
from neurozoo.networks.keras_networks import KerasLayout
from neurozoo.randomness import Entropy, Purpose, generator


def act_for_a_learner(
    settings: ImpalaSettings,
    *,
    entropy: Entropy,
    layout: KerasLayout,
    protocol: Protocol,
    make_environments: MakeEnvironments,
    ranks: Ranks,
) -> None:
    """Does what rank 0 orders, until it lets this rank end. The arguments are those of `ImpalaLearner`.

    Raises:
        NeurozooError: Another rank does not answer, or the environments cannot be made.
    """
    team = Team(settings.learners, settings.actors, settings.num_envs)
    learner = team.learner_of(ranks.index)
    ranks.group(range(settings.learners))  # all ranks make it together
    network = ActingNetwork(layout, random=generator(entropy, Purpose.INITIAL_WEIGHTS), byte_scale=byte_scale(protocol))
    player = Player(
        settings,
        entropy=entropy,
        layout=layout,
        protocol=protocol,
        forward=network.act,
        make_environments=make_environments,
        environments=team.environments_of(ranks.index),
    )
    state, arrays = ranks.receive(LEADER)
    network.set_theta(arrays["network-acting"])
    if state:
        player.set_state(state["player"], named("player", arrays))
    try:
        while (order := ranks.next_order()) != "stop":
            match order:
                case "play":
                    games = player.play_rollout()
                    ranks.send(learner, {"games": [list(game) for game in games]}, unrolls_of(player.rollout))
                case "finish":
                    facts, arrays = ranks.receive(learner)
                    network.set_theta(np.asarray(arrays["theta"]))
                    player.next_rollout(facts["version"])
                case "state":
                    own = {f"player-{name}": each for name, each in player.get_arrays().items()}
                    ranks.send(LEADER, {"player": player.get_state()}, own)
    finally:
        player.close()
