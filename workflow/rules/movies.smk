"""
Films rollouts: the game with its sound, one layer beside the game, and all runs of a game side by side.

REQUIRED INPUTS:

    record  = <results>/runs/{algo}/{game}/{model}/{run}/frozen/model.json
    keras   = <results>/runs/{algo}/{game}/{model}/{run}/frozen/model.keras
    rollout = <results>/runs/{algo}/{game}/{model}/{run}/rollout.npz

OUTPUTS:

    game    = <results>/runs/{algo}/{game}/{model}/{run}/game.mp4
    layer   = <results>/runs/{algo}/{game}/{model}/{run}/layer_{layer}.mp4
    grid    = <results>/movies/{game}.mp4

The first two exist of tagged moments of a run, too. What the configuration does not name under `movie` is made if it is
asked for by its path. The movie of all layers is the rule activation_movie in inspection.smk.
"""


rule game_movie:
    input:
        record="<results>/runs/{algo}/{game}/{model}/{run}/frozen/model.json",
        rollout="<results>/runs/{algo}/{game}/{model}/{run}/rollout.npz",
    output:
        movie=report(
            "<results>/runs/{algo}/{game}/{model}/{run}/game.mp4",
            caption="../report/game_movie.rst",
            category="Game movies",
            labels={"algorithm": "{algo}", "game": "{game}", "network": "{model}", "run": "{run}"},
        ),
    log:
        "<results>/runs/{algo}/{game}/{model}/{run}/logs/game_movie.log",
    wildcard_constraints:
        run=RUN_OR_TAG,
    conda:
        "../../envs/neurozoo.yaml"
    threads: 2  # drawing and encoding
    resources:
        mem_mb=1000,
        runtime="1h",
        terminal="bar" if len(PLANNED_RUNS) == 1 else "lines",  # side by side, bars would overwrite each other
    params:
        movie={key: config["movie"][key] for key in ("max_steps", "overlay")},
    script:
        "../scripts/game_movie.py"


rule layer_movie:
    input:
        keras="<results>/runs/{algo}/{game}/{model}/{run}/frozen/model.keras",
        record="<results>/runs/{algo}/{game}/{model}/{run}/frozen/model.json",
        rollout="<results>/runs/{algo}/{game}/{model}/{run}/rollout.npz",
    output:
        movie=report(
            "<results>/runs/{algo}/{game}/{model}/{run}/layer_{layer}.mp4",
            caption="../report/layer_movie.rst",
            category="Layer movies",
            labels={
                "algorithm": "{algo}",
                "game": "{game}",
                "network": "{model}",
                "run": "{run}",
                "layer": "{layer}",
            },
        ),
    log:
        "<results>/runs/{algo}/{game}/{model}/{run}/logs/layer_movie_{layer}.log",
    wildcard_constraints:
        run=RUN_OR_TAG,
    conda:
        "../../envs/neurozoo.yaml"
    threads: 2  # drawing and encoding
    resources:
        mem_mb=3000,
        runtime="1h",
        terminal="bar" if len(PLANNED_RUNS) == 1 else "lines",
    params:
        movie={key: config["movie"][key] for key in ("fps", "max_steps", "overlay")},
    script:
        "../scripts/layer_movie.py"


rule movie_grid:
    input:
        records=lambda wildcards: planned("frozen/model.json", runs_of(wildcards)),
        rollouts=lambda wildcards: planned("rollout.npz", runs_of(wildcards)),
    output:
        movie=report(
            "<results>/movies/{game}.mp4",
            caption="../report/movie_grid.rst",
            category="Games side by side",
            labels={"game": "{game}"},
        ),
    log:
        "<results>/logs/movie_grid_{game}.log",
    conda:
        "../../envs/neurozoo.yaml"
    threads: 2  # drawing and encoding
    resources:
        mem_mb=2000,
        runtime="1h",
        terminal="lines",
    params:
        movie={key: config["movie"][key] for key in ("fps", "max_steps", "overlay")},
    script:
        "../scripts/movie_grid.py"
