import math

import pytest
from neurozoo.algorithms.neuroevolution.schedules import Schedule
from neurozoo.algorithms.neuroevolution.settings import GaSettings
from neurozoo.errors import NeurozooError


def at(schedule, **where):
    return schedule.value(**{"iteration": 0, "steps": 0, "frames": 0, **where})


def test_a_number_is_constant():
    schedule = Schedule.from_setting(0.002)
    assert [at(schedule, iteration=i) for i in (0, 1, 10**9)] == [0.002] * 3


@pytest.mark.parametrize("setting", [{"type": "constant", "initial": 0.5}, {"type": "ConstantSchedule", "value": 0.5}])
def test_a_constant_stays_what_it_is(setting):
    assert [at(Schedule.from_setting(setting), iteration=i) for i in (0, 1, 100)] == [0.5] * 3


def test_a_constant_has_no_end_that_it_could_move_to():
    schedule = Schedule.from_setting({"type": "constant", "initial": 0.5, "final": 0.1, "length": 3})
    assert at(schedule, iteration=3) == 0.5


@pytest.mark.parametrize(
    "setting",
    [
        {"type": "linear", "initial": 0.5, "final": 0.1, "length": 4, "field": "iteration"},
        {"type": "LinearSchedule", "initial_p": 0.5, "final_p": 0.1, "schedule": 4, "field": "iteration"},
        {"type": "linear", "initial": 0.5, "final": 0.1, "length": 4},
    ],
)
def test_a_line_falls_evenly_and_ends(setting):
    schedule = Schedule.from_setting(setting)
    assert [at(schedule, iteration=i) for i in range(6)] == pytest.approx([0.5, 0.4, 0.3, 0.2, 0.1, 0.1])


@pytest.mark.parametrize("name", ["exponential", "ExponentialSchedule"])
def test_an_exponential_is_even_in_the_logarithm(name):
    schedule = Schedule.from_setting({"type": name, "initial": 0.1, "final": 0.001, "length": 4})
    assert [at(schedule, iteration=i) for i in (0, 2, 4, 9)] == pytest.approx([0.1, 0.01, 0.001, 0.001])


@pytest.mark.parametrize(
    ("field", "counted"), [("timesteps_so_far", "steps"), ("steps", "steps"), ("frames", "frames")]
)
def test_a_schedule_looks_at_its_own_field(field, counted):
    schedule = Schedule.from_setting({"type": "linear", "initial": 1, "final": 3, "length": 100, "field": field})
    where = {"iteration": 100, "steps": 100, "frames": 100, counted: 50}
    assert schedule.value(**where) == 2


LINE = {"type": "linear", "initial": 1, "final": 2, "length": 3}


@pytest.mark.parametrize(
    ("setting", "complaint"),
    [
        ({"type": "linaer"}, "schedule type 'linaer' is unknown; did you mean 'linear'"),
        ({"initial": 0.1}, "schedule type 'None' is unknown"),
        ({"type": "constant"}, "needs initial"),
        ({"type": "linear", "initial": 0.1, "final": 0.2}, "A linear schedule needs initial, final and length"),
        (LINE | {"field": "frame"}, "did you mean 'frames'"),
        (LINE | {"lenght": 3}, "lenght"),
        (LINE | {"type": ["linear"]}, "type"),
        *((LINE | {"final": value}, "final") for value in (0, -1, math.nan, math.inf, "0.1", None, [1], True)),
        *((value, "mutation_power") for value in (0, -0.1, math.nan, math.inf, "2e-3", True, None, [0.1])),
    ],
)
def test_what_is_no_schedule_is_refused(setting, complaint):
    with pytest.raises(NeurozooError, match=complaint):
        GaSettings(mutation_power=setting)
