"""The hard maze of novelty search: a robot senses walls and the direction of a goal that lies behind a dead end.

Every formula has the same operations in the same order as native/core/hard_maze.cc, so both versions give the same
bits. Nothing is random.

Sources: Lehman and Stanley 2011, doi:10.1162/EVCO_a_00025; Such et al. 2017, arXiv:1712.06567, and its code.
"""

import math

import numpy as np
from PIL import Image, ImageDraw

from neurozoo.environments.protocols import Protocol
from neurozoo.environments.world import SingleFrameWorld
from neurozoo.errors import NeurozooError

PI = 3.1415926  # as published
STEPS = 400
START, GOAL = (36.0, 184.0), (31.0, 20.0)
RADIUS = 8.0
RANGE = 100.0  # of the range finders
LARGEST_CHANGE, LARGEST = 0.2, 3.0  # of turn (degrees per step) and speed (units per step)
FINDERS = (-90, -45, 0, 45, 90, -180)  # directions of the range finders, degrees from the heading
WALLS = (  # x, y of one end; x, y of the other
    (41, 5, 3, 8), (3, 8, 4, 49), (4, 49, 57, 53), (4, 49, 7, 202), (7, 202, 195, 198), (195, 198, 186, 8),
    (186, 8, 39, 5), (56, 54, 56, 157), (57, 106, 158, 162), (77, 201, 108, 164), (6, 80, 33, 121), (192, 146, 87, 91),
    (56, 55, 133, 30),
)  # fmt: skip
SCREEN_SHAPE = (400, 400, 3)
SCALE, OFFSET = 1.9, 6  # pixels per unit; pixels from the edge to the origin


class HardMaze:
    """The maze with one robot.

    Attributes:
        x: Position, measured from the left.
        y: Position, measured from the top.
        heading: Degrees; 0 points right, 90 down.
        turn: Degrees per step.
        speed: Units per step.
        path: Positions since the start.
    """

    def __init__(self):
        self.reset()

    def reset(self) -> None:
        """Puts the robot at the start."""
        self.x, self.y = START
        self.heading = self.turn = self.speed = 0.0
        self.steps = 0
        self.is_over = False
        self.path = [START]

    @property
    def distance(self) -> float:
        """Straight-line distance to the goal."""
        return _distance(self.x, self.y, *GOAL)

    def step(self, turn: float, speed: float, *, is_last: bool = False) -> float:
        """Steers and moves.

        Args:
            turn: From -0.5 (fully to one side) to 0.5. Values outside are clipped.
            speed: From -0.5 (backwards) to 0.5. Values outside are clipped.
            is_last: Whether to end the episode after this step, because a frame limit is reached.

        Returns:
            The reward: minus the distance to the goal in the last step, 0 before.
        """
        if self.is_over:
            raise NeurozooError("The episode is over; call reset() to start the next one.")
        self.turn = _approach(self.turn, turn)
        self.speed = _approach(self.speed, speed)
        angle = self.heading / 180 * PI
        x = self.x + math.cos(angle) * self.speed
        y = self.y + math.sin(angle) * self.speed
        self.heading += self.turn
        if self.heading > 360:
            self.heading -= 360
        if self.heading < 0:
            self.heading += 360
        if not any(_distance_to_wall(x, y, wall) < RADIUS for wall in WALLS):
            self.x, self.y = x, y
        self.path.append((self.x, self.y))
        self.steps += 1
        self.is_over = is_last or self.steps >= STEPS
        return -self.distance if self.is_over else 0.0

    def observe(self) -> np.ndarray:
        """Returns the observation: float32 in [0, 1], shape (11,).

        A constant 1; six distances to the next wall, divided by the range of 100, at -90, -45, 0, 45, 90 and -180
        degrees; and a one-hot vector of the goal's direction: ahead, on the side of positive turns, behind, on the
        other side.
        """
        ranges = [self._range_at((self.heading + finder) / 180 * PI) / RANGE for finder in FINDERS]
        bearing = math.atan2(GOAL[1] - self.y, GOAL[0] - self.x) / PI * 180 - self.heading
        while bearing < 0:
            bearing += 360
        while bearing >= 360:
            bearing -= 360
        quarters = [
            bearing >= 315 or bearing < 45, 45 <= bearing < 135, 135 <= bearing < 225, 225 <= bearing < 315
        ]  # fmt: skip
        return np.array([1.0, *ranges, *quarters], np.float32)

    def _range_at(self, angle: float) -> float:
        ray_x, ray_y = math.cos(angle) * RANGE, math.sin(angle) * RANGE
        nearest = RANGE
        for ax, ay, bx, by in WALLS:
            dx, dy = bx - ax, by - ay
            area = dx * ray_y - dy * ray_x
            if area == 0:  # parallel
                continue
            along_wall = ((ay - self.y) * ray_x - (ax - self.x) * ray_y) / area
            along_ray = ((ay - self.y) * dx - (ax - self.x) * dy) / area
            if 0 < along_wall < 1 and 0 < along_ray < 1:
                nearest = min(nearest, _distance(ax + along_wall * dx, ay + along_wall * dy, self.x, self.y))
        return nearest

    def picture(self) -> np.ndarray:
        """Draws walls, path, goal and robot: uint8, shape (400, 400, 3)."""

        def to_pixels(*points: tuple[float, float]) -> list[tuple[float, float]]:
            return [(x * SCALE + OFFSET, y * SCALE + OFFSET) for x, y in points]

        def disc(centre: tuple[float, float], radius: float) -> list[tuple[float, float]]:
            return to_pixels((centre[0] - radius, centre[1] - radius), (centre[0] + radius, centre[1] + radius))

        image = Image.new("RGB", SCREEN_SHAPE[1::-1], (255, 255, 255))
        draw = ImageDraw.Draw(image)
        if len(self.path) > 1:
            draw.line(to_pixels(*self.path), fill=(120, 170, 220), width=2)
        for ax, ay, bx, by in WALLS:
            draw.line(to_pixels((ax, ay), (bx, by)), fill=(0, 0, 0), width=3)
        draw.ellipse(disc(GOAL, 4), fill=(30, 160, 60))
        draw.ellipse(disc((self.x, self.y), RADIUS), fill=(220, 60, 50))
        angle = self.heading / 180 * PI
        nose = (self.x + math.cos(angle) * RADIUS, self.y + math.sin(angle) * RADIUS)
        draw.line(to_pixels((self.x, self.y), nose), fill=(255, 255, 255), width=3)
        return np.array(image)

    def text(self) -> str:
        """Describes the robot in one line."""
        return (
            f"step {self.steps} of {STEPS}: at ({self.x:.2f}, {self.y:.2f}), heading {self.heading:.1f} degrees, "
            f"{self.distance:.2f} from the goal"
        )


class HardMazeWorld(SingleFrameWorld):
    """The hard maze as a world, see `World`; `maze` is the robot in it."""

    screen_shape = SCREEN_SHAPE

    def __init__(self, game: str, protocol: Protocol):
        super().__init__(game, protocol)
        self.maze = HardMaze()

    @property
    def screen(self) -> np.ndarray:
        """Walls, path, goal and robot: uint8, shape (400, 400, 3)."""
        return self.maze.picture()

    @property
    def final_positions(self) -> np.ndarray:
        """The robot's position (x, y): float32, shape (1, 2)."""
        return np.array([(self.maze.x, self.maze.y)], np.float32)

    def _start(self, seed: int, noops: int) -> None:
        self.maze.reset()

    def _play(self, outputs: np.ndarray, is_last: bool) -> tuple[float, bool]:
        turn, speed = (float(value) for value in outputs)
        reward = self.maze.step(turn, speed, is_last=is_last)
        return reward, self.maze.is_over

    def _new_plane(self) -> np.ndarray:
        return self.maze.observe().reshape(self.shape.plane)


def _approach(now: float, output: float) -> float:
    """Moves a turn or speed towards the target that an output sets. NaN sets the target 0."""
    clipped = 0.5 if math.isnan(output) else min(max(output + 0.5, 0.0), 1.0)
    target = (clipped - 0.5) * 6
    return min(max(now + min(max(target - now, -LARGEST_CHANGE), LARGEST_CHANGE), -LARGEST), LARGEST)


def _distance(ax: float, ay: float, bx: float, by: float) -> float:
    dx, dy = ax - bx, ay - by
    return math.sqrt(dx * dx + dy * dy)


def _distance_to_wall(x: float, y: float, wall: tuple[float, float, float, float]) -> float:
    ax, ay, bx, by = wall
    dx, dy = bx - ax, by - ay
    along = ((x - ax) * dx + (y - ay) * dy) / (dx * dx + dy * dy)
    if along < 0:
        return _distance(x, y, ax, ay)
    if along > 1:
        return _distance(x, y, bx, by)
    return _distance(x, y, ax + along * dx, ay + along * dy)
