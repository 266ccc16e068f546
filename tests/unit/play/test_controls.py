import pytest
from neurozoo.environments.games import RIVER_ACTIONS
from neurozoo.play.controls import Controls, action_of, help_of


def pressed(*keys, **choices):
    controls = Controls(**choices)
    for key in keys:
        controls.press(key, 0.0)
    return controls


def test_speed_and_volume_change_by_five_and_end_somewhere():
    assert [pressed(*keys).delay for keys in ("", "aa", "sss", "ssssss", "ssssssa")] == [17, 27, 2, 0, 5]
    assert [pressed(*keys).volume for keys in ("]][", "[" * 30, "]" * 30)] == [55, 0, 100]


def test_m_takes_the_joystick_and_gives_it_back():
    assert pressed("m").is_manual
    assert not pressed("m", "m").is_manual
    assert not pressed("m", is_manual=True).is_manual
    assert pressed("right", "m").joystick(0) == "NOOP"  # keys pressed before do not count


def test_q_and_escape_end_the_game():
    assert [pressed(key).is_over for key in ("q", "escape", "x")] == [True, True, False]


@pytest.mark.parametrize(
    ("keys", "action"),
    [
        ([], "NOOP"),
        (["space"], "FIRE"),
        (["right"], "RIGHT"),
        (["left", "up"], "UPLEFT"),
        (["down", "right", "space"], "DOWNRIGHTFIRE"),
        (["space", "up"], "UPFIRE"),
        (["left", "right"], "RIGHT"),
        (["right", "left"], "LEFT"),
        (["up", "space", "return"], "NOOP"),
        (["up", "p"], "NOOP"),
        (["p", "up"], "UP"),
    ],
)
@pytest.mark.parametrize("hold", [None, 0.4])
def test_keys_pressed_together_are_one_action_of_the_joystick(keys, action, hold):
    assert pressed(*keys, hold=hold).joystick(0.1) == action


def test_keys_give_exactly_the_actions_of_the_emulator():
    import itertools

    import ale_py

    keys = ("up", "down", "left", "right", "space")
    names = {
        pressed(*some).joystick(0) for count in range(6) for some in itertools.permutations(keys, count)
    }  # fmt: skip
    assert names == {action.name for action in ale_py.Action}


def test_in_a_window_a_key_is_held_until_it_is_released():
    controls = pressed("left", "right", "space")
    assert controls.joystick(1000) == "RIGHTFIRE"
    controls.release("right")
    controls.release("x")
    assert controls.joystick(1000) == "LEFTFIRE"
    controls.release("space")
    assert controls.joystick(1000) == "LEFT"


def test_in_a_terminal_a_key_is_held_for_a_while_after_each_repetition():
    controls = Controls(hold=0.4)
    controls.press("up", 0.0)
    assert controls.joystick(0.3) == "UP"
    controls.press("space", 0.3)
    controls.press("up", 0.39)
    assert controls.joystick(0.6) == "UPFIRE"
    assert controls.joystick(0.75) == "UP"
    assert controls.joystick(0.8) == "NOOP"
    controls.press("up", 1.0)
    controls.press("down", 1.1)
    controls.press("return", 1.2)
    assert controls.joystick(1.2) == "NOOP"
    controls.press("up", 1.3)
    controls.press("down", 1.4)
    controls.press("up", 1.45)  # the later direction counts
    assert controls.joystick(1.5) == "UP"


def test_every_action_of_the_river_has_a_key():
    moves = [up + side for up in ("", "UP", "DOWN") for side in ("", "LEFT", "RIGHT")]
    positions = [move + button or "NOOP" for move in moves for button in ("", "FIRE")]
    assert {action_of(position, RIVER_ACTIONS) for position in positions} == set(range(len(RIVER_ACTIONS)))
    assert RIVER_ACTIONS[action_of("UPFIRE", RIVER_ACTIONS)] == "UP+HANDS"
    assert RIVER_ACTIONS[action_of("FIRE", RIVER_ACTIONS)] == "STAY+HANDS"
    assert RIVER_ACTIONS[action_of("NOOP", RIVER_ACTIONS)] == "STAY"


def test_a_position_without_an_action_is_its_direction_or_else_the_no_op():
    assert action_of("UPRIGHTFIRE", ["Fire", "Noop", "UpRight"]) == 2
    assert action_of("DOWN", ["Fire", "Noop", "UpRight"]) == 1
    assert action_of("DOWN", ["LEFT", "RIGHT"]) == 0


def test_only_keys_that_do_something_are_named():
    assert help_of(has_joystick=False, is_heard=False) == "a slower, s faster, q quit"
    assert "m manual, [ ] volume" in help_of(has_joystick=True, is_heard=True)
