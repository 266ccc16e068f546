"""The session of an IMPALA run: a learner plays and learns, and stops often enough to be saved."""

from pathlib import Path
from typing import Self

from neurozoo.algorithms.compiled import keep_to_threads, need_jax
from neurozoo.algorithms.impala.learner import ImpalaLearner
from neurozoo.algorithms.impala.remote_actor import act_for_a_learner
from neurozoo.algorithms.learner_session import LearnerSession, find_core
from neurozoo.algorithms.session import RunContext
from neurozoo.compute.gpus import claim_gpus
from neurozoo.environments.game_networks import keras_layout_of
from neurozoo.native.processor import processor_flags
from neurozoo.networks.keras_networks import Precision

COMPUTE_BFLOAT16 = {"avx512_bf16", "amx_bf16", "bf16"}  # features of a processor, as Linux names them


class ImpalaSession(LearnerSession):
    """Runs a learner. See `LearnerSession`."""

    table = (
        "Iteration", "frames", "score", "score_episodes", "test_score", "test_episodes", "update", "learning_rate",
        "loss_pg", "loss_baseline", "entropy_mean", "value_mean", "rho_mean", "rho_clipped_share", "grad_norm",
        "lag_max", "TimestepsSoFar", "TimestepsThisIter", "TimestepsPerSecondThisIter", "TimeElapsedTotal",
    )  # fmt: skip

    def __init__(self, context: RunContext) -> None:
        super().__init__(context, ImpalaLearner, keras_layout_of, action_rule=context.settings.action_rule)

    def __enter__(self) -> Self:
        if self._context.settings.gpus:
            self.announcements.append(claim_gpus(cpu_allowed=True).reason)  # before JAX sees them
            need_jax()
        return super().__enter__()

    def _open(self, network_core: Path | None) -> list[str]:
        self._learner.open(network_core=network_core, threads=self._context.threads)
        return slow_precision(self._context.settings.dtype) if network_core is None else []

    def follow(self) -> None:
        """Does what rank 0 orders, until it lets this rank end; for all other ranks."""
        context = self._context
        keep_to_threads(context.threads)
        self._core, _ = find_core(context.core, self._protocol)
        if context.ranks.index < context.settings.learners:
            self._learner.follow()
        else:
            act_for_a_learner(self._task)


def slow_precision(dtype: Precision) -> list[str]:
    """Returns a sentence if the processor computes in `dtype` more slowly than in float32; otherwise nothing."""
    features = processor_flags()
    if dtype == "float32" or not features or COMPUTE_BFLOAT16 & features:
        return []
    return [
        f"The setting dtype is {dtype}, but this processor has no instructions for bfloat16 (AVX512-BF16 or AMX), so "
        "updates take longer than with float32, unless a GPU computes them."
    ]
