"""The platform game: exact to measured scenarios of the original engine, and to its slow twin."""

import csv

import numpy as np
import pytest
from neurozoo.environments.platformer import simulator
from neurozoo.environments.platformer.simulator import COUNTS, KINDS, LOST, TILES, TIME_OUT, WON, replay
from neurozoo.errors import NeurozooError

from .levels import decisions, flat, wild
from .twin import Twin

STATUS = {"WIN": WON, "LOSE": LOST, "TIME_OUT": TIME_OUT}


def counts_of(game):
    return dict(zip(COUNTS, game.counts[-1].tolist(), strict=True))


def test_all_scenarios_of_the_original_engine_end_exactly_as_there(data_dir):
    with open(data_dir / "platformer_scenarios.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 50
    for row in rows:
        game = replay(
            flat(row["edits_on_flat_56x16"]), decisions(row["control_program"]), power=int(row["mario_state"])
        )
        counts = counts_of(game)
        found = {
            "status": game.status[-1],
            "agent_ticks": len(game.status) - 1,
            "completion": f"{game.completion[-1]:.4f}",
            "jumps": counts["jumps"],
            "kills_total": sum(counts[name] for name in simulator.KILLS),
            "kills_stomp": counts["stomp_kills"],
            "kills_shell": counts["shell_kills"],
            "kills_fall": counts["fall_kills"],
            "hurts": counts["hurts"],
            "coins_world": counts["coins"],
        }
        expected = {name: type(value)(row[name]) for name, value in found.items() if name != "status"}
        assert found == {**expected, "status": STATUS[row["status"]]}, row["scenario"]
        if row["agent_ticks"] != "0":  # without a decision, the original reports no place
            assert [f"{value:.3f}" for value in game.position[-1, :2]] == [row["final_x"], row["final_y"]], row[
                "scenario"
            ]


def random_program(rng, length):
    """Decisions that mostly hold on, so that runners get somewhere."""
    buttons, made = 0, []
    for _ in range(length):
        if rng.random() < 0.2:
            chosen = rng.random(5) < (0.12, 0.75, 0.1, 0.5, 0.5)
            buttons = int(np.sum(chosen * (1, 2, 4, 8, 16)))
        made.append(buttons)
    return np.array(made, np.uint8)


def replayed_as_by_its_twin(level, program, power):
    """Plays in the core and in the twin, compares every tick, and returns the core's game."""
    game = replay(level, program, power=power)
    twin = Twin([row.tobytes().decode() for row in level], power)
    for tick in range(len(game.status)):
        if tick:
            twin.step(int(program[tick - 1]))
        me = twin.me
        assert game.position[tick].tolist() == [me.x, me.y, me.vx, me.vy], tick
        assert dict(zip(COUNTS, game.counts[tick].tolist(), strict=True)) == twin.counts, tick
        things = [(KINDS.index(t.kind), t.x, t.y, t.vx, t.vy, t.facing, t.home, t.has_wings) for t in twin.things]
        assert [tuple(sprite) for sprite in game.sprites[tick].tolist()] == things, tick
        assert game.tiles[tick].tolist() == [[TILES.index(tile) for tile in row] for row in twin.tiles], tick
        assert game.power[tick] == twin.large + twin.fiery
    assert ("running", "won", "lost", "time_out")[game.status[-1]] == twin.status
    return game


def test_the_native_game_equals_its_twin_to_the_bit():
    seen, counted = set(), np.zeros(len(COUNTS), int)
    for seed in range(12):
        rng = np.random.default_rng(seed)
        for power in (0, 1, 2, 2):
            game = replayed_as_by_its_twin(wild(rng), random_program(rng, 250), power)
            seen |= {KINDS[int(kind)] for sprites in game.sprites for kind in sprites["kind"]}
            counted += game.counts[-1]
    # The comparison means something: nearly everything appears.
    assert seen >= set(KINDS) - {"bullet", "flower"}
    assert all(counted[COUNTS.index(name)] for name in ("jumps", "stomp_kills", "fire_kills", "hurts", "coins"))


def test_a_flower_stays_where_it_has_risen_to():
    game = replayed_as_by_its_twin(flat("U@0-0/10-10"), decisions("3:,12:J,*:", length=350), power=1)
    flowers = [sprites["y"][sprites["kind"] == KINDS.index("flower")] for sprites in game.sprites]
    heights = [float(y[0]) for y in flowers if len(y)]
    assert len(heights) > 300  # more ticks than a byte can count
    assert set(heights[20:]) == {160.0}


@pytest.mark.long(seconds=10)
def test_fewer_threads_than_wanted_play_the_same(python, core):
    found = python(
        """
import resource, sys
import numpy as np
from neurozoo.environments.platformer.simulator import play

levels = np.full((300, 16, 56), ord("-"), np.uint8)
levels[:, 14:] = ord("X")
levels[:, 13, 20] = np.frombuffer(b"gkr" * 100, np.uint8)
budgets = np.full((300, 1), 20, np.int32)
alone = play(levels, budgets, core=sys.argv[1])
pages = int(open("/proc/self/statm").read().split()[0])
resource.setrlimit(resource.RLIMIT_AS, (pages * 4096 + 400_000_000, resource.RLIM_INFINITY))  # stacks of 8 MB
many = play(levels, budgets, threads=300, core=sys.argv[1])
print(np.array_equal(alone.nodes, many.nodes) and np.array_equal(alone.status, many.status))
""",
        core,
    )
    assert found.stdout.strip() == "True"


def test_a_shell_that_slides_kills_what_it_meets():
    # The runner jumps onto a koopa, falls onto its shell, and so kicks it into two enemies that follow.
    game = replay(flat("k@10-10/13-13;g@14-14/13-13;g@16-16/13-13"), decisions("76:,79:J,*:"))
    counts = counts_of(game)
    assert counts["stomp_kills"] == 1
    assert counts["shell_kills"] == 2


@pytest.mark.parametrize("length", [0, 1, 40, 250])
def test_the_newest_tick_alone_is_the_last_of_all(length):
    rng = np.random.default_rng(length)
    level, program = wild(rng), random_program(rng, length)
    whole, newest = replay(level, program), replay(level, program, newest_only=True)
    for name, values in vars(whole).items():
        last = getattr(newest, name)
        assert len(last) == 1
        np.testing.assert_array_equal(last[0], values[-1], err_msg=name)


def test_unknown_tiles_and_other_sizes_are_refused():
    with pytest.raises(NeurozooError, match="in row 3, column 7 is unknown: character 122"):
        replay(flat("z@7-7/3-3"), decisions("*:"))
    with pytest.raises(NeurozooError, match=r"should have 16 x 56 tiles, but the shape is \[16,55\]"):
        replay(flat()[:, 1:], decisions("*:"))
