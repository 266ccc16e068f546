"""`python -m neurozoo cloud`: rents machines for `snakemake --profile aws`, and gives them back."""

from neurozoo.cli.arguments import Commands, add_command, chosen, positive
from neurozoo.plan.cloud_profiles import STACK_NAME


def add_cloud_commands(commands: Commands) -> None:
    """Adds `cloud` and its subcommands."""
    summary = "rent machines of AWS for snakemake --profile aws (docs/cloud.md)"
    kinds = add_command(commands, "cloud", None, summary).add_subparsers(required=True, metavar="what")

    up = add_command(kinds, "up", _up, "make network, queue, spot machines and bucket; tell the profile")
    up.add_argument("--region", required=True, help="such as eu-central-1")
    up.add_argument("--bucket", required=True, help="name of the bucket to make, unique in the world")
    up.add_argument("--image", required=True, help="container image for jobs (make image), in your own registry")
    up.add_argument("--email", required=True, help="to which the budget's alarm comes")
    up.add_argument("--budget", type=positive, default=50, help="USD a month, for the alarm (default: %(default)s)")
    up.add_argument("--cores", type=positive, default=64, help="most vCPUs at a time (default: %(default)s)")
    up.add_argument("--log-days", type=positive, default=7, help="days for which logs are kept (default: %(default)s)")

    cost = add_command(kinds, "cost", _cost, "tell what a number of frames costs")
    cost.add_argument("--frames", type=positive, default=1_000_000_000, help="default: a billion")
    cost.add_argument(
        "--speed", type=float, metavar="FRAMES_PER_S", help="of a core (default: those of docs/benchmarks.md)"
    )
    cost.add_argument("--dry-run", action="store_true", help="has no effect: this command never asks AWS")

    status = add_command(kinds, "status", _status, "show the stack and count its jobs")
    status.add_argument("--region", help="default: that of the stack made here, or of the environment")
    status.add_argument("--dry-run", action="store_true", help="say only what would be asked")

    down = add_command(kinds, "down", _down, "end all jobs and remove everything but the bucket; safe to repeat")
    down.add_argument("--region", help="default: that of the stack made here, or of the environment")

    up.add_argument("--name", default=STACK_NAME, help="name of the stack (default: %(default)s)")
    for command in (status, down):
        command.add_argument("--name", help=f"name of the stack (default: the one made here, or {STACK_NAME})")
    for command in (up, down):
        command.add_argument("--dry-run", action="store_true", help="print the plan and change nothing")


def _up(options):
    from neurozoo.cloud.stack import Plan, bring_up

    names = ("name", "region", "bucket", "image", "cores", "budget", "email", "log_days")
    bring_up(Plan(**chosen(options, *names)), say=print, dry_run=options.dry_run)


def _cost(options):
    from neurozoo.cloud.costs import SPEEDS, cost_lines

    print(*cost_lines(options.frames, speeds=(options.speed,) if options.speed is not None else SPEEDS), sep="\n")


def _status(options):
    from neurozoo.cloud.stack import show_status

    if options.dry_run:
        print("Would ask AWS for the stack and its jobs.")
        return
    show_status(options.name, region=options.region, say=print)


def _down(options):
    from neurozoo.cloud.stack import take_down

    take_down(options.name, region=options.region, say=print, dry_run=options.dry_run)
