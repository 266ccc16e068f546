"""`python -m neurozoo freeze`, `rollout` and `test`: a run's agent on its own, and what it does."""

import json
import sys
from dataclasses import asdict
from pathlib import Path

from neurozoo.commands.arguments import Commands, add_command, add_engine, add_json, add_run_dir, chosen, whole
from neurozoo.errors import NeurozooError
from neurozoo.tags import FINAL


def add_inspection_commands(commands: Commands) -> None:
    """Adds what freezes an agent and lets it play."""
    freeze = add_command(commands, "freeze", _freeze, "turn a run's best genome into Keras, SavedModel and graph files")
    add_run_dir(freeze)
    earlier = freeze.add_mutually_exclusive_group()
    earlier.add_argument("--generation", type=int, help="freeze the elite of this one instead of the run's result")
    earlier.add_argument("--snapshot", type=whole, metavar="FRAMES", help="freeze snapshots/FRAMES.npz instead")
    earlier.add_argument("--tag", help="freeze the best at this moment, such as initial, human, 400M or 2HR")
    add_engine(freeze, threads=False)

    rollout = add_command(commands, "rollout", _rollout, "let a frozen agent play, and record every step")
    add_run_dir(rollout)
    rollout.add_argument(
        "--tag", default=FINAL, help="of this moment, once frozen (python -m neurozoo freeze RUN_DIR --tag TAG)"
    )
    rollout.add_argument("--episodes", type=int, default=1)
    rollout.add_argument("--max-steps", type=int, default=2500, help="default: %(default)s")
    rollout.add_argument("--min-steps", type=int, default=0, help="play more episodes until there are so many steps")
    seeds = rollout.add_mutually_exclusive_group()
    seeds.add_argument("--seed", type=int, default=0)
    seeds.add_argument("--seeds", type=int, nargs="+", help="one rollout each, as RUN_DIR/rollouts/seed_SEED.npz")
    rollout.add_argument("--noops", type=int, help="frames without action at the start; default: drawn")
    noise = "standard deviation of Gaussian noise on"
    rollout.add_argument("--observation-noise", type=float, default=0.0, help=f"{noise} what the agent sees")
    rollout.add_argument("--parameter-noise", type=float, default=0.0, help=f"{noise} the convolutions' kernels")
    rollout.add_argument("--action-noise", type=float, default=0.0, help="chance of a random action")
    rollout.add_argument("--sticky-probability", type=float, help="chance per frame of the action before")
    rollout.add_argument("--streamlined", action="store_true", help="record scores only, no pictures and no RAM")
    rollout.add_argument("--output", type=Path, help="default: RUN_DIR/rollout.npz")
    rollout.add_argument("--table", type=Path, help="default: the output's name with .parquet: one row per step")
    add_json(rollout, "steps, scores and speed as JSON")

    test = add_command(
        commands, "test", _test, "let an agent play with a random action now and then, and count its scores"
    )
    add_run_dir(test)
    kept = test.add_mutually_exclusive_group()
    kept.add_argument("--snapshot", type=whole, metavar="FRAMES", help="of snapshots/FRAMES.npz instead of the result")
    kept.add_argument("--tag", help="of this moment, such as human")
    test.add_argument("--epsilon", type=float, default=0.05, help="chance of a random action (default: %(default)s)")
    test.add_argument(
        "--protocol", nargs="+", default=[], metavar="NAME", help="such as machado2018; default: the agent's own"
    )
    test.add_argument("--sticky-probability", type=float, help="chance per frame of the action before")
    extent = test.add_mutually_exclusive_group()
    extent.add_argument("--episodes", type=whole, default=30, help="of each protocol (default: %(default)s)")
    extent.add_argument("--steps", type=whole, help="whole episodes until there are so many steps")
    test.add_argument("--seed", type=int, default=0)
    test.add_argument("--output", type=Path, help="JSON; default: test.json beside frozen/")
    add_json(test)
    add_engine(test, threads=False)


def _freeze(options):
    from neurozoo.inspection import freeze_run

    check = freeze_run(options.run_dir, **chosen(options, "ops", "noise", "generation", "snapshot", "tag"))
    print(json.dumps(check))


def _rollout(options):
    from neurozoo.inspection import record_rollout
    from neurozoo.inspection.frozen import outdated
    from neurozoo.inspection.tagged import frozen_tag_folder

    folder = frozen_tag_folder(options.run_dir, options.tag)
    if complaint := outdated(folder):
        print(f"neurozoo: {complaint}", file=sys.stderr)
    noise = chosen(options, "observation_noise", "parameter_noise", "action_noise", "sticky_probability")
    extent = chosen(options, "episodes", "max_steps", "min_steps", "noops", "streamlined")
    outputs = {options.seed: options.output or folder / "rollout.npz"}
    if options.seeds:
        if options.output or options.table:
            raise NeurozooError("With --seeds the names of the files are given; leave --output and --table out.")
        outputs = {seed: folder / "rollouts" / f"seed_{seed}.npz" for seed in options.seeds}
    for seed, output in outputs.items():
        table = options.table or output.with_suffix(".parquet")
        rollout = record_rollout(folder / "frozen", output, seed=seed, table=table, **extent, **noise)
        if options.json:
            print(json.dumps(asdict(rollout)))
        else:
            print(f"{output}: {rollout.steps} steps, scores {', '.join(f'{score:g}' for score in rollout.scores)}")


def _test(options):
    from neurozoo.inspection import freeze_run, play_epsilon_greedily
    from neurozoo.inspection.epsilon_greedy import as_table
    from neurozoo.inspection.frozen import outdated
    from neurozoo.inspection.tagged import tag_folder
    from neurozoo.training.results import snapshot_path

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
        **chosen(options, "epsilon", "sticky_probability", "episodes", "steps", "seed"),
    )
    print(json.dumps(record) if options.json else as_table(record))
