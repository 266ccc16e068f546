"""The program of one rank of a run that consists of several processes; `neurozoo.training.ranks` starts it."""

import json
import os
import signal
import sys
import traceback
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from neurozoo.algorithms.registry import get_algorithm
from neurozoo.compute.interruption import Interrupted
from neurozoo.compute.mpi import Ranks, patience_of
from neurozoo.compute.mpi_launch import STOPPED
from neurozoo.errors import NeurozooError, plain_errors
from neurozoo.signals import OF_SCHEDULERS, OF_TERMINALS, SIGNALS
from neurozoo.training.context import make_context
from neurozoo.training.loop import train


def run_rank(job: Mapping[str, Any], ranks: Ranks) -> int:
    """Does the part of one rank; returns its exit status. After an error, all ranks end at once."""
    try:
        if ranks.size != job["count"]:
            raise NeurozooError(f"The run has {job['count']} learners and actors, but {ranks.size} processes started.")
        context = replace(make_context(**job["run"]), ranks=ranks)
        if ranks.is_leader:
            train(context, **job["shown"])
        else:
            for number in (*OF_SCHEDULERS, *OF_TERMINALS):
                signal.signal(number, signal.SIG_IGN)  # rank 0 says when the run stops
            session: Any = get_algorithm(context.algo).open_session(context)
            session.follow()  # until the run ends
        return 0
    except Interrupted:
        status = STOPPED  # the others may still wait for the beginning
    except NeurozooError as error:
        print(f"neurozoo: {error}", file=sys.stderr, flush=True)
        status = 1
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
        status = 1
    ranks.abort(status)
    return status


if __name__ == "__main__":
    for number in SIGNALS:  # until the loop handles them; the launcher says which signal has ended a rank
        signal.signal(number, signal.SIG_IGN if number in OF_SCHEDULERS else signal.SIG_DFL)
    with plain_errors():
        joined = Ranks(patience=patience_of(os.environ))
    sys.exit(run_rank(json.loads(sys.argv[1]), joined))
