// Plays the river crossing task on a page. `Core` asks the compiled core (native/browser/river.cc), which alone knows
// rules and networks; the rest draws what it answers. Needs no library and loads nothing.
"use strict";

const SIDE = 20;
const KINDS = ["grass", "resource", "stone", "water", "trap", "agent"];
const [GRASS, RESOURCE, STONE, WATER, TRAP, AGENT] = KINDS.keys();
const STEP_LIMIT = 150;
const WIDEST = 4;
const SEEDS = 2 ** 31;

// ---- the core ----

class Core {
  static async open(bytes, agent) {
    const proc_exit = (code) => { throw new Error(`The core has stopped with the code ${code}.`); };
    const { instance } = await WebAssembly.instantiate(bytes, { wasi_snapshot_preview1: { proc_exit } });
    const core = Object.assign(new Core(), { called: instance.exports });
    core.called._initialize();
    const put = (Type, values) => {
      const place = core.called.malloc(values.length * Type.BYTES_PER_ELEMENT);
      new Type(core.called.memory.buffer, place, values.length).set(values);
      return place;
    };
    const plan = put(BigInt64Array, agent.plan.map(BigInt));
    core.called.river_open(plan, put(Float32Array, agent.scales), agent.layers, put(Float32Array, agent.weights));
    return core;
  }

  _copy(Type, place, count) { return new Type(this.called.memory.buffer, place, count).slice(); }

  start(seed, width) { this.called.river_start(seed, width); }
  step() { this.called.river_step(); }
  back() { this.called.river_back(); }
  edit(column, row, kind) { this.called.river_edit(column, row, kind); }

  facts() {
    const names = ["column", "row", "carries", "width", "age", "isOver", "action", "cycles", "canGoBack"];
    const values = this._copy(Int32Array, this.called.river_facts(), names.length);
    return Object.fromEntries(names.map((name, i) => [name, values[i]]));
  }

  cells() { return this._copy(Uint8Array, this.called.river_cells(), SIDE * SIDE); } // by row * 20 + column
  map() { return this._copy(Float32Array, this.called.river_map(), SIDE * SIDE * 3); } // desire, hands, agent
  scores() { return this._copy(Float32Array, this.called.river_scores(), 18); }
  desires() { return this._copy(Float32Array, this.called.river_desires(), 20); } // (carries, kind, desire and hands)
  heights(cycle) { return this._copy(Float32Array, this.called.river_heights(cycle), SIDE * SIDE); }

  // The places where the agent would climb on the heights that were asked for last.
  path() {
    const places = this._copy(Int16Array, this.called.river_path(), SIDE * SIDE + 1);
    return [...places.subarray(0, places.indexOf(-1))];
  }
}

// ---- colours ----

const LOOKS = {
  dark: {
    ink: "#f4f3ef", halo: "rgb(10 11 14 / .75)",
    ramp: [[20, 20, 32], [40, 17, 84], [95, 20, 110], [160, 42, 99], [217, 77, 61], [246, 135, 18], [252, 205, 60], [252, 255, 190]],
  },
  light: {
    ink: "#1d1d1b", halo: "rgb(255 255 255 / .8)",
    ramp: [[233, 231, 221], [252, 217, 178], [254, 179, 126], [247, 124, 96], [212, 72, 103], [150, 45, 125], [89, 22, 125], [36, 14, 80]],
  },
};
const COLOURS = {
  resource: [255, 214, 40], stone: [150, 150, 160], water: [36, 124, 235], trap: [226, 44, 44],
  free: [255, 60, 140], carrying: [150, 92, 255],
};
const mix = (below, above, share) => below.map((value, i) => Math.round(value + (above[i] - value) * share));
const rgb = (colour) => `rgb(${colour[0]} ${colour[1]} ${colour[2]})`;

function shade(ramp, share) {
  const at = Math.min(Math.max(share, 0), 1) * (ramp.length - 1);
  const low = Math.min(Math.floor(at), ramp.length - 2);
  return mix(ramp[low], ramp[low + 1], at - low);
}

// Heights fall by half from cell to cell, so they are drawn by their logarithm: from 0 (0.001 and below) to 1 (15).
const LOWEST = 1e-3;
const shareOf = (height) => Math.log(Math.max(height, LOWEST) / LOWEST) / Math.log(15 / LOWEST);

// ---- the scene: what is played, and which cycle of the landscape is shown ----

class Scene {
  constructor(core) {
    this.core = core;
    this.ends = new Map(); // of worlds that nobody changed, by name: whether the agent got across
  }

  start(seed, width) {
    Object.assign(this, { seed, width, steps: 0, isEdited: false, past: [], wanted: null });
    this.core.start(seed, width);
    this._look();
  }

  // Reads what the core has planned. A new plan is shown from its first cycle on; after the end, it means nothing.
  _look() {
    this.facts = this.core.facts();
    this.cells = this.core.cells();
    const { isOver, column, row } = this.facts;
    this.isAcross = isOver && this.cells[row * SIDE + column] === RESOURCE;
    if (isOver) {
      [this.path, this.cycle] = [[], this.facts.cycles];
      if (!this.isEdited) this.ends.set(`${this.seed}/${this.width}`, this.isAcross);
      return;
    }
    this.desires = this.core.desires();
    const wanted = this.core.map().filter((_, i) => i % 3 === 0);
    if (this.wanted === null || wanted.some((value, i) => value !== this.wanted[i])) this.cycle = 1;
    this.wanted = wanted;
    this.show(this.cycle);
  }

  show(cycle) {
    if (this.facts.isOver) return;
    this.cycle = Math.min(Math.max(cycle, 1), this.facts.cycles);
    this.heights = this.core.heights(this.cycle);
    this.path = this.core.path();
  }

  get isPlanned() { return this.cycle === this.facts.cycles; }

  step() {
    this._keep();
    this.steps += 1;
    this.core.step();
    this._look();
  }

  back() {
    if (!this.facts.canGoBack) return;
    [this.steps, this.isEdited] = this.past.pop();
    this.core.back();
    this._look();
  }

  // Takes the step back that ended the world, if one did. The core counts its steps from here on, the page all of them.
  edit(column, row, kind) {
    if (this.facts.isOver) this.back();
    this._keep();
    this.isEdited = true;
    this.core.edit(column, row, kind);
    this._look();
  }

  _keep() { this.past.push([this.steps, this.isEdited]); }

  // The next world: a wider river if the agent got across, and from the widest on another one.
  next() {
    const isLast = this.width === WIDEST;
    if (this.isAcross && !isLast) this.start(this.seed, this.width + 1);
    else this.start((this.seed + 1) % SEEDS, isLast && this.isAcross ? 0 : this.width);
  }

  get end() {
    const { isOver, age, column, row } = this.facts;
    if (!isOver) return "";
    const under = this.cells[row * SIDE + column];
    if (this.isAcross) return `Across in ${this.steps} steps`;
    if (under === WATER) return "Drowned";
    if (under === TRAP) return "Caught in a trap";
    return age >= STEP_LIMIT ? `Not across in ${this.steps} steps` : "Walked off the map";
  }

  get thought() {
    const { carries, action, isOver } = this.facts;
    if (isOver) return this.isAcross ? "It is there." : "It is lost. Step back, or change something, and it goes on.";
    const told = (wants) => {
      const names = KINDS.slice(RESOURCE, AGENT).filter((_, i) => wants(this.desires[carries * 10 + (i + 1) * 2]));
      const plural = names.map((name) => ({ resource: "the resource", stone: "stones", trap: "traps" })[name] || name);
      return plural.join(", ").replace(/, ([^,]*)$/, " and $1");
    };
    const wanted = told((value) => value > 0.005), feared = told((value) => value < -0.005);
    const parts = [wanted && `wants ${wanted}`, feared && `avoids ${feared}`].filter(Boolean).join(" and ");
    const waits = action % 9 === 0 ? " No step leads uphill, so it waits." : "";
    return `It ${carries ? "carries a stone" : "has free hands"}, ${parts || "wants nothing"}.${waits}`;
  }
}

// ---- drawing ----

class Canvas {
  constructor(element) {
    this.element = element;
    this.context = element.getContext("2d");
  }

  clear() {
    const box = this.element.getBoundingClientRect(), scale = window.devicePixelRatio || 1;
    [this.width, this.height] = [box.width, box.height];
    const [width, height] = [Math.round(box.width * scale), Math.round(box.height * scale)];
    if (this.element.width !== width || this.element.height !== height) Object.assign(this.element, { width, height });
    this.context.setTransform(scale, 0, 0, scale, 0, 0);
    this.context.clearRect(0, 0, box.width, box.height);
  }

  shape(points, fill) {
    this.context.beginPath();
    points.forEach(([x, y], i) => (i ? this.context.lineTo(x, y) : this.context.moveTo(x, y)));
    this.context.closePath();
    this.context.fillStyle = fill;
    this.context.fill();
  }

  dots(points, size, look) {
    for (const [colour, more] of [[look.halo, 1], [look.ink, 0]]) {
      this.context.fillStyle = colour;
      for (const [x, y] of points) {
        this.context.beginPath();
        this.context.arc(x, y, size + more, 0, 7);
        this.context.fill();
      }
    }
  }

  place(event) {
    const box = this.element.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }
}

class MapView extends Canvas {
  draw(scene, shown, look, pointed) {
    this.clear();
    const { context } = this, size = this.width / SIDE;
    scene.cells.forEach((cell, place) => {
      const x = (place % SIDE) * size, y = Math.floor(place / SIDE) * size;
      const ground = shade(look.ramp, shown.shares[place]);
      context.fillStyle = rgb(cell === WATER ? mix(ground, COLOURS.water, 0.82) : ground);
      context.fillRect(x, y, size + 0.5, size + 0.5);
    });
    const draws = { [STONE]: this._block, [TRAP]: this._trap, [RESOURCE]: this._diamond };
    scene.cells.forEach((cell, place) => {
      draws[cell]?.call(this, (place % SIDE) * size, Math.floor(place / SIDE) * size, size);
    });
    this.dots(scene.path.slice(1).map((p) => [((p % SIDE) + 0.5) * size, (Math.floor(p / SIDE) + 0.5) * size]), size * 0.11, look);
    this._agent((shown.column + 0.5) * size, (shown.row + 0.5) * size, size * 0.46, scene.facts.carries);
    if (pointed) {
      context.strokeStyle = look.ink;
      context.lineWidth = 2;
      context.strokeRect(pointed[0] * size, pointed[1] * size, size, size);
    }
  }

  _block(x, y, size) {
    const { context } = this;
    for (const [fill, down] of [[mix(COLOURS.stone, [0, 0, 0], 0.45), 0.19], [COLOURS.stone, 0.09]]) {
      context.fillStyle = rgb(fill);
      context.beginPath();
      context.roundRect(x + 0.12 * size, y + down * size, 0.76 * size, 0.76 * size, size * 0.2);
      context.fill();
    }
  }

  _trap(x, y, size) {
    const { context } = this;
    context.lineCap = "round";
    for (const [colour, width] of [["#fff", 0.3], [rgb(COLOURS.trap), 0.2]]) {
      context.strokeStyle = colour;
      context.lineWidth = size * width;
      context.beginPath();
      for (const [from, to] of [[0.24, 0.76], [0.76, 0.24]]) {
        context.moveTo(x + from * size, y + 0.24 * size);
        context.lineTo(x + to * size, y + 0.76 * size);
      }
      context.stroke();
    }
  }

  _diamond(x, y, size) {
    const at = (reach) => [[0.5, 0.5 - reach], [0.5 + reach, 0.5], [0.5, 0.5 + reach], [0.5 - reach, 0.5]]
      .map(([a, b]) => [x + a * size, y + b * size]);
    this.shape(at(0.62), "#5c4700");
    this.shape(at(0.5), rgb(COLOURS.resource));
    this.shape(at(0.22), "#fff7cf");
  }

  _agent(x, y, radius, carries) {
    const { context } = this;
    context.beginPath();
    context.arc(x, y, radius, 0, 7);
    context.fillStyle = rgb(carries ? COLOURS.carrying : COLOURS.free);
    context.fill();
    context.lineWidth = Math.max(1.5, radius * 0.22);
    context.strokeStyle = "#fff";
    context.stroke();
    if (carries) this._block(x - radius * 0.62, y - radius * 0.62, radius * 1.24);
  }

  cellAt(event) {
    return this.place(event).map((value) => Math.floor((value / this.width) * SIDE));
  }
}

class ReliefView extends Canvas {
  draw(scene, shown, look, pointed) {
    this.clear();
    const half = this.width / (2 * SIDE + 0.6), quarter = half * 0.5, rise = half * 6, depth = half * 0.9;
    const top = Math.max(this.height - 2 * SIDE * quarter - depth - 4, 0) + quarter;
    Object.assign(this, { half, quarter, tops: [] });
    const topOf = new Map();
    for (let line = 0; line < 2 * SIDE - 1; ++line) {
      for (let row = Math.max(0, line - SIDE + 1); row <= Math.min(line, SIDE - 1); ++row) {
        const column = line - row, place = row * SIDE + column, cell = scene.cells[place], share = shown.shares[place];
        const x = this.width / 2 + (column - row) * half, base = top + line * quarter;
        const y = base - (share < 0 ? share * depth : share * rise);
        let colour = shade(look.ramp, share);
        if (cell === WATER) colour = mix(colour, COLOURS.water, 0.82);
        if (cell === TRAP) colour = mix(colour, COLOURS.trap, 0.8);
        this._column(x, y, half, quarter, base + depth - y, colour);
        this.tops.push([x, y, column, row]);
        topOf.set(place, [x, y]);
        if (pointed && pointed[0] === column && pointed[1] === row) this._frame(x, y, look);
        if (cell === STONE) this._column(x, y - half * 0.55, half * 0.56, quarter * 0.56, half * 0.55, COLOURS.stone);
      }
    }
    // No hill hides the resource, the agent and its way.
    for (const [place, cell] of scene.cells.entries()) if (cell === RESOURCE) this._gem(...topOf.get(place), half);
    this.dots(scene.path.slice(1).map((place) => topOf.get(place)), half * 0.14, look);
    const [column, row] = [Math.round(shown.column), Math.round(shown.row)];
    const [x, y] = topOf.get(row * SIDE + column), across = shown.column - column, down = shown.row - row;
    this._agent(x + (across - down) * half, y + (across + down) * quarter, half, scene.facts.carries);
  }

  _column(x, y, wide, high, depth, colour) {
    const left = [x - wide, y], front = [x, y + high], right = [x + wide, y], below = ([a, b]) => [a, b + depth];
    this.shape([left, front, below(front), below(left)], rgb(mix([0, 0, 0], colour, 0.55)));
    this.shape([front, right, below(right), below(front)], rgb(mix([0, 0, 0], colour, 0.74)));
    this.shape([left, [x, y - high], right, front], rgb(colour));
  }

  _gem(x, y, half) {
    const at = (size) => [[x - size * 0.7, y - half], [x, y - half - size * 1.2], [x + size * 0.7, y - half], [x, y - half + size]];
    const [left, top, right, bottom] = at(half * 0.75);
    this.shape(at(half), "#5c4700");
    this.shape([left, top, bottom], "#fff3b0");
    this.shape([right, top, bottom], rgb(COLOURS.resource));
  }

  _frame(x, y, look) {
    const { context, half, quarter } = this;
    context.beginPath();
    [[x - half, y], [x, y - quarter], [x + half, y], [x, y + quarter]].forEach(([a, b]) => context.lineTo(a, b));
    context.closePath();
    context.strokeStyle = look.ink;
    context.lineWidth = 2;
    context.stroke();
  }

  _agent(x, y, half, carries) {
    const { context } = this, size = Math.max(half * 0.5, 5);
    const colour = rgb(carries ? COLOURS.carrying : COLOURS.free);
    context.fillStyle = "rgb(0 0 0 / .3)";
    context.beginPath();
    context.ellipse(x, y, size * 0.8, size * 0.4, 0, 0, 7);
    context.fill();
    this.shape([[x, y], [x - size * 0.75, y - size * 1.8], [x + size * 0.75, y - size * 1.8]], colour);
    context.beginPath();
    context.arc(x, y - size * 2.2, size, 0, 7);
    context.fillStyle = colour;
    context.fill();
    context.strokeStyle = "#fff";
    context.lineWidth = Math.max(1.5, size * 0.22);
    context.stroke();
    if (carries) this._column(x, y - size * 4.6, size * 0.9, size * 0.45, size * 0.9, COLOURS.stone);
  }

  // The cell whose top is under the pointer; those in front come first.
  cellAt(event) {
    const [x, y] = this.place(event);
    const found = this.tops.findLast(([a, b]) => Math.abs(x - a) / this.half + Math.abs(y - b) / this.quarter <= 1);
    return found ? found.slice(2) : [-1, -1];
  }
}

// ---- the page ----

const CYCLES_PER_SECOND = 40;
const STEPS_PER_SECOND = 6;
const PAUSE = 1.6; // seconds between two worlds

class Page {
  constructor(core) {
    this.scene = new Scene(core);
    this.map = new MapView(document.getElementById("map"));
    this.relief = new ReliefView(document.getElementById("relief"));
    this.shown = { shares: new Float32Array(SIDE * SIDE), column: 0, row: 0 }; // what is drawn follows what is
    this.kind = TRAP;
    this.isPlaying = false;
    this.isUnfolding = true; // the plan forms while all else waits
    this.credit = 0; // cycles, steps or worlds that the clock has not turned into any yet
    const view = new URLSearchParams(location.hash.slice(1));
    const number = (name, least, most, usual) => {
      const value = Number.parseInt(view.get(name) ?? "", 10);
      return value >= least && value <= most ? value : usual;
    };
    this._listen();
    this.start(number("seed", 0, SEEDS - 1, 1), number("width", 0, WIDEST, 3));
    const isStill = matchMedia("(prefers-reduced-motion: reduce)").matches;
    this.play(!isStill && view.get("play") !== "0");
  }

  // ---- what a user can do

  start(seed, width) {
    this.scene.start(seed, width);
    this._jump();
    this._changed();
    history.replaceState(null, "", `#seed=${seed}&width=${width}`);
  }

  play(isPlaying) {
    this.isPlaying = isPlaying;
    if (isPlaying && this.scene.facts.isOver) this._next();
    this._changed();
  }

  step() {
    this.isPlaying = false;
    if (this.scene.facts.isOver) this._next();
    else this.scene.step();
    this.isUnfolding = true;
    this._changed();
  }

  back() {
    this.isPlaying = false;
    this.scene.back();
    this.showCycle(this.scene.facts.cycles);
  }

  showCycle(cycle) {
    this.isPlaying = this.isUnfolding = false;
    this.scene.show(cycle);
    this._changed();
  }

  edit(column, row, kind) {
    const before = this.scene.facts;
    this.scene.edit(column, row, kind);
    this.isUnfolding = true;
    if (kind === AGENT || before.isOver) this._jump();
    this._changed();
  }

  _next() {
    this.scene.next();
    this.start(this.scene.seed, this.scene.width);
  }

  _jump() {
    Object.assign(this.shown, { column: this.scene.facts.column, row: this.scene.facts.row });
  }

  // ---- the clock

  _changed() {
    this.credit = 0;
    this._say();
    this._wake();
  }

  _wake() {
    if (this.frame) return;
    this.before = performance.now();
    this.frame = requestAnimationFrame((now) => this._tick(now));
  }

  _tick(now) {
    this.frame = null;
    const seconds = Math.min(Math.max(now - this.before, 0) / 1000, 0.1);
    this.before = now;
    this._advance(seconds * this.speed);
    const isMoving = this._follow(seconds);
    const look = LOOKS[isDark() ? "dark" : "light"];
    this.map.draw(this.scene, this.shown, look, this.pointed);
    this.relief.draw(this.scene, this.shown, look, this.pointed);
    const isForming = this.isUnfolding && !this.scene.isPlanned;
    if (this.isPlaying || isForming || isMoving) this.frame = requestAnimationFrame((later) => this._tick(later));
  }

  _advance(seconds) {
    const { scene } = this, cycle = scene.cycle;
    if (!scene.isPlanned && (this.isPlaying || this.isUnfolding)) {
      this.credit += seconds * CYCLES_PER_SECOND;
      if (this.credit >= 1) scene.show(cycle + Math.floor(this.credit));
      this.credit %= 1;
      if (cycle !== scene.cycle) this._say();
    } else if (this.isPlaying && scene.facts.isOver) {
      this.credit += seconds / PAUSE / Math.max(this.speed / 3, 1);
      if (this.credit >= 1) this._next();
    } else if (this.isPlaying) {
      this.credit += seconds * STEPS_PER_SECOND;
      while (this.credit >= 1 && scene.isPlanned && !scene.facts.isOver) {
        this.credit -= 1;
        scene.step();
        this._say();
      }
    }
  }

  // Moves what is drawn towards what is; returns whether anything moved.
  _follow(seconds) {
    const { shown, scene } = this, part = 1 - Math.exp(-seconds * 18 * Math.max(this.speed, 1));
    let distance = 0;
    const towards = (value, wanted) => {
      distance = Math.max(distance, Math.abs(wanted - value));
      return Math.abs(wanted - value) < 0.003 ? wanted : value + (wanted - value) * part;
    };
    scene.heights.forEach((height, place) => {
      shown.shares[place] = towards(shown.shares[place], height < 0 ? Math.max(height, -1) : shareOf(height));
    });
    shown.column = towards(shown.column, scene.facts.column);
    shown.row = towards(shown.row, scene.facts.row);
    return distance > 1e-4;
  }

  // ---- words and buttons

  get speed() { return Number(document.getElementById("speed").value); }

  _say() {
    const { scene, scene: { facts } } = this;
    const say = (name, text) => {
      const element = document.getElementById(name);
      if (element.textContent !== text) element.textContent = text;
    };
    say("thought", scene.thought);
    say("step-count", `step ${scene.steps}`);
    say("cycle-count", `cycle ${scene.cycle} of ${facts.cycles}`);
    const ends = [...scene.ends.values()];
    say("crossed", ends.length ? `${ends.filter(Boolean).length} of ${ends.length} worlds crossed` : "");
    const banner = document.getElementById("banner");
    banner.hidden = !facts.isOver;
    banner.dataset.end = scene.isAcross ? "across" : "lost";
    if (facts.isOver) banner.textContent = scene.end;
    const cycle = document.getElementById("cycle");
    [cycle.max, cycle.value] = [facts.cycles, scene.cycle];
    const button = document.querySelector("[data-do=play]");
    button.setAttribute("aria-label", this.isPlaying ? "Pause" : "Play");
    button.querySelector("use").setAttribute("href", this.isPlaying ? "#i-pause" : "#i-play");
    document.querySelector("[data-do=back]").disabled = !facts.canGoBack;
    for (const each of document.querySelectorAll("[data-width]")) {
      each.setAttribute("aria-pressed", Number(each.dataset.width) === scene.width);
    }
    const seed = document.getElementById("seed");
    if (document.activeElement !== seed) seed.value = scene.seed;
    this._sayDesires();
  }

  _sayDesires() {
    const { facts, desires } = this.scene;
    for (const cell of document.querySelectorAll("[data-desire]")) {
      const [carries, kind] = cell.dataset.desire.split(" ").map(Number);
      const value = desires[carries * 10 + kind * 2];
      cell.classList.toggle("now", carries === facts.carries);
      cell.style.setProperty("--from", `${50 + 50 * Math.min(value, 0)}%`);
      cell.style.setProperty("--wide", `${50 * Math.abs(value)}%`);
      cell.dataset.sign = Math.sign(value);
      const text = Math.abs(value) < 0.005 ? "0" : `${value > 0 ? "+" : "−"}${Number(Math.abs(value).toPrecision(2))}`;
      const uses = desires[carries * 10 + kind * 2 + 1] ? (carries ? "drops" : "takes") : "";
      cell.querySelector("b").textContent = text;
      cell.querySelector("small").textContent = uses;
    }
    for (const head of document.querySelectorAll("[data-hands]")) {
      head.classList.toggle("now", Number(head.dataset.hands) === facts.carries);
    }
  }

  choose(kind) {
    this.kind = kind;
    for (const each of document.querySelectorAll("[data-kind]")) {
      each.setAttribute("aria-pressed", Number(each.dataset.kind) === kind);
    }
  }

  _listen() {
    const actions = {
      play: () => this.play(!this.isPlaying),
      step: () => this.step(),
      back: () => this.back(),
      "cycle-back": () => this.showCycle(this.scene.cycle - 1),
      "cycle-on": () => this.showCycle(this.scene.cycle + 1),
      again: () => { this.showCycle(1); this.isUnfolding = true; },
      new: () => this.start(Math.floor(Math.random() * 1e6), this.scene.width),
      slower: () => this._changeSpeed(-1),
      faster: () => this._changeSpeed(1),
    };
    for (const button of document.querySelectorAll("[data-do]")) {
      button.addEventListener("click", (event) => {
        actions[button.dataset.do]();
        if (event.detail > 0) button.blur(); // the space bar plays, and does not press the button again
      });
    }
    for (const button of document.querySelectorAll("[data-width]")) {
      button.addEventListener("click", () => this.start(this.scene.seed, Number(button.dataset.width)));
    }
    for (const button of document.querySelectorAll("[data-kind]")) {
      button.addEventListener("click", () => this.choose(Number(button.dataset.kind)));
    }
    this.choose(this.kind);
    const [seed, cycle] = ["seed", "cycle"].map((id) => document.getElementById(id));
    seed.addEventListener("change", () => {
      if (seed.checkValidity() && seed.value !== "") this.start(Number(seed.value), this.scene.width);
    });
    cycle.addEventListener("input", () => this.showCycle(Number(cycle.value)));
    for (const view of [this.map, this.relief]) this._listenTo(view);
    const keys = {
      " ": "play", k: "play", ".": "step", ArrowRight: "step", ",": "back", ArrowLeft: "back", "[": "cycle-back",
      "]": "cycle-on", p: "again", n: "new", "-": "slower", "+": "faster", "=": "faster",
    };
    document.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select")) return;
      const kind = KINDS.findIndex((name) => name[0] === event.key);
      if (event.target === this.map.element && this._moveCursor(event.key)) event.preventDefault();
      else if (event.key === " " && event.target.closest("button")) return;
      else if (keys[event.key]) { event.preventDefault(); actions[keys[event.key]](); }
      else if (/^[0-4]$/.test(event.key)) this.start(this.scene.seed, Number(event.key));
      else if (kind >= 0) this.choose(kind);
    });
    new ResizeObserver(() => this._wake()).observe(this.relief.element);
    startTheme(document.getElementById("theme"), () => this._wake());
  }

  _changeSpeed(by) {
    const speed = document.getElementById("speed");
    speed.selectedIndex = Math.min(Math.max(speed.selectedIndex + by, 0), speed.options.length - 1);
  }

  // A click changes a cell, or turns it back to grass; a drag changes all cells on its way.
  _listenTo(view) {
    let painted = null;
    const at = (event) => {
      const [column, row] = view.cellAt(event);
      return column >= 0 && row >= 0 && column < SIDE && row < SIDE ? [column, row] : null;
    };
    const paint = ([column, row]) => {
      const { facts, cells } = this.scene, place = row * SIDE + column;
      const isThere = painted === AGENT ? column === facts.column && row === facts.row : cells[place] === painted;
      if (!isThere || facts.isOver) this.edit(column, row, painted);
    };
    const begin = (event) => {
      const cell = at(event);
      if (!cell || event.button > 0) return;
      const isThere = this.kind !== AGENT && this.scene.cells[cell[1] * SIDE + cell[0]] === this.kind;
      painted = isThere ? GRASS : this.kind;
      paint(cell);
    };
    const scrolls = (event) => event.pointerType === "touch" && view === this.relief; // a finger there, if it moves
    view.element.addEventListener("pointerdown", (event) => {
      if (scrolls(event)) return;
      view.element.setPointerCapture(event.pointerId);
      begin(event);
    });
    view.element.addEventListener("click", (event) => {
      if (scrolls(event)) begin(event);
      painted = null;
    });
    view.element.addEventListener("pointermove", (event) => {
      const cell = at(event);
      this.pointed = event.pointerType === "mouse" ? cell : null;
      if (cell && painted !== null) paint(cell);
      this._wake();
    });
    for (const name of ["pointerup", "pointercancel"]) view.element.addEventListener(name, () => { painted = null; });
    view.element.addEventListener("pointerleave", () => { this.pointed = null; this._wake(); });
    view.element.addEventListener("blur", () => { this.pointed = null; this._wake(); });
  }

  // On the map, arrow keys choose a cell and Enter changes it.
  _moveCursor(key) {
    const moves = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1], Enter: [0, 0] };
    if (!moves[key]) return false;
    const start = this.pointed || [this.scene.facts.column, this.scene.facts.row];
    this.pointed = start.map((value, i) => Math.min(Math.max(value + moves[key][i], 0), SIDE - 1));
    if (key === "Enter") this.edit(...this.pointed, this.kind);
    this._wake();
    return true;
  }
}

// ---- light and dark, as in the gallery ----

function isDark() {
  const { theme } = document.documentElement.dataset;
  return theme ? theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

function startTheme(button, changed) {
  button.addEventListener("click", () => {
    const theme = isDark() ? "light" : "dark";
    document.documentElement.dataset.theme = theme;
    try { localStorage.setItem("neurozoo-theme", theme); } catch {} // some browsers have no storage for local files
    changed();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", changed);
}

async function start() {
  const read = (id) => document.getElementById(id).textContent;
  try {
    const bytes = Uint8Array.from(atob(read("module")), (letter) => letter.charCodeAt(0));
    globalThis.page = new Page(await Core.open(bytes, JSON.parse(read("agent"))));
  } catch (error) {
    document.getElementById("thought").textContent = `This browser cannot play the agent: ${error.message}`;
    throw error;
  }
}

if (globalThis.document) start();
