"""What frames cost on rented machines."""

import csv
from dataclasses import dataclass
from importlib import resources

from neurozoo.errors import NeurozooError

DATE = "2026-11-23"  # when the table was copied
SOURCE = "AWS's Auto Scaling guide, its example prices for us-east-1; of three zones the dearest spot price"
SPEEDS = (7_500, 17_000)  # frames per second of a core, of `large` on Frostbite and on Pong (docs/benchmarks.md)
VCPUS_OF_CORE = 2  # of these instances, a vCPU is one of the two threads of a core


@dataclass(frozen=True)
class Price:
    """The price of an instance, in USD per hour."""

    instance: str  # such as `c5.18xlarge`
    vcpus: int
    spot: float  # while nobody pays more
    on_demand: float  # for as long as it is wanted


def read_prices() -> list[Price]:
    """Returns the prices that are known; `DATE` and `SOURCE` say since when and where from."""
    text = resources.files("neurozoo").joinpath("data/instance_prices.csv").read_text()
    rows = list(csv.reader(text.splitlines()))[1:]
    return [Price(name, int(vcpus), float(spot), float(on_demand)) for name, vcpus, spot, on_demand in rows]


def core_hours(frames: int, *, speed: float) -> float:
    """Returns the hours that one core needs for emulator frames at a speed in frames per second."""
    if frames <= 0 or speed <= 0:
        raise NeurozooError(f"{frames} frames at {speed} frames/s cost nothing. Both should be positive.")
    return frames / speed / 3600


def cost_lines(frames: int, *, speeds: tuple[float, ...] = SPEEDS) -> list[str]:
    """Returns a table of what a number of frames costs, with what it rests on."""
    hours = [core_hours(frames, speed=speed) for speed in speeds]
    lines = [f"{frames:,} frames" + "".join(f"\n  at {s:,.0f} frames/s per core: {h:,.1f} core hours"
                                            for s, h in zip(speeds, hours, strict=True))]  # fmt: skip
    lines.append(f"{'instance':14}{'spot (USD)':>18}{'on demand (USD)':>20}")
    for price in read_prices():
        cells = []
        for per_hour in (price.spot, price.on_demand):
            least, most = (h * VCPUS_OF_CORE * per_hour / price.vcpus for h in (min(hours), max(hours)))
            cells.append(f"{least:,.2f}" if least == most else f"{least:,.2f} to {most:,.2f}")
        lines.append(f"{price.instance:14}{cells[0]:>18}{cells[1]:>20}")
    lines.append(
        f"A core is counted as {VCPUS_OF_CORE} vCPUs. Prices: {DATE}, {SOURCE}. Today's: aws.amazon.com/ec2/pricing"
    )
    lines.append("Not counted: disks, traffic out of AWS, storage, and the minutes in which machines start.")
    return lines
