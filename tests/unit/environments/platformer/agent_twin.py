"""The A* agent as the description has it: the open list is searched from its beginning, nothing is remembered.

Source: section 13.4 of the description of DSAGE.
"""

import copy
from dataclasses import replace

import numpy as np

from .twin import JUMP, LEFT, RIGHT, SPEED, Twin

F = np.float32
ORDER = [
    JUMP, JUMP | SPEED, RIGHT | SPEED, RIGHT | JUMP | SPEED, RIGHT, RIGHT | JUMP, LEFT, LEFT | JUMP, LEFT | SPEED,
    LEFT | JUMP | SPEED,
]  # fmt: skip


def copied(game: Twin) -> Twin:
    new = copy.copy(game)
    new.tiles = [list(row) for row in game.tiles]
    new.things = [replace(thing) for thing in game.things]
    new.me = new.things[game.things.index(game.me)]
    new.counts, new.events, new.spawned_at = dict(game.counts), dict(game.events), dict(game.spawned_at)
    return new


def remaining_ticks(x, vx):
    way = F(10.90909091 * 1000 - 88.26446282 + 9.090909091 * float(vx))
    return (F(100000) - (way + x)) / F(10.9090909) - F(1000)


def can_jump(game):
    return game.may_jump or game.boost > 0


class Node:
    def __init__(self, parent, buttons):
        self.parent, self.buttons = parent, buttons
        self.depth = parent.depth + 1 if parent else 0
        self.remaining, self.visited, self.game = F(0), False, None
        if parent:
            speed, way = parent.game.me.vx, F(0)
            push = F(1.2) if buttons & SPEED else F(0.6)
            for _ in range(2):
                speed = speed + push * F(1 if buttons & RIGHT else -1 if buttons & LEFT else 0)
                way = way + speed
                speed = speed * F(0.89)
            self.estimate = remaining_ticks(parent.game.me.x + way, speed)

    @property
    def best_known(self):
        return self.remaining if self.remaining > 0 else self.estimate

    @property
    def cost(self):
        return self.best_known + F(2 * self.depth) * F(0.9)

    def simulate(self):
        before, self.game = self.parent.game, copied(self.parent.game)
        for _ in range(2):
            self.game.step(self.buttons)
        damage = 1 if before.large + before.fiery > self.game.large + self.game.fiery else 0
        if self.game.status == "lost":
            damage += 5 if self.game.me.y > 256 - 20 else 2
        self.remaining = remaining_ticks(self.game.me.x, self.game.me.vx) + F(damage) * F(1_000_000 - 100 * self.depth)
        if self.visited:
            self.remaining = self.remaining + F(1500)

    def children(self):
        if self.game.status != "running":
            return []
        jumps = can_jump(self.game) or (self.parent is not None and can_jump(self.parent.game))
        return [Node(self, buttons) for buttons in ORDER if jumps or not buttons & JUMP]


class AgentTwin:
    def __init__(self, budget):
        self.budget, self.plan, self.wait, self.best = budget, [], 0, None

    def act(self, game):
        self.wait -= 1
        if self.wait <= 0 or not self.plan:
            self.plan = self.extract()
            ahead = copied(game)
            self.wait = min(2, len(self.plan))
            for buttons in self.plan[: self.wait]:
                ahead.step(buttons)
            self.start(copied(game) if ahead.status == "lost" else ahead)
        self.search()
        return self.plan.pop(0) if self.plan else 0

    def extract(self):
        if self.best is None:
            return [RIGHT | SPEED] * 10
        plan, node = [], self.best
        while node.parent:
            plan = [node.buttons] * 2 + plan
            node = node.parent
        return plan

    def start(self, game):
        root = Node(None, 0)
        root.game, root.estimate = game, remaining_ticks(game.me.x, F(0))
        self.open, self.seen, self.x = root.children(), [], game.me.x
        self.best = self.furthest = root

    def search(self):
        current, good = self.best, False
        for _ in range(self.budget):
            if not self.open or (good and self.best.game.me.x - self.x >= 176):
                break
            current = min(self.open, key=lambda node: node.cost)  # the first of equal ones
            self.open.remove(current)
            current.simulate()
            good = False
            x, y, time = int(current.game.me.x), int(current.game.me.y), 2 * current.depth
            near = any(abs(a - x) < 2 and abs(b - y) < 2 and 0 <= time - c < 5 for a, b, c in self.seen)
            if not current.visited and near:
                current.visited = True
                current.remaining = current.estimate = current.remaining + F(1500)
                self.open.append(current)
            elif current.remaining - current.estimate > F(0.1):
                current.estimate = current.remaining
                self.open.append(current)
            else:
                good = True
                self.seen.append((x, y, time))
                self.open += current.children()
                if self.best.best_known > current.best_known:
                    self.best = current
                if current.game.me.x > self.furthest.game.me.x:
                    self.furthest = current
        if current.game.me.x - self.x < 176 and self.furthest.game.me.x > self.best.game.me.x + 20:
            self.best = self.furthest
