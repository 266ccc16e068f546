import math

import pytest
from neurozoo.algorithms.neuroevolution.schedules import Schedule
from neurozoo.algorithms.neuroevolution.settings import GaSettings
from neurozoo.errors import NeurozooError


@pytest.mark.parametrize(
    ("setting", "values"),
    [
        ({"type": "constant", "initial": 0.5}, {0: 0.5, 1: 0.5, 100: 0.5}),
        ({"type": "ConstantSchedule", "value": 0.5}, {0: 0.5, 1: 0.5, 100: 0.5}),
        ({"type": "constant", "initial": 0.5, "final": 0.1, "length": 3}, {3: 0.5}),  # no end that it could move to
        ({"type": "linear", "initial": 0.5, "final": 0.1, "length": 4}, {0: 0.5, 1: 0.4, 3: 0.2, 4: 0.1, 5: 0.1}),
        (
            {"type": "LinearSchedule", "initial_p": 0.5, "final_p": 0.1, "schedule": 4, "field": "iteration"},
            {0: 0.5, 1: 0.4, 4: 0.1, 5: 0.1},
        ),
        ({"type": "exponential", "initial": 0.1, "final": 0.001, "length": 4}, {0: 0.1, 2: 0.01, 4: 0.001, 9: 0.001}),
        ({"type": "ExponentialSchedule", "initial": 0.1, "final": 0.001, "length": 4}, {2: 0.01, 9: 0.001}),
    ],
)
def test_values_between_start_and_end(setting, values):
    schedule = Schedule.from_setting(setting)
    found = {number: schedule.value(iteration=number, steps=0, frames=0) for number in values}
    assert found == pytest.approx(values)


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
