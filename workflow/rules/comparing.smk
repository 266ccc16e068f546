"""
Compares the runs of a game.

REQUIRED INPUTS:

    keras      = <results>/runs/{algo}/{game}/{model}/{run}/frozen/model.keras
    record     = <results>/runs/{algo}/{game}/{model}/{run}/frozen/model.json
    rollout    = <results>/runs/{algo}/{game}/{model}/{run}/rollout.npz
    result     = <results>/runs/{algo}/{game}/{model}/{run}/result.json
    records    = <results>/runs/{algo}/{game}/{model}/{run}/log.jsonl

OUTPUTS:

    embedding  = <results>/comparisons/{game}/embedding.npz
    page       = <results>/comparisons/{game}/embedding.html
    facts      = <results>/comparisons/{game}/classification.json
    confusion  = <results>/comparisons/{game}/classification.{csv,png}
    population = <results>/runs/{algo}/{game}/{model}/{run}/population.html

The compared runs are the planned and imported ones of the configuration. For games that are not listed under
`comparisons`, request these files by their paths. The page of a run's populations is made only by its path, of a run with
record_population: true; training keeps population/, which is not a declared output.
"""


rule embed_states:
    """Embeds the states of a game's runs in a plane."""
    input:
        keras=planned_of_game("frozen/model.keras"),
        records=planned_of_game("frozen/model.json"),
        rollouts=planned_of_game("rollout.npz"),
    output:
        embedding="<results>/comparisons/{game}/embedding.npz",
    log:
        "<results>/comparisons/{game}/logs/embed_states.log",
    conda:
        "../../envs/neurozoo.yaml"
    resources:
        mem_mb=4000,
        runtime="1h",
    params:
        choices={name: config["comparisons"][name] for name in ("keys", "methods", "max_points", "seed")},
    script:
        "../scripts/embed_states.py"


rule embedding_page:
    """Makes a page to explore the embedded states."""
    input:
        embedding="<results>/comparisons/{game}/embedding.npz",
        keras=planned_of_game("frozen/model.keras"),
        records=planned_of_game("frozen/model.json"),
        rollouts=planned_of_game("rollout.npz"),
    output:
        page=report(
            "<results>/comparisons/{game}/embedding.html",
            caption="../report/embedding.rst",
            category="Comparisons",
            labels={"game": "{game}", "what": "States of all runs"},
        ),
    log:
        "<results>/comparisons/{game}/logs/embedding_page.log",
    conda:
        "../../envs/neurozoo.yaml"
    resources:
        mem_mb=3000,
        runtime="30m",
    script:
        "../scripts/embedding_page.py"


rule classify_states:
    """Tests whether a network can tell which agent made a state."""
    input:
        keras=planned_of_game("frozen/model.keras"),
        records=planned_of_game("frozen/model.json"),
        rollouts=planned_of_game("rollout.npz"),
    output:
        facts="<results>/comparisons/{game}/classification.json",
        csv="<results>/comparisons/{game}/classification.csv",
        figure=report(
            "<results>/comparisons/{game}/classification.png",
            caption="../report/classification.rst",
            category="Comparisons",
            labels={"game": "{game}", "what": "Who made a state"},
        ),
    log:
        "<results>/comparisons/{game}/logs/classify_states.log",
    conda:
        "../../envs/neurozoo.yaml"
    resources:
        mem_mb=6000,
        runtime="1h",
    params:
        choices={name: config["comparisons"][name] for name in ("by", "source", "seed")},
        bootstrap={name: config["statistics"][name] for name in ("replications", "confidence")},
    script:
        "../scripts/classify_states.py"


rule population_page:
    """Makes a page that shows a run's population in behaviour space."""
    input:
        result="<results>/runs/{algo}/{game}/{model}/{run}/result.json",
        records="<results>/runs/{algo}/{game}/{model}/{run}/log.jsonl",
    output:
        page="<results>/runs/{algo}/{game}/{model}/{run}/population.html",
    log:
        "<results>/runs/{algo}/{game}/{model}/{run}/logs/population_page.log",
    conda:
        "../../envs/neurozoo.yaml"
    resources:
        mem_mb=3000,
        runtime="30m",
    script:
        "../scripts/population_page.py"
