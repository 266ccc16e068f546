"""Counters of the learner, and the learning rate that follows them."""

from dataclasses import dataclass

from neurozoo.algorithms.impala.settings import ImpalaSettings


@dataclass(frozen=True)
class Schedule:
    """Counts what updates have learned from, and lowers the learning rate in a straight line.

    Args:
        settings: Size of an update, learning rate and `counter`.
        frame_skip: Frames per step.
    """

    settings: ImpalaSettings
    frame_skip: int

    def frames(self, updates: int) -> int:
        """Returns the frames that all learners have learned from after a number of updates."""
        s = self.settings
        return self.frame_skip * s.batch_steps * s.learners * updates // s.epochs

    def compat_counter(self, updates: int) -> int:
        """Returns the counter of impala_horovod_gym, which calls steps frames and counts one more at each update."""
        return self.settings.batch_steps * updates // self.settings.epochs + updates

    def learning_rate(self, updates: int) -> float:
        """Returns the learning rate of the update that follows: linear to 0 at `learning_rate_frames`."""
        s = self.settings
        frames = s.frames if s.learning_rate_frames is None else s.learning_rate_frames
        if s.counter == "original":
            # The counter is that of one learner; the budget is that of all.
            share = self.compat_counter(updates) * s.learners / (frames / self.frame_skip)
        else:
            share = self.frames(updates) / frames
        return s.learning_rate * max(0.0, 1.0 - share)
