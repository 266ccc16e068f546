"""`python -m neurozoo freeze`, `rollout` and `test`: freezes a run's agent, records its play and tests it."""

import json
from dataclasses import asdict
from pathlib import Path

from neurozoo.agents.tags import FINAL
from neurozoo.cli.arguments import (
    Commands,
    add_command,
    add_engine,
    add_json,
    add_run_dir,
    check_outputs,
    chosen,
    natural,
    positive,
    say_if_outdated,
)
from neurozoo.errors import NeurozooError


def add_frozen_agent_commands(commands: Commands) -> None:
    """Adds `freeze`, `rollout` and `test`."""
    freeze = add_command(
        commands, "freeze", _freeze, "convert a run's best network into Keras, SavedModel and graph files"
    )
    add_run_dir(freeze)
    earlier = freeze.add_mutually_exclusive_group()
    earlier.add_argument(
        "--generation", type=natural, help="freeze this generation's elite instead of the run's result"
    )
    earlier.add_argument("--snapshot", type=positive, metavar="FRAMES", help="freeze snapshots/FRAMES.npz instead")
    earlier.add_argument("--tag", help="freeze the best network at this moment, such as initial, human, 400M or 2HR")
    freeze.add_argument(
        "--forms",
        nargs="*",
        choices=["saved_model", "graph"],
        default=["saved_model", "graph"],
        help="what to keep besides model.keras, each as large as the checkpoint (default: both)",
    )
    add_engine(freeze, threads=False)

    rollout = add_command(commands, "rollout", _rollout, "let a frozen agent play and record every step")
    add_run_dir(rollout)
    rollout.add_argument(
        "--tag",
        default=FINAL,
        help="agent of this moment; freeze it first (python -m neurozoo freeze RUN_DIR --tag TAG)",
    )
    rollout.add_argument("--episodes", type=positive, default=1, help="number of episodes (default: %(default)s)")
    rollout.add_argument(
        "--max-steps",
        type=positive,
        default=2500,
        help="ends the rollout after so many steps of all episodes together (default: %(default)s)",
    )
    rollout.add_argument(
        "--min-steps", type=natural, default=0, help="play more episodes until there are this many steps"
    )
    seeds = rollout.add_mutually_exclusive_group()
    seeds.add_argument("--seed", type=natural, default=0, help="default: %(default)s")
    seeds.add_argument("--seeds", type=natural, nargs="+", help="one rollout each, as RUN_DIR/rollouts/seed_SEED.npz")
    rollout.add_argument("--noops", type=natural, help="no-op frames at the start of an episode (default: random)")
    noise = "standard deviation of Gaussian noise on"
    rollout.add_argument("--observation-noise", type=float, default=0.0, help=f"{noise} the observations")
    rollout.add_argument("--parameter-noise", type=float, default=0.0, help=f"{noise} the convolutions' kernels")
    rollout.add_argument("--action-noise", type=float, default=0.0, help="probability of a random action")
    rollout.add_argument(
        "--sticky-probability", type=float, help="probability per frame that the previous action is repeated"
    )
    rollout.add_argument("--streamlined", action="store_true", help="record only scores, no pictures and no RAM")
    rollout.add_argument(
        "--output", type=Path, help="file to write (default: RUN_DIR/rollout.npz, or rollouts/streamlined.npz in it)"
    )
    rollout.add_argument(
        "--table", type=Path, help="table with one row per step (default: the output's name with .parquet)"
    )
    add_json(rollout, "steps, scores and speed as JSON")

    test = add_command(
        commands, "test", _test, "let an agent play with some random actions (epsilon-greedy), and report its scores"
    )
    add_run_dir(test)
    kept = test.add_mutually_exclusive_group()
    kept.add_argument(
        "--snapshot", type=positive, metavar="FRAMES", help="test snapshots/FRAMES.npz instead of the result"
    )
    kept.add_argument("--tag", help="test the agent of this moment, such as human")
    test.add_argument(
        "--epsilon",
        type=float,
        help="probability of a random action (default: 0.05, or 0 for agents that draw their actions)",
    )
    test.add_argument(
        "--action-rules",
        nargs="+",
        default=[],
        metavar="RULE",
        choices=("greedy", "sampled"),
        help="how outputs become actions: greedy, sampled, or both (default: the agent's own rule)",
    )
    test.add_argument(
        "--protocol",
        nargs="+",
        default=[],
        metavar="NAME",
        help="evaluation protocols, such as machado2018 (default: the agent's own)",
    )
    test.add_argument(
        "--sticky-probability", type=float, help="probability per frame that the previous action is repeated"
    )
    extent = test.add_mutually_exclusive_group()
    extent.add_argument("--episodes", type=positive, default=30, help="episodes per protocol (default: %(default)s)")
    extent.add_argument("--steps", type=positive, help="play whole episodes until there are this many steps")
    test.add_argument("--seed", type=natural, default=0, help="default: %(default)s")
    test.add_argument("--output", type=Path, help="JSON file to write (default: test.json beside frozen/)")
    add_json(test)
    add_engine(test, threads=False)


def _freeze(options):
    from neurozoo.agents.freeze import freeze_run

    check = freeze_run(options.run_dir, **chosen(options, "ops", "noise", "generation", "snapshot", "tag", "forms"))
    print(json.dumps(check))


def _rollout(options):
    from neurozoo.agents.tagged_agents import frozen_tag_folder
    from neurozoo.rollouts.rollout import record_rollout

    check_outputs((options.output, ".npz"), (options.table, ".parquet"))
    folder = frozen_tag_folder(options.run_dir, options.tag)
    say_if_outdated(folder)
    noise = chosen(options, "observation_noise", "parameter_noise", "action_noise", "sticky_probability")
    extent = chosen(options, "episodes", "max_steps", "min_steps", "noops", "streamlined")
    # A streamlined one takes the place of no recording that movies are made of.
    default = Path("rollouts", "streamlined.npz") if options.streamlined else Path("rollout.npz")
    outputs = {options.seed: options.output or folder / default}
    if options.seeds:
        if options.output or options.table:
            raise NeurozooError(
                "--output and --table cannot be used with --seeds, which writes RUN_DIR/rollouts/seed_SEED.npz and "
                ".parquet. Leave them out."
            )
        outputs = {seed: folder / "rollouts" / f"seed_{seed}.npz" for seed in options.seeds}
    for seed, output in outputs.items():
        table = options.table or output.with_suffix(".parquet")
        rollout = record_rollout(folder / "frozen", output, seed=seed, table=table, **extent, **noise)
        if options.json:
            print(json.dumps(asdict(rollout)))
        else:
            print(f"{output}: {rollout.steps} steps, scores {', '.join(f'{score:g}' for score in rollout.scores)}")
            if rollout.is_cut:
                count = len(rollout.scores)
                print(f"Ended after --max-steps {options.max_steps}; episode {count} of {options.episodes} is cut off.")


def _test(options):
    from neurozoo.agents.freeze import freeze_run
    from neurozoo.agents.frozen import outdated
    from neurozoo.agents.tagged_agents import tag_folder
    from neurozoo.agents.tags import snapshot_path
    from neurozoo.rollouts.epsilon_greedy import as_table, play_epsilon_greedily

    check_outputs((options.output, ".json"))
    folder = options.run_dir
    if options.snapshot is not None:
        folder = snapshot_path(folder, options.snapshot).with_suffix("")
    elif options.tag is not None:
        folder = tag_folder(folder, options.tag)
    if not (folder / "frozen" / "model.json").exists() or outdated(folder):
        moment = {"snapshot": options.snapshot, "tag": None if folder == options.run_dir else options.tag}
        freeze_run(options.run_dir, ops=options.ops, noise=options.noise, **moment)
    record = play_epsilon_greedily(
        folder / "frozen",
        options.output or folder / "test.json",
        protocols=options.protocol,
        action_rules=options.action_rules,
        **chosen(options, "epsilon", "sticky_probability", "episodes", "steps", "seed"),
    )
    print(json.dumps(record) if options.json else as_table(record))
