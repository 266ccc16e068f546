"""The platform game in slow and plain Python: numbers are NumPy's 32-bit floats, sprites are objects in a list.

Source: section 13.3 of the description of DSAGE.
"""

from dataclasses import dataclass, field

import numpy as np

F = np.float32
ZERO = F(0)
LEFT, RIGHT, DOWN, SPEED, JUMP = 1, 2, 4, 8, 16
ENEMIES = {"g": "goomba", "k": "green_koopa", "r": "red_koopa", "y": "spiky"}
ENEMY_KINDS = tuple(ENEMIES.values())
TALL = ("green_koopa", "red_koopa", "flower")
SOLID_CHARACTERS = "X#@!BCQ<>[]?SUD%tT"  # for default ends
MEANINGS = {
    **dict.fromkeys("-|MF", "air"), **dict.fromkeys("X#<>[]tTb", "solid"), "D": "used", "B": "cannon", "S": "brick",
    **dict.fromkeys("!QC", "coin_block"), **dict.fromkeys("@?U", "power_block"), "L": "life_block", "2": "hidden_coin",
    "1": "hidden_life", "%": "platform", "o": "coin", **dict.fromkeys("gkryGKRY", "air"),
}  # fmt: skip
BLOCKING = ("solid", "used", "cannon", "brick", "coin_block", "power_block", "life_block")
EVENTS = ("jumps", "stomp_kills", "shell_kills", "fire_kills", "fall_kills", "hurts")


def tile_of(pixels) -> int:
    return int(pixels / F(16))  # towards zero


@dataclass(eq=False)
class Thing:
    kind: str
    x: np.float32
    y: np.float32
    vx: np.float32 = ZERO
    vy: np.float32 = ZERO
    facing: int = 1
    home: int = -1
    has_wings: bool = False
    age: int = 0
    on_ground: bool = False
    alive: bool = True


@dataclass
class Twin:
    """A game that is stepped with sets of buttons, as bits."""

    rows: list  # 16 strings of 56 characters
    power: int = 0
    counts: dict = field(default_factory=dict)

    def __post_init__(self):
        self.tiles = [[MEANINGS.get(character, "solid") for character in row] for row in self.rows]
        for r, row in enumerate(self.rows):
            for c, character in enumerate(row):
                if character == "*" and (r == 0 or self.rows[r - 1][c] != "*"):
                    self.tiles[r][c] = "cannon"
        starts = [(r, c) for r in range(16) for c in range(56) if self.rows[r][c] == "M"]
        ends = [c for r in range(16) for c in range(56) if self.rows[r][c] == "F"]
        row, column = starts[-1] if starts else (self.default_row(0), 0)
        self.finish = F(16 * (ends[-1] if ends else 55))
        names = (*EVENTS, "coins", "tile_coins", "lives", "mushrooms", "flowers", "longest_air")
        self.counts = dict.fromkeys(names, 0)
        self.me = Thing("runner", F(16 * column + 8), F(16 * row + 15))
        self.things, self.added = [self.me], []
        self.large, self.fiery, self.ducking = self.power > 0, self.power > 1, False
        self.was_on_ground = self.may_jump = self.can_throw = False
        self.height, self.boost, self.protection, self.pause = 12, 0, 0, 0
        self.timer, self.tick, self.status = 20_000, 0, "running"
        self.spawned_at, self.jump_x, self.jump_tick = {}, F(-100), 0
        self.camera, self.events = F(0), dict.fromkeys(EVENTS, 0)
        self.step(0)

    def default_row(self, column):
        found = False
        for row in range(15, -1, -1):
            is_solid = self.rows[row][column] in SOLID_CHARACTERS
            if found and not is_solid:
                return row
            found = found or is_solid
        return -1

    # ---- one tick

    def step(self, buttons):
        if self.status != "running":
            return
        if self.pause:
            self.pause -= 1
            for name in EVENTS:  # the original does not forget the last tick's events meanwhile
                self.counts[name] += self.events[name]
            return
        self.timer -= 30
        if self.timer <= 0:
            self.status = "time_out"
            return
        self.tick += 1
        before = dict(self.counts)
        self.camera = min(max(self.me.x - F(128), F(0)), F(56 * 16 - 256))
        self.shells, self.fireballs = [], []
        self.remove_lost()
        self.spawn()
        for thing in self.things:
            if thing.alive:
                self.move_runner(buttons) if thing is self.me else self.move_thing(thing)
        for thing in self.things:
            if thing.alive and thing is not self.me:
                self.meet(thing)
        self.shells_meet()
        self.fireballs_meet()
        self.things = [t for t in self.added + self.things if t.alive or t is self.me]
        self.added = []
        self.events = {name: self.counts[name] - before[name] for name in EVENTS}

    def remove_lost(self):
        self.on_screen = 0
        for thing in self.things:
            if thing.x < self.camera - 64 or thing.x > self.camera + 320 or thing.y > 288:
                thing.alive = False
                if thing is self.me:
                    self.status = "lost"
                if thing.kind in (*ENEMY_KINDS, "bullet") and thing.y > 288:
                    self.counts["fall_kills"] += 1
            elif thing.kind == "fireball":
                self.on_screen += 1

    def spawn(self):
        camera = int(self.camera)
        for column in range(camera // 16 - 1, int(self.camera + 256) // 16 + 2):
            middle = F(16 * column + 8)
            direction = -1 if middle > self.me.x + 16 else 1 if middle < self.me.x - 16 else 0
            for row in range(-1, 18):
                inside = 0 <= row < 16 and 0 <= column < 56
                character = self.rows[row][column] if inside else "-"
                if character.lower() in ENEMIES:
                    home = row * 56 + column
                    is_there = any(thing.home == home for thing in self.things)
                    if not is_there and self.spawned_at.get(home) != self.tick - 1:
                        kind, wings = ENEMIES[character.lower()], character.isupper()
                        self.add(
                            Thing(kind, middle, F(16 * row + 15), facing=direction or 1, home=home, has_wings=wings)
                        )
                    self.spawned_at[home] = self.tick
                if direction and self.tick % 100 == 0 and self.tile(column, row) == "cannon":
                    self.add(Thing("bullet", middle + F(8 * direction), F(16 * row + 15), facing=direction))

    def add(self, thing):
        self.added.append(thing)
        self.move_thing(thing)

    # ---- tiles

    def tile(self, column, row):
        return self.tiles[row][min(max(column, 0), 55)] if 0 <= row < 16 else "air"

    def set_tile(self, column, row, tile):
        if 0 <= row < 16 and 0 <= column < 56:
            self.tiles[row][column] = tile

    def blocks(self, column, row, vy):
        tile = self.tile(column, row)
        return tile in BLOCKING or (tile == "platform" and vy > 0) or (tile.startswith("hidden") and vy < 0)

    def bump(self, column, row, can_break):
        tile = self.tile(column, row)
        if tile in ("coin_block", "power_block", "life_block", "hidden_coin", "hidden_life"):
            self.bump_into(column, row - 1)
            self.set_tile(column, row, "used")
            if tile.endswith("coin") or tile == "coin_block":
                return self.collect_coin()
            kind = ("flower" if self.large else "mushroom") if tile == "power_block" else "life_mushroom"
            self.add(Thing(kind, F(16 * column + 9), F(16 * row + 8)))
        elif tile == "brick":
            self.bump_into(column, row - 1)
            if can_break:
                self.set_tile(column, row, "air")

    def bump_into(self, column, row):
        self.collect_tile(column, row)
        for thing in self.things:
            over = thing.x + 4 > 16 * column and thing.x - 4 < 16 * column + 16 and row == tile_of(thing.y - 1)
            if thing.alive and over:
                if thing.kind in ENEMY_KINDS:
                    thing.alive = False
                elif thing.kind in ("shell", "mushroom", "life_mushroom"):
                    thing.facing, thing.vy = -self.me.facing, F(-10)

    def collect_tile(self, column, row):
        if self.tile(column, row) == "coin":
            self.counts["tile_coins"] += 1
            self.collect_coin()
            self.set_tile(column, row, "air")

    def collect_coin(self):
        self.counts["coins"] += 1
        self.counts["lives"] += self.counts["coins"] % 100 == 0

    # ---- moves

    def height_of(self, thing):
        if thing is self.me:
            return self.height
        return 24 if thing.kind in TALL else 8 if thing.kind == "fireball" else 12

    def probe(self, thing, x, y, vx, vy):
        column, row = tile_of(x), tile_of(y)
        if (column, row) == (tile_of(thing.x), tile_of(thing.y)):
            return False
        blocks = self.blocks(column, row, vy)
        if thing is self.me:
            self.collect_tile(column, row)
            if blocks and vy < 0:
                self.bump(column, row, self.large)
        elif thing.kind == "shell" and blocks and vy == 0 and vx != 0:
            self.bump(column, row, True)
        return blocks

    def move(self, thing, dx, dy):
        while dx > 8 or dx < -8:
            part = F(8) if dx > 0 else F(-8)
            if not self.move_part(thing, part, F(0)):
                return False
            dx = dx - part
        while dy > 8 or dy < -8:
            part = F(8) if dy > 0 else F(-8)
            if not self.move_part(thing, F(0), part):
                return False
            dy = dy - part
        return self.move_part(thing, dx, dy)

    def move_part(self, thing, dx, dy):
        height = self.height_of(thing)
        x, y = thing.x + dx, thing.y + dy
        stopped = False
        if dy > 0:
            corners = [(x - 4, y, F(0)), (x + 4, y, F(0)), (x - 4, y + 1, dy), (x + 4, y + 1, dy)]
            stopped = any(self.probe(thing, px, py, dx, vy) for px, py, vy in corners)
        if dy < 0:
            stopped = any(self.probe(thing, px, y - height, dx, dy) for px in (x, x - 4, x + 4))
        if dx != 0:
            edge = x + 4 if dx > 0 else x - 4
            hits = [self.probe(thing, edge, y - above, dx, dy) for above in (height, height // 2, 0)]
            stopped = stopped or any(hits)
            if thing.kind == "red_koopa" and thing.on_ground:
                stopped = stopped or not self.blocks(tile_of(edge), int(thing.y / F(16) + F(1)), 1)
        if not stopped:
            thing.x, thing.y = x, y
            return True
        if dx < 0:
            thing.x, thing.vx = F(int((thing.x - 4) / F(16)) * 16 + 4), F(0)
        if dx > 0:
            thing.x, thing.vx = F(int((thing.x + 4) / F(16) + F(1)) * 16 - 5), F(0)
        if dy < 0:
            thing.y, thing.vy = F(int((thing.y - height) / F(16)) * 16 + height), F(0)
            if thing is self.me:
                self.boost = 0
        if dy > 0:
            foot = thing.y - 1 if thing is self.me else thing.y
            thing.y, thing.on_ground = F(int(foot / F(16) + F(1)) * 16 - 1), True
        return False

    def move_runner(self, buttons):
        me = self.me
        left, right, speed, jump = (bool(buttons & bit) for bit in (LEFT, RIGHT, SPEED, JUMP))
        self.protection = max(self.protection - 1, 0)
        self.was_on_ground = me.on_ground
        if me.on_ground:
            self.ducking = bool(buttons & DOWN) and self.large
        self.height = 24 if self.large and not self.ducking else 12
        me.facing = 1 if me.vx > 2 else -1 if me.vx < -2 else me.facing
        if not jump:
            self.boost = 0
        elif me.on_ground and self.may_jump:
            self.boost, me.vy, me.on_ground = 7, F(7) * F(-1.9), False
            above = me.y - 4 - self.height
            if not any(self.probe(me, x, above, F(0), F(-4)) for x in (me.x, me.x - 4, me.x + 4)):
                self.jump_x, self.jump_tick = me.x, self.tick
                self.counts["jumps"] += 1
        elif self.boost > 0:
            me.vy = F(self.boost) * F(-1.9)
            self.boost -= 1
        push = F(1.2) if speed else F(0.6)
        if not self.ducking:
            if left:
                me.vx, me.facing = me.vx - push, -1
            if right:
                me.vx, me.facing = me.vx + push, 1
        if speed and self.can_throw and self.fiery and self.on_screen < 2:
            self.add(Thing("fireball", me.x + F(6 * me.facing), me.y - 20, vy=F(4), facing=me.facing))
        self.can_throw = not speed
        self.may_jump = me.on_ground and not jump
        if abs(me.vx) < F(0.5):
            me.vx = F(0)
        me.on_ground = False
        self.move(me, me.vx, F(0))
        self.move(me, F(0), me.vy)
        if not self.was_on_ground and me.on_ground and self.jump_x >= 0:
            self.counts["longest_air"] = max(self.counts["longest_air"], self.tick - self.jump_tick)
            self.jump_x = F(-100)
        if me.x < 0:
            me.x, me.vx = F(0), F(0)
        if me.x > self.finish:
            me.x, me.vx, self.status = self.finish, F(0), "won"
        me.vy, me.vx = me.vy * F(0.85), me.vx * F(0.89)
        if not me.on_ground:
            me.vy = me.vy + 3

    def move_thing(self, thing):
        kind = thing.kind
        if kind == "bullet":
            thing.vx = F(4 * thing.facing)
            thing.x = thing.x + thing.vx
            return
        if kind == "flower":
            thing.age += 1
            thing.y = thing.y - (thing.age < 9)
            return
        if kind in ("mushroom", "life_mushroom") and thing.age < 9:
            thing.age += 1
            thing.y = thing.y - 1
            return
        thing.facing = 1 if thing.vx > 2 else -1 if thing.vx < -2 else thing.facing
        thing.vx = F(thing.facing) * F({"shell": 11, "fireball": 8}.get(kind, 1.75))
        if kind == "shell" and thing.facing:
            self.shells.append(thing)
        if kind == "fireball":
            self.fireballs.append(thing)
        if not self.move(thing, thing.vx, F(0)):
            if kind == "fireball":
                thing.alive = False
                return
            thing.facing = -thing.facing
        thing.on_ground = False
        self.move(thing, F(0), thing.vy)
        if kind == "fireball" and thing.on_ground:
            thing.vy = F(-10)
        damping, gravity = (0.95, 1.5) if kind == "fireball" else (0.95, 0.6) if thing.has_wings else (0.85, 2)
        thing.vy, thing.vx = thing.vy * F(damping), thing.vx * F(0.89)
        if not thing.on_ground:
            thing.vy = thing.vy + F(gravity)
        elif thing.has_wings:
            thing.vy = F(-10)

    # ---- meetings

    def touches(self, thing, other, reach):
        dx, dy = other.x - thing.x, other.y - thing.y
        return -reach < dx < reach and -self.height_of(thing) < dy < self.height_of(other)

    def meet(self, thing):
        me = self.me
        is_enemy = thing.kind in ENEMY_KINDS
        if thing.kind == "fireball" or not self.touches(thing, me, 12 if is_enemy else 16):
            return
        is_stomp = me.vy > 0 and me.y <= thing.y and not (me.on_ground and self.was_on_ground)
        if thing.kind in ("mushroom", "flower", "life_mushroom"):
            thing.alive = False
            if thing.kind == "life_mushroom":
                self.counts["lives"] += 1
            elif self.fiery if thing.kind == "flower" else self.large:
                self.collect_coin()
            else:
                self.counts[thing.kind + "s"] += 1
                self.large, self.fiery, self.pause = True, thing.kind == "flower" or self.fiery, 9
        elif thing.kind == "shell":
            if is_stomp:
                self.stomp(thing)
                thing.facing = 0 if thing.facing else me.facing
                thing.vx = thing.vx if thing.facing else F(0)
            elif thing.facing:
                self.hurt()
            else:
                self.protection, thing.facing = 1, me.facing
        elif not is_stomp or thing.kind == "spiky":
            self.hurt()
        else:
            self.stomp(thing)
            if thing.has_wings:
                thing.has_wings, thing.vy = False, F(0)
                return
            thing.alive = False
            self.counts["stomp_kills"] += 1
            if thing.kind.endswith("koopa"):
                self.add(Thing("shell", thing.x, thing.y, vy=F(-5), facing=0, home=thing.home))

    def stomp(self, thing):
        self.move(self.me, F(0), thing.y - self.height_of(thing) // 2 - self.me.y)
        self.boost, self.protection, self.me.on_ground = 8, 1, False
        self.me.vy = F(8) * F(-1.9)

    def hurt(self):
        self.counts["hurts"] += 1
        if self.protection or not self.me.alive:
            return
        if not self.large:
            self.me.alive, self.status = False, "lost"
            return
        self.pause, self.protection = 9, 32
        self.large, self.fiery = self.fiery, False

    def shells_meet(self):
        for shell in self.shells:
            for other in self.things:
                can_be_hit = other.kind in (*ENEMY_KINDS, "bullet", "shell") and other is not shell
                if can_be_hit and shell.alive and other.alive and self.touches(other, shell, 16):
                    other.alive = False
                    self.counts["shell_kills"] += 1

    def fireballs_meet(self):
        for fireball in self.fireballs:
            for other in self.things:
                can_be_hit = other.kind in (*ENEMY_KINDS, "bullet", "shell")
                if can_be_hit and fireball.alive and other.alive and self.touches(other, fireball, 16):
                    fireball.alive = False
                    if other.kind in ENEMY_KINDS and other.kind != "spiky":
                        other.alive = False
                        self.counts["fire_kills"] += 1
                    elif other.kind == "shell" and not other.facing:
                        other.vy = F(-5)
