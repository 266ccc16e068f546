"""The session of an IMPALA run: a learner plays and learns, and stops often enough to be saved."""

from collections.abc import Callable
from pathlib import Path
from typing import Self

from neurozoo.algorithms.compiled import keep_to_threads, need_jax
from neurozoo.algorithms.impala.learner import ImpalaLearner
from neurozoo.algorithms.impala.remote_actor import act_for_a_learner
from neurozoo.algorithms.learner_session import LearnerSession, find_core, find_network_core
from neurozoo.algorithms.session import RunContext
from neurozoo.compute.gpus import claim_gpus
from neurozoo.compute.mpi import Ranks
from neurozoo.environments.game_networks import keras_layout_of
from neurozoo.environments.vector_environments import VectorEnvironment, make_vector_environment
from neurozoo.errors import NeurozooError
from neurozoo.native.processor import processor_flags
from neurozoo.networks.keras_networks import KerasLayout, Precision

COMPUTE_BFLOAT16 = {"avx512_bf16", "amx_bf16", "bf16"}  # features of a processor, as Linux names them
TABLE = (
    "Iteration", "frames", "score", "score_episodes", "test_score", "test_episodes", "update", "learning_rate",
    "loss_pg", "loss_baseline", "entropy_mean", "value_mean", "rho_mean", "rho_clipped_share", "grad_norm", "lag_max",
    "TimestepsSoFar", "TimestepsThisIter", "TimestepsPerSecondThisIter", "TimeElapsedTotal",
)  # fmt: skip


class ImpalaSession(LearnerSession):
    """Runs a learner. See `neurozoo.algorithms.session.Session`.

    Raises:
        NeurozooError: Game, protocol, engine and network do not fit together.
    """

    table = TABLE
    _learner: ImpalaLearner
    _layout: KerasLayout
    _core: Path | None = None  # until the session is entered, or follows

    def __init__(self, context: RunContext) -> None:
        self._context = context
        self._protocol = context.settings.game_protocol(context.game)
        self._layout = keras_layout_of(context.game, context.model, self._protocol)
        learner = ImpalaLearner(
            context.settings,
            entropy=context.entropy,
            layout=self._layout,
            protocol=self._protocol,
            make_environments=self._make_environments,
            ranks=context.ranks,
        )
        super().__init__(learner, self._layout, self._protocol, action_rule=context.settings.action_rule)

    def __enter__(self) -> Self:
        if self._context.settings.gpus:
            self.announcements.append(claim_gpus(cpu_allowed=True).reason)  # before JAX sees them
            need_jax()
        keep_to_threads(self._context.threads)
        self._core, said = find_core(self._context.core, self._protocol)
        network_core, more = find_network_core(self._context)
        self.announcements += said + more + slow_precision(self._context.settings.dtype)
        try:
            self._learner.open(network_core=network_core, threads=self._context.threads)
        except (LookupError, ValueError) as error:  # arrays of the state that are missing, or of other shapes
            raise NeurozooError(f"The state is damaged ({error!r}). {self._context.remedy}") from error
        return self

    def follow(self) -> None:
        """Does what rank 0 orders, until it lets this rank end; for all other ranks."""
        keep_to_threads(self._context.threads)
        self._core, _ = find_core(self._context.core, self._protocol)
        context, settings = self._context, self._context.settings
        if context.ranks.index < settings.learners:
            self._learner.follow()
            return
        assert isinstance(context.ranks, Ranks)  # there are several
        act_for_a_learner(
            settings,
            entropy=context.entropy,
            layout=self._layout,
            protocol=self._protocol,
            make_environments=self._make_environments,
            ranks=context.ranks,
        )

    def _make_environments(self, count: int, seed_of: Callable[[int, int], int]) -> VectorEnvironment:
        context, settings = self._context, self._context.settings
        return make_vector_environment(
            context.game,
            self._protocol,
            count=count,
            threads=context.threads,
            seed_of=seed_of,
            curriculum=settings.curriculum(self._protocol.frame_skip),
            core=self._core,
        )


def slow_precision(dtype: Precision) -> list[str]:
    """Returns a sentence if the processor computes in `dtype` more slowly than in float32; otherwise nothing."""
    features = processor_flags()
    if dtype == "float32" or not features or COMPUTE_BFLOAT16 & features:
        return []
    return [
        f"The setting dtype is {dtype}, but this processor has no instructions for bfloat16 (AVX512-BF16 or AMX), so "
        "updates take longer than with float32, unless a GPU computes them."
    ]
