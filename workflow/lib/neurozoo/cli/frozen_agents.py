"""`python -m neurozoo freeze`, `rollout` and `test`: freezes a run's agent, records its play and tests it."""

import json
from dataclasses import asdict
from pathlib import Path

from neurozoo.agents.tags import FINAL
from neurozoo.cli import arguments as args
from neurozoo.errors import NeurozooError


def add_commands(commands: args.Commands) -> None:
    """Adds `freeze`, `rollout` and `test`."""
    summary = "convert a run's best network into Keras, SavedModel and graph files"
    command = args.add_command(commands, "freeze", _freeze, summary)
    args.add_run_dir(command)
    earlier = command.add_mutually_exclusive_group().add_argument
    earlier("--generation", type=args.natural, help="freeze this generation's elite instead of the run's result")
    earlier("--snapshot", type=args.positive, metavar="FRAMES", help="freeze snapshots/FRAMES.npz instead")
    earlier("--tag", help="freeze the best network at this moment, such as initial, human, 400M or 2HR")
    forms = ["saved_model", "graph"]
    rest = "what to keep besides model.keras, each as large as the checkpoint (default: saved_model graph)"
    command.add_argument("--forms", nargs="*", choices=[*forms, "onnx"], default=forms, help=rest)
    args.add(command, "core", "noise")

    command = args.add_command(commands, "rollout", _rollout, "let a frozen agent play and record every step")
    option = command.add_argument
    args.add_run_dir(command)
    moment = "agent of this moment; freeze it first (python -m neurozoo freeze RUN_DIR --tag TAG)"
    option("--tag", default=FINAL, help=moment)
    option("--episodes", type=args.positive, default=1, help="number of episodes")
    most = "ends the rollout after so many steps of all episodes together"
    option("--max-steps", type=args.positive, default=2500, help=most)
    option("--min-steps", type=args.natural, default=0, help="play more episodes until there are this many steps")
    seeds = command.add_mutually_exclusive_group()
    args.add(seeds, "seed")
    each = "one rollout each, as RUN_DIR/rollouts/seed_SEED.npz"
    seeds.add_argument("--seeds", type=args.natural, nargs="+", help=each)
    option("--noops", type=args.natural, help="no-op frames at the start of an episode (default: random)")
    noise = "standard deviation of Gaussian noise on"
    option("--observation-noise", type=float, default=0.0, help=f"{noise} the observations")
    option("--parameter-noise", type=float, default=0.0, help=f"{noise} the convolutions' kernels")
    option("--action-noise", type=float, default=0.0, help="probability of a random action")
    args.add(command, "sticky-probability")
    option("--streamlined", action="store_true", help="record only scores, no pictures and no RAM")
    output = "file to write (default: RUN_DIR/rollout.npz, or rollouts/streamlined.npz in it)"
    option("--output", type=Path, help=output)
    option("--table", type=Path, help="table with one row per step (default: the output's name with .parquet)")
    args.add(command, "json", help="print steps, scores and speed as JSON")

    summary = "let an agent play with some random actions (epsilon-greedy), and report its scores"
    command = args.add_command(commands, "test", _test, summary)
    option = command.add_argument
    args.add_run_dir(command)
    kept = command.add_mutually_exclusive_group().add_argument
    kept("--snapshot", type=args.positive, metavar="FRAMES", help="test snapshots/FRAMES.npz instead of the result")
    kept("--tag", help="test the agent of this moment, such as human")
    args.add(command, "epsilon")
    rules, meaning = ("greedy", "sampled"), "how outputs become actions: greedy, sampled, or both"
    own = f"{meaning} (default: the agent's own rule)"
    option("--action-rules", nargs="+", default=[], metavar="RULE", choices=rules, help=own)
    protocols = "evaluation protocols, such as machado2018 (default: the agent's own)"
    option("--protocol", nargs="+", default=[], metavar="NAME", help=protocols)
    args.add(command, "sticky-probability")
    extent = command.add_mutually_exclusive_group().add_argument
    extent("--episodes", type=args.positive, default=30, help="episodes per protocol")
    extent("--steps", type=args.positive, help="play whole episodes until there are this many steps")
    args.add(command, "seed")
    option("--output", type=Path, help="JSON file to write (default: test.json beside frozen/)")
    args.add(command, "json", "core", "noise")


def _freeze(options):
    from neurozoo.agents.freeze import freeze_run

    choices = args.chosen(options, "core", "noise", "generation", "snapshot", "tag", "forms")
    print(json.dumps(freeze_run(options.run_dir, **choices)))


def _rollout(options):
    from neurozoo.agents.tagged_agents import frozen_tag_folder
    from neurozoo.rollouts.rollout import record_rollout

    args.check_outputs((options.output, ".npz"), (options.table, ".parquet"))
    folder = frozen_tag_folder(options.run_dir, options.tag)
    args.say_if_outdated(folder)
    noise = args.chosen(options, "observation_noise", "parameter_noise", "action_noise", "sticky_probability")
    extent = args.chosen(options, "episodes", "max_steps", "min_steps", "noops", "streamlined")
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

    args.check_outputs((options.output, ".json"))
    folder = options.run_dir
    if options.snapshot is not None:
        folder = snapshot_path(folder, options.snapshot).with_suffix("")
    elif options.tag is not None:
        folder = tag_folder(folder, options.tag)
    if not (folder / "frozen" / "model.json").exists() or outdated(folder):
        moment = {"snapshot": options.snapshot, "tag": None if folder == options.run_dir else options.tag}
        freeze_run(options.run_dir, core=options.core, noise=options.noise, **moment)
    record = play_epsilon_greedily(
        folder / "frozen",
        options.output or folder / "test.json",
        protocols=options.protocol,
        action_rules=options.action_rules,
        **args.chosen(options, "epsilon", "sticky_probability", "episodes", "steps", "seed"),
    )
    args.print_result(options, record, as_table(record))
