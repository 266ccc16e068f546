"""The files that a run leaves: its result, and on the way there the best so far."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from neurozoo.algorithms.base import Algorithm, Solution
from neurozoo.files import write_json
from neurozoo.games import Protocol
from neurozoo.genomes import Weights, decode
from neurozoo.networks import Layout
from neurozoo.tags import TAGS, Moment, Tag
from neurozoo.training.checkpoint import Checkpoint, write_checkpoint
from neurozoo.training.state import SNAPSHOTS


def snapshot_path(run_dir: Path, frames: int) -> Path:
    """Returns where a run keeps what it had come to when it passed this many frames."""
    return run_dir / SNAPSHOTS / f"{frames}.npz"


def tag_path(run_dir: Path, tag: str) -> Path:
    """Returns where a run keeps what it had come to at a moment that has a name."""
    return run_dir / TAGS / tag / "checkpoint.npz"


@dataclass(frozen=True)
class RunResults:
    """Writes a run's results; equal runs give equal bytes.

    Attributes:
        run_dir: Folder of the run.
        identity: `algo`, `game`, `model` and `run`.
        protocol: How its episodes are played.
        layout: Its network.
        noise: The noise table.
        reference: Observations for virtual batch norm; None for other networks.
        num_test_episodes: Episodes behind a test score.
        snapshot_frames: Distance of snapshots in frames; 0 for none.
        keep_tags: Moments at which the best so far is kept, where the log has no genome that tells it.
    """

    run_dir: Path
    identity: Mapping[str, object]
    protocol: Protocol
    layout: Layout
    noise: np.ndarray
    reference: np.ndarray | None
    num_test_episodes: int
    snapshot_frames: int = 0
    keep_tags: tuple[Tag, ...] = ()

    def write(self, best: Solution) -> None:
        """Writes `checkpoint.npz` and `genome.json`.

        Raises:
            NeurozooError: The disk is full.
        """
        write_checkpoint(self.run_dir / "checkpoint.npz", self._checkpoint(best))
        write_json(self.run_dir / "genome.json", self._facts(best))

    def keep_snapshot(self, algorithm: Algorithm, frames_before: int) -> None:
        """Keeps the best so far, if the last generation has passed a multiple of `snapshot_frames`.

        It has to be called before the generation is saved: then a run that is killed in between passes the same
        multiple again. The file's name is the multiple (the last one, if there were several).

        Args:
            algorithm: After a generation.
            frames_before: The run's frames before that generation.

        Raises:
            NeurozooError: The disk is full.
        """
        if not self.snapshot_frames:
            return
        count = algorithm.frames // self.snapshot_frames
        if count > frames_before // self.snapshot_frames:
            self._keep(algorithm, snapshot_path(self.run_dir, count * self.snapshot_frames))

    def keep_tagged(self, algorithm: Algorithm, before: Moment, now: Moment) -> None:
        """Keeps the best so far, if the last generation has reached the moment of a tag; called like `keep_snapshot`.

        Args:
            algorithm: After a generation.
            before: The moment before that generation.
            now: The moment after it.

        Raises:
            NeurozooError: The disk is full.
        """
        if not isinstance(algorithm.best.genome.initial, Weights):
            return  # its genome is in the log
        game = self.identity["game"]
        for tag in self.keep_tags:
            path = tag_path(self.run_dir, tag.text)
            is_new = tag.is_reached(now, game=game) and not tag.is_reached(before, game=game)
            if is_new and not path.exists():  # scores fall again, and rise a second time
                self._keep(algorithm, path)

    def _keep(self, algorithm: Algorithm, path: Path) -> None:
        facts = {
            **self._facts(algorithm.best),
            "run_frames": algorithm.frames,
            "run_iteration": algorithm.iteration,
        }
        for rest in path.parent.glob(f".{path.stem}.*"):  # of a training that was killed while it wrote
            rest.unlink()
        write_checkpoint(path, self._checkpoint(algorithm.best), facts=facts)

    def _checkpoint(self, best: Solution) -> Checkpoint:
        return Checkpoint(
            theta=decode(best.genome, noise=self.noise, layout=self.layout),
            reference=self.reference,
            protocol=self.protocol,
            num_actions=self.layout.num_actions,
            **self.identity,
        )

    def _facts(self, best: Solution) -> dict:
        return {
            **self.identity,
            **self.protocol.facts,
            # Of weights that are no scaled noise, the checkpoint is the only record.
            "genome": None if isinstance(best.genome.initial, Weights) else best.genome.to_json(),
            "validation_score": best.validation_score,
            "test_score": best.test_score,
            "test_episodes": self.num_test_episodes,
            "iteration": best.iteration,
            "frames": best.frames,
        }
