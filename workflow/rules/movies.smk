"""
Makes movies: of all layers, one layer, the game with its sound, all runs of a game or some generations of a run.

REQUIRED INPUTS:

    record      = <results>/runs/{algo}/{game}/{model}/{run}/frozen/model.json
    keras       = <results>/runs/{algo}/{game}/{model}/{run}/frozen/model.keras
    rollout     = <results>/runs/{algo}/{game}/{model}/{run}/rollout.npz
    checkpoint  = <results>/runs/{algo}/{game}/{model}/{run}/checkpoint.npz
    records     = <results>/runs/{algo}/{game}/{model}/{run}/log.jsonl
    core        = results/native/libneurozoo_core.so
    noise       = <noise>/table.f32

OUTPUTS:

    activation  = <results>/runs/{algo}/{game}/{model}/{run}/activation.mp4
    loop        = <results>/runs/{algo}/{game}/{model}/{run}/loop.webp
    game        = <results>/runs/{algo}/{game}/{model}/{run}/game.mp4
    layer       = <results>/runs/{algo}/{game}/{model}/{run}/layer_{layer}.mp4
    landscape   = <results>/runs/{algo}/{game}/{model}/{run}/landscape.mp4
    grid        = <results>/movies/{game}.mp4
    generations = <results>/runs/{algo}/{game}/{model}/{run}/generations.mp4

Tagged moments of a run can have the first five, too. For what the configuration does not list under `movie` or
`generations`, request the file by its path. The frozen models and rollouts for generations.mp4 stay in
generations/{N}/. That folder is not a declared output, because it can also hold generations that were frozen by hand.
"""


rule activation_movie:
    """Films the game and all layers of the network."""
    input:
        keras="<results>/runs/{algo}/{game}/{model}/{run}/frozen/model.keras",
        record="<results>/runs/{algo}/{game}/{model}/{run}/frozen/model.json",
        rollout="<results>/runs/{algo}/{game}/{model}/{run}/rollout.npz",
    output:
        movie=report(
            "<results>/runs/{algo}/{game}/{model}/{run}/activation.mp4",
            caption="../report/activation_movie.rst",
            category="Activation movies",
            labels=RUN_LABELS,
        ),
    log:
        "<results>/runs/{algo}/{game}/{model}/{run}/logs/activation_movie.log",
    wildcard_constraints:
        run=RUN_OR_TAG,
    conda:
        "../../envs/neurozoo.yaml"
    threads: 2  # drawing and encoding
    resources:
        mem_mb=3000,
        runtime="1h",
        terminal=TERMINAL,
    params:
        movie={key: config["movie"][key] for key in ("layout", "theme", "rows", "fps", "max_steps")},
    script:
        "../scripts/activation_movie.py"


rule loop:
    """Cuts ten seconds of a movie that repeat."""
    input:
        movie="<results>/runs/{algo}/{game}/{model}/{run}/activation.mp4",
        rollout="<results>/runs/{algo}/{game}/{model}/{run}/rollout.npz",
    output:
        loop="<results>/runs/{algo}/{game}/{model}/{run}/loop.webp",
    log:
        "<results>/runs/{algo}/{game}/{model}/{run}/logs/loop.log",
    wildcard_constraints:
        run=RUN_OR_TAG,
    conda:
        "../../envs/neurozoo.yaml"
    resources:
        mem_mb=1000,
        runtime="30m",
    script:
        "../scripts/loop.py"


rule game_movie:
    """Films the game with all its frames and its sound."""
    input:
        record="<results>/runs/{algo}/{game}/{model}/{run}/frozen/model.json",
        rollout="<results>/runs/{algo}/{game}/{model}/{run}/rollout.npz",
    output:
        movie=report(
            "<results>/runs/{algo}/{game}/{model}/{run}/game.mp4",
            caption="../report/game_movie.rst",
            category="Game movies",
            labels=RUN_LABELS,
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
        terminal=TERMINAL,
    params:
        movie={key: config["movie"][key] for key in ("max_steps", "overlay")},
    script:
        "../scripts/game_movie.py"


rule landscape_movie:
    """Films how the landscape of a modular agent spreads."""
    input:
        keras="<results>/runs/{algo}/{game}/{model}/{run}/frozen/model.keras",
        record="<results>/runs/{algo}/{game}/{model}/{run}/frozen/model.json",
        rollout="<results>/runs/{algo}/{game}/{model}/{run}/rollout.npz",
    output:
        movie="<results>/runs/{algo}/{game}/{model}/{run}/landscape.mp4",
    log:
        "<results>/runs/{algo}/{game}/{model}/{run}/logs/landscape_movie.log",
    wildcard_constraints:
        run=RUN_OR_TAG,
    conda:
        "../../envs/neurozoo.yaml"
    threads: 2  # drawing and encoding
    resources:
        mem_mb=3000,
        runtime="1h",
        terminal=TERMINAL,
    params:
        movie={key: config["movie"][key] for key in ("theme", "max_steps")},
    script:
        "../scripts/landscape_movie.py"


rule layer_movie:
    """Films the game and one layer."""
    input:
        keras=plan.model_with_layer_of,
        record="<results>/runs/{algo}/{game}/{model}/{run}/frozen/model.json",
        rollout="<results>/runs/{algo}/{game}/{model}/{run}/rollout.npz",
    output:
        movie=report(
            "<results>/runs/{algo}/{game}/{model}/{run}/layer_{layer}.mp4",
            caption="../report/layer_movie.rst",
            category="Layer movies",
            labels={**RUN_LABELS, "layer": "{layer}"},
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
        terminal=TERMINAL,
    params:
        movie={key: config["movie"][key] for key in ("fps", "max_steps", "overlay")},
    script:
        "../scripts/layer_movie.py"


rule movie_grid:
    """Films all runs of a game side by side."""
    input:
        records=planned_of_game("frozen/model.json"),
        rollouts=planned_of_game("rollout.npz"),
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
        labels=plan.labels_of,
    script:
        "../scripts/movie_grid.py"


rule generations:
    """Films some generations of a run side by side."""
    input:
        **described(core="results/native/libneurozoo_core.so", noise="<noise>/table.f32"),
        checkpoint="<results>/runs/{algo}/{game}/{model}/{run}/checkpoint.npz",
        records="<results>/runs/{algo}/{game}/{model}/{run}/log.jsonl",
    output:
        movie=report(
            "<results>/runs/{algo}/{game}/{model}/{run}/generations.mp4",
            caption="../report/generations.rst",
            category="Generations",
            labels=RUN_LABELS,
        ),
    log:
        "<results>/runs/{algo}/{game}/{model}/{run}/logs/generations.log",
    conda:
        "../../envs/neurozoo.yaml"
    threads: 2  # drawing and encoding
    resources:
        mem_mb=4000,
        runtime="2h",
        terminal="bar" if len(filmed_runs(config)) == 1 else "lines",
    params:
        generations={key: value for key, value in config["generations"].items() if key != "experiments"},
    script:
        "../scripts/generations.py"
