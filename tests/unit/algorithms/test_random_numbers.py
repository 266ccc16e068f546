"""Runs of different algorithms, games or networks draw independent random numbers."""

from dataclasses import replace

from neurozoo.algorithms.neuroevolution.genetic import GeneticAlgorithm
from neurozoo.algorithms.session import RunContext
from neurozoo.algorithms.settings import resolve_settings
from neurozoo.environments.game_networks import layout_of
from neurozoo.environments.protocols import protocol_of


def test_first_generations_of_two_algorithms_or_games_have_no_genome_in_common(tmp_path):
    def first_generation(algo, game):
        settings = resolve_settings(algo, preset="demo", overrides={"population_size": 200})
        context = RunContext(algo=algo, game=game, model="small", run=1, settings=settings, run_dir=tmp_path)
        protocol = protocol_of(game)
        layout = layout_of("pong", "small", protocol)  # as many parameters in both games
        noise = range(layout.parameter_count + 10_000_000)
        algorithm = GeneticAlgorithm(settings, entropy=context.entropy, layout=layout, noise=noise, protocol=protocol)
        return {episode.genome.initial for episode in algorithm.ask().episodes}

    context = RunContext(algo="ga", game="pong", model="small", run=1, settings=resolve_settings("ga", preset="demo"),
                         run_dir=tmp_path)  # fmt: skip
    others = replace(context, run=2), replace(context, settings=context.settings.changed({"seed": 1}))
    assert len({context.entropy, *(other.entropy for other in others)}) == 3
    ga, rs, boxing = (first_generation(*run) for run in (("ga", "pong"), ("rs", "pong"), ("ga", "boxing")))
    assert len(ga & rs) + len(ga & boxing) + len(rs & boxing) <= 2  # of ten million places, by chance
