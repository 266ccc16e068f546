"""A rank that only acts: it plays rollouts for a learner with the weights that the learner sends."""

from neurozoo.algorithms.impala.network import ActingNetwork
from neurozoo.algorithms.impala.player import Player
from neurozoo.algorithms.impala.rollouts import prefixed, unprefixed
from neurozoo.algorithms.impala.team import Team
from neurozoo.algorithms.learner import LearnerTask
from neurozoo.compute.mpi import LEADER, Ranks
from neurozoo.environments.observations import byte_scale


def act_for_a_learner(task: LearnerTask) -> None:
    """Does what rank 0 orders, until it lets this rank end."""
    settings, ranks = task.settings, task.ranks
    assert isinstance(ranks, Ranks)  # there are several
    team = Team(settings.learners, settings.actors, settings.num_envs)
    learner = team.learner_of(ranks.index)
    ranks.group(range(settings.learners))  # all ranks make it together
    state, arrays = ranks.receive(LEADER)
    network = ActingNetwork(task.layout, arrays["network-acting"], byte_scale=byte_scale(task.protocol))
    player = Player(task, network.act, team.environments_of(ranks.index))
    try:
        if state:
            player.set_state(state["player"], unprefixed("player", arrays))
        while (order := ranks.next_order()) != "stop":
            match order:
                case "play":
                    games = [list(game) for game in player.play_rollout()]
                    ranks.send(learner, {"games": games}, player.rollout.get_arrays(player.step))
                case "finish":
                    facts, arrays = ranks.receive(learner)
                    network.set_theta(arrays["theta"])
                    player.next_rollout(facts["version"])
                case "state":
                    ranks.send(LEADER, {"player": player.get_state()}, prefixed("player", player.get_arrays()))
    finally:
        player.close()
