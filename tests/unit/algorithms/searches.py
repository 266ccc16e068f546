"""What tests of searches share: results that a test hands out, and that a run continues exactly."""

import json

import numpy as np
from neurozoo.evaluation import EpisodeResult
from neurozoo.genomes.packing import unpack

# Fields of a report that the training loop adds, and those that logs have besides the published ones.
TIMES = {
    "TimestepsPerSecondThisIter", "TimeElapsedThisIter", "TimeElapsedThisIterTotal", "TimeElapsed", "TimeElapsedTotal",
}  # fmt: skip
STANDARD = {"frames", "score", "score_episodes", "test_score", "test_episodes"}


def results(scores, *, steps=10, signs=None, positions=None):
    """One result for each score; `steps` is a number or one for each. Every last step is a frame short."""
    signs = [0.0] * len(scores) if signs is None else signs
    positions = [None] * len(scores) if positions is None else [np.array([each], np.float32) for each in positions]
    every = zip(scores, np.broadcast_to(steps, len(scores)).tolist(), signs, positions, strict=True)
    return [EpisodeResult(float(score), n, 4 * n - 1, 0.1, sign, at) for score, n, sign, at in every]


def tell(search, phase, scores, **options):
    batch = search.ask()
    assert (batch.phase, len(batch.episodes)) == (phase, len(scores))
    return search.tell(results(scores, **options))


def parents_of(ga):
    """The genomes of the parents of the next generation, as JSON."""
    state = ga.get_state()
    return [genome.to_json() for genome in unpack(state["genomes"], ga.get_arrays())[: len(state["parent_births"])]]


def by_rule(episode):
    """A score and a length that depend on genome, no-ops and seed in an irregular but fixed way."""
    code = sum(gene if isinstance(gene, int) else gene[0] for gene in episode.genome.to_json())
    steps = 1 + (code + episode.noops + episode.seed) % (episode.max_frames // 4)
    position = np.array([[code * episode.seed % 103, 0]], np.float32)
    return EpisodeResult(float((code * 7 + episode.seed) % 101), steps, 4 * steps, behaviour=position)


def generation(search, play=by_rule):
    report = None
    while report is None:
        report = search.tell([play(episode) for episode in search.ask().episodes])
    return report


def check_resuming(make, play=by_rule, *, generations=5):
    """Stopping and continuing after any generation equals never stopping; a name of an array stands for one content."""
    whole, contents = make(), {}
    expected = [generation(whole, play) for _ in range(generations)]
    for stop in range(generations):
        first, second = make(), make()
        reports = [generation(first, play) for _ in range(stop)]
        arrays = {name: array.copy() for name, array in first.get_arrays().items()}
        second.set_state(json.loads(json.dumps(first.get_state())), arrays)
        assert second.best == first.best
        reports += [generation(second, play) for _ in range(generations - stop)]
        assert reports == expected
        assert second.get_state() == whole.get_state()
        assert second.best == whole.best
        for name, array in {**arrays, **second.get_arrays()}.items():
            assert contents.setdefault(name, array.tobytes()) == array.tobytes()
        assert {*second.get_arrays()} == {*whole.get_arrays()}
        for name, array in whole.get_arrays().items():
            np.testing.assert_array_equal(second.get_arrays()[name], array)
