"""`python -m neurozoo cloud`: rents machines for `snakemake --profile aws`, and gives them back."""

from neurozoo.cli import arguments as args
from neurozoo.plan.cloud_profiles import STACK_NAME


def add_commands(commands: args.Commands) -> None:
    """Adds `cloud` and its subcommands."""
    summary = "rent machines of AWS for snakemake --profile aws (docs/cloud.md)"
    kinds = args.add_command(commands, "cloud", None, summary).add_subparsers(required=True, metavar="what")
    region = "default: that of the stack made here, or of the environment"
    name = f"name of the stack (default: the one made here, or {STACK_NAME})"
    plan = "print the plan and change nothing"

    summary = "make network, queue, spot machines and bucket; tell the profile"
    option = args.add_command(kinds, "up", _up, summary).add_argument
    option("--region", required=True, help="such as eu-central-1")
    option("--bucket", required=True, help="name of the bucket to make, unique in the world")
    option("--image", required=True, help="container image for jobs (make image), in your own registry")
    option("--email", required=True, help="to which the budget's alarm comes")
    option("--budget", type=args.positive, default=50, help="USD a month, for the alarm")
    option("--cores", type=args.positive, default=64, help="most vCPUs at a time")
    option("--log-days", type=args.positive, default=7, help="days for which logs are kept")
    option("--name", default=STACK_NAME, help="name of the stack")
    option("--dry-run", action="store_true", help=plan)

    option = args.add_command(kinds, "cost", _cost, "tell what a number of frames costs").add_argument
    option("--frames", type=args.positive, default=1_000_000_000, help="default: a billion")
    option("--speed", type=float, metavar="FRAMES_PER_S", help="of a core (default: those of docs/benchmarks.md)")
    option("--dry-run", action="store_true", help="has no effect: this command never asks AWS")

    option = args.add_command(kinds, "status", _status, "show the stack and count its jobs").add_argument
    option("--region", help=region)
    option("--dry-run", action="store_true", help="say only what would be asked")
    option("--name", help=name)

    summary = "end all jobs and remove everything but the bucket; safe to repeat"
    option = args.add_command(kinds, "down", _down, summary).add_argument
    option("--region", help=region)
    option("--name", help=name)
    option("--dry-run", action="store_true", help=plan)


def _up(options):
    from neurozoo.cloud.stack import Plan, bring_up

    names = ("name", "region", "bucket", "image", "cores", "budget", "email", "log_days")
    bring_up(Plan(**args.chosen(options, *names)), say=print, dry_run=options.dry_run)


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
