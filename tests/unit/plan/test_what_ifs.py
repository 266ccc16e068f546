import pytest
from neurozoo.errors import NeurozooError
from neurozoo.plan.configuration import check_config
from neurozoo.plan.planned_runs import PlannedRun
from neurozoo.plan.what_ifs import check_what_if


@pytest.mark.parametrize(
    ("run", "change", "sentence"),
    [
        ("ga/pong/small", {"action": "LFT"}, "action 'LFT' is unknown; did you mean 'LEFT'?"),
        ("ga/river_crossing/small", {"ram": ["49=1"]}, "river_crossing has no console memory that could be changed."),
        ("ga/pong/small", {"ram": ["128=1"]}, "ram 128=1: the console has the addresses 0 to 127"),
        ("ga/hard_maze/simple", {"action": "LEFT"}, "hard_maze has continuous outputs and no actions by name."),
        (
            "ga/pong/small",
            {"agent": "dqn/breakout/nature/1"},
            "The game of ga/pong/small/1 is not that of dqn/breakout",
        ),
        ("ga/pong/small", {"agent": "impala/pong/impala_shallow/1"}, "The protocol of ga/pong/small/1 is not that of"),
        ("ga/pong/small", {"agent": "ga/pong/large/2"}, ""),
        ("ga/pong/small", {"action": "LEFT"}, ""),
        ("imported/pong/small", {"action": "LEFT"}, ""),
    ],
)
def test_what_a_run_cannot_have_is_refused_before_it_is_trained(tmp_path, run, change, sentence):
    what_if = {"a": {"step": 5, **change}}
    experiments = {"other": {"algo": "ga", "games": ["alien"], "models": ["small"]}}
    config = check_config({"experiments": experiments, "pathvars": {"results": str(tmp_path)}, "what_if": what_if})
    said = ""
    try:
        check_what_if(config, PlannedRun(*run.split("/"), 1), config["what_if"]["a"])
    except NeurozooError as error:
        said = str(error)
    assert said.startswith(sentence) if sentence else not said
