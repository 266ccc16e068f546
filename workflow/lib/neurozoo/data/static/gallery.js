// Filters, player and permalinks of the gallery. Needs no library. Without this script a page is still a list of links.
//
// The URL's fragment (after '#') holds the view. For the cards: game, algo, model and run (lists with commas), q and
// sort. For the player: movie (its path), step (from 1, as written on the picture) and panel.
"use strict";

const KEYS = ["game", "algo", "model", "run", "q", "sort", "movie", "step", "panel"];
const FACETS = KEYS.slice(0, 4);

// ---- the view in the URL ----

function readView() {
  const text = location.hash.slice(1);
  return new URLSearchParams(text.includes("=") ? text : "");
}

// Changes some entries and keeps the others. Empty entries are left out.
function writeView(changes, { adds = false } = {}) {
  const view = readView();
  for (const [key, value] of Object.entries(changes)) {
    if (value === "" || value === null || value === undefined) view.delete(key);
    else view.set(key, value);
  }
  const sorted = new URLSearchParams(KEYS.filter((key) => view.has(key)).map((key) => [key, view.get(key)]));
  const hash = sorted.size ? `#${sorted}` : "";
  if (hash === location.hash || (!hash && !location.hash.includes("="))) return;
  const url = hash || location.pathname + location.search;
  if (adds) history.pushState(null, "", url);
  else history.replaceState(null, "", url);
}

// ---- light and dark ----

const THEMES = ["auto", "light", "dark"];

function startTheme(button) {
  const root = document.documentElement;
  const show = () => {
    const theme = root.dataset.theme || "auto";
    button.querySelector("span").textContent = `Theme: ${theme}`;
    button.setAttribute("aria-label", `Theme: ${theme}`);
  };
  button.addEventListener("click", () => {
    const theme = THEMES[(THEMES.indexOf(root.dataset.theme || "auto") + 1) % THEMES.length];
    if (theme === "auto") delete root.dataset.theme;
    else root.dataset.theme = theme;
    try {
      if (theme === "auto") localStorage.removeItem("neurozoo-theme");
      else localStorage.setItem("neurozoo-theme", theme);
    } catch {} // some browsers have no storage for local files
    show();
  });
  show();
}

// ---- what if ----

function startWhatIf(form) {
  const show = () => {
    for (const part of form.querySelectorAll("[data-of]")) part.textContent = form.elements[part.dataset.of].value;
  };
  form.addEventListener("input", show);
  form.addEventListener("submit", (event) => event.preventDefault());
  show(); // a reloaded page keeps what was chosen
}

// ---- filters ----

class Filters {
  constructor(form, list) {
    this.form = form;
    this.list = list;
    this.cards = [...list.children];
    form.addEventListener("input", () => this.changed());
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("reset", () => setTimeout(() => this.changed()));
  }

  changed() {
    const chosen = (name) => [...this.form.querySelectorAll(`[name="${name}"]:checked`)].map((box) => box.value);
    writeView({
      ...Object.fromEntries(FACETS.map((name) => [name, chosen(name).join(",")])),
      q: this.form.q.value.trim(),
      sort: this.form.sort.value,
    });
    this.apply();
  }

  wanted(view, name) {
    return (view.get(name) || "").split(",").filter(Boolean);
  }

  restore() {
    const view = readView();
    for (const name of FACETS) {
      const wanted = this.wanted(view, name);
      for (const box of this.form.querySelectorAll(`[name="${name}"]`)) box.checked = wanted.includes(box.value);
    }
    this.form.q.value = view.get("q") || "";
    this.form.sort.value = view.get("sort") || "";
    if (this.form.sort.selectedIndex < 0) this.form.sort.value = "";
    this.apply();
  }

  apply() {
    const view = readView();
    const wanted = FACETS.map((name) => [name, this.wanted(view, name)]);
    const words = (view.get("q") || "").toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const card of this.cards) {
      const text = `${card.dataset.title} ${card.dataset.id}`.toLowerCase();
      const fits =
        wanted.every(([name, values]) => !values.length || values.includes(card.dataset[name])) &&
        words.every((word) => text.includes(word));
      card.hidden = !fits;
      shown += fits;
    }
    const key = view.get("sort");
    const order = [...this.cards];
    if (key === "score" || key === "frames") {
      const value = (card) => (card.dataset[key] === "" ? -Infinity : Number(card.dataset[key]));
      order.sort((a, b) => value(b) - value(a) || 0);
    }
    if (order.some((card, place) => this.list.children[place] !== card)) this.list.append(...order);
    document.getElementById("shown").textContent = `${shown} of ${this.cards.length} runs`;
    document.getElementById("nothing").hidden = shown > 0;
  }
}

// ---- the player ----

const RATES = [0.1, 0.25, 0.5, 1, 2];
const MARGIN = 10; // pixels around the panel that is shown
const GAP = 8; // between pieces of a panel that lie side by side
const CAPTION = 34; // pixels above it, for its label
const NEAR = 1.6; // magnification from which pixels get sharp edges

// How a panel fills a room best: cut into pieces of whole rows that lie side by side, if that enlarges it much.
function cutToFit(width, height, rows, room, tall) {
  const at = (count) => {
    const per = Math.ceil(rows / count);
    return { count: Math.ceil(rows / per), per, scale: Math.min((room - (count - 1) * GAP) / (count * width), (tall * rows) / (height * per)) };
  };
  let best = at(1);
  for (let count = 2; count <= rows; count++) if (at(count).scale > 1.15 * best.scale) best = at(count);
  return best;
}

class Player {
  constructor(root, { writes }) {
    this.root = root;
    this.writes = writes; // whether it writes its state into the URL
    this.stage = root.querySelector(".stage");
    this.layer = root.querySelector(".layer");
    this.video = root.querySelector("video");
    this.spots = root.querySelector(".spots");
    this.canvas = root.querySelector(".pieces"); // shows panels that are cut into pieces
    this.trouble = root.querySelector(".trouble");
    this.video.controls = false;
    this.step = 1;
    this.panel = "";
    this.isWanted = false; // whether to play as soon as possible
    this.part = Object.fromEntries([...root.querySelectorAll("[data-do]")].map((part) => [part.dataset.do, part]));
    this.connect();
  }

  get isPlaying() {
    return !this.video.paused && !this.video.ended;
  }

  connect() {
    const { part, video } = this;
    part.play.addEventListener("click", () => this.toggle());
    part.back.addEventListener("click", () => this.go(this.step - 1));
    part.forward.addEventListener("click", () => this.go(this.step + 1));
    part.seek.addEventListener("input", () => this.go(Number(part.seek.value)));
    part.step.addEventListener("change", () => this.go(Number(part.step.value) || this.step));
    part.movie.addEventListener("change", () => this.show(this.movies[part.movie.selectedIndex], {}));
    part.speed.addEventListener("change", () => (video.playbackRate = Number(part.speed.value)));
    part.sound.addEventListener("click", () => {
      video.muted = !video.muted;
      part.sound.setAttribute("aria-pressed", String(!video.muted));
    });
    part.link.addEventListener("click", () => this.copyLink());
    this.stage.addEventListener("click", (event) => {
      if (!event.target.closest(".trouble")) this.toggle();
    });
    for (const name of ["play", "pause", "ended"]) video.addEventListener(name, () => this.playingChanged());
    video.addEventListener("error", () => this.fail());
    video.addEventListener("loadedmetadata", () => this.loaded());
    if ("requestVideoFrameCallback" in video) {
      const presented = (_, facts) => {
        if (this.isPlaying && this.movie) this.say(Math.round(facts.mediaTime * this.movie.fps) + 1);
        this.drawPieces();
        video.requestVideoFrameCallback(presented);
      };
      video.requestVideoFrameCallback(presented);
    } else {
      video.addEventListener("timeupdate", () => {
        if (this.isPlaying && this.movie) this.say(Math.floor(video.currentTime * this.movie.fps + 0.01) + 1);
      });
      const draw = () => {
        this.drawPieces();
        if (this.isPlaying) requestAnimationFrame(draw);
      };
      video.addEventListener("play", draw);
    }
    for (const name of ["emptied", "loadeddata", "seeked", "timeupdate"]) video.addEventListener(name, () => this.drawPieces());
    new ResizeObserver(() => this.place()).observe(this.stage);
  }

  // The user may have pressed play before the movie was loaded.
  loaded() {
    const { seekable } = this.video;
    this.isWanted ||= this.isPlaying;
    if (seekable.length && seekable.end(0) > 0) {
      const { isWanted } = this;
      this.go(this.step);
      if (isWanted) this.toggle();
    } else if (location.protocol.startsWith("http")) this.fetchWhole();
  }

  // Loads the whole file. Simple web servers, such as Python's, cannot send a part of it, so browsers could not seek.
  async fetchWhole() {
    const { movie } = this;
    const answer = await fetch(movie.source).catch(() => null);
    if (movie !== this.movie) return;
    if (!answer || !answer.ok) {
      this.fail();
      return;
    }
    const whole = await answer.blob();
    if (movie !== this.movie) return;
    this.whole = URL.createObjectURL(whole);
    this.video.src = this.whole;
  }

  forgetWhole() {
    if (this.whole) URL.revokeObjectURL(this.whole);
    this.whole = null;
  }

  // Fills the list of movies and shows one of them, paused.
  load(movies, { movie = "", step = 1, panel = "" } = {}) {
    this.movies = movies;
    this.part.movie.replaceChildren(...movies.map((entry) => new Option(entry.title, entry.id)));
    this.part.movie.closest("label").hidden = movies.length < 2;
    this.show(movies.find((entry) => entry.id === movie) || movies[0], { step, panel });
    this.root.classList.add("ready");
  }

  show(movie, { step = 1, panel = "" }) {
    const { video, part } = this;
    this.movie = movie;
    this.step = clamp(step, 1, movie.frames);
    this.isWanted = false;
    this.trouble.hidden = true;
    part.movie.value = movie.id;
    part.seek.max = part.step.max = movie.frames;
    this.root.querySelector("[data-say=of]").textContent = `of ${movie.frames.toLocaleString("en")} ${movie.unit}`;
    part.sound.hidden = !movie.has_sound;
    part.file.href = movie.source;
    part.speed.replaceChildren(
      ...RATES.map((rate) => new Option(`${+(rate * movie.fps).toFixed(1)} ${movie.unit}/s`, rate, rate === 1, rate === 1)),
    );
    this.stage.classList.toggle("wide", movie.width > 1.3 * movie.height);
    this.layer.style.width = `${movie.width}px`;
    this.layer.style.height = `${movie.height}px`;
    this.showPanels();
    this.zoom(panel, { moves: false });
    video.width = movie.width;
    video.height = movie.height;
    video.poster = this.step === 1 ? movie.poster : "";
    video.preload = this.root.closest("dialog") ? "auto" : "metadata";
    video.setAttribute("aria-label", movie.title);
    this.forgetWhole();
    video.src = movie.source;
    video.defaultPlaybackRate = 1;
    this.say(this.step);
    this.playingChanged();
    this.remember();
  }

  showPanels() {
    const { panels } = this.movie;
    const choices = panels.length ? [{ name: "", label: "Whole picture" }, ...panels] : [];
    const group = this.root.querySelector(".panels");
    group.hidden = !choices.length;
    this.spots.replaceChildren();
    group.replaceChildren(
      ...choices.map((panel, number) => {
        const button = document.createElement("button");
        button.type = "button";
        button.dataset.panel = panel.name;
        button.append(panel.name ? (panel.name === "screen" ? "game" : panel.name) : "whole picture");
        button.title = panel.label;
        if (number < 10) {
          const key = document.createElement("kbd");
          key.textContent = number;
          key.ariaHidden = "true";
          button.append(key);
        }
        button.addEventListener("click", () => this.zoom(panel.name));
        if (panel.box) {
          const spot = document.createElement("button");
          spot.type = "button";
          spot.tabIndex = -1; // the keyboard reaches the buttons beside the stage instead
          spot.title = panel.label;
          [spot.style.left, spot.style.top, spot.style.width, spot.style.height] = panel.box.map((n) => `${n}px`);
          spot.addEventListener("click", (event) => {
            event.stopPropagation();
            this.zoom(panel.name);
          });
          for (const [name, points] of [["pointerenter", true], ["pointerleave", false], ["focus", true], ["blur", false]])
            button.addEventListener(name, () => spot.classList.toggle("pointed", points));
          this.spots.append(spot);
        }
        return button;
      }),
    );
  }

  zoom(name, { moves = true } = {}) {
    const panel = this.movie.panels.find((entry) => entry.name === name);
    this.panel = panel ? name : "";
    for (const button of this.root.querySelectorAll(".panels button")) {
      const isChosen = button.dataset.panel === this.panel;
      button.setAttribute("aria-pressed", String(isChosen));
      if (isChosen) button.parentNode.scrollLeft = button.offsetLeft - button.parentNode.offsetLeft - MARGIN;
    }
    this.root.classList.toggle("zoomed", Boolean(panel));
    this.root.querySelector(".caption").textContent = panel ? panel.label : "";
    this.layer.classList.toggle("moves", moves);
    this.place();
    this.remember();
  }

  // Moves and scales the layer so that the panel, or the whole picture, fills the stage.
  place() {
    if (!this.movie) return;
    const panel = this.movie.panels.find((entry) => entry.name === this.panel);
    const [left, top, width, height] = panel ? panel.view : [0, 0, this.movie.width, this.movie.height];
    const { clientWidth, clientHeight } = this.stage;
    const margin = panel ? MARGIN : 0;
    const caption = panel ? CAPTION : 0;
    const scale = Math.min((clientWidth - 2 * margin) / width, (clientHeight - caption - 2 * margin) / height);
    const x = (clientWidth - scale * width) / 2 - scale * left;
    const y = (clientHeight + caption - scale * height) / 2 - scale * top;
    this.layer.style.transform = `translate(${x}px, ${y}px) scale(${scale})`;
    this.layer.style.setProperty("--scale", scale);
    const right = this.movie.width - left - width;
    const bottom = this.movie.height - top - height;
    this.layer.style.clipPath = `inset(${top}px ${right}px ${bottom}px ${left}px)`;
    this.layer.classList.toggle("near", scale >= NEAR);
    const cut = cutToFit(width, height, panel?.rows ?? 1, clientWidth - 2 * margin, clientHeight - caption - 2 * margin);
    this.pieces = cut.count > 1 ? { ...cut, left, top, width, height, rows: panel.rows } : null;
    this.drawPieces();
  }

  // Draws the pieces of a panel side by side, from the picture that the movie shows now. Without a picture, the panel stays
  // whole, in the poster.
  drawPieces() {
    const { pieces, canvas, video } = this;
    const isDrawn = Boolean(pieces) && video.readyState > 1;
    canvas.hidden = !isDrawn;
    this.root.classList.toggle("cut", isDrawn);
    if (!isDrawn) return;
    const { count, per, scale, left, top, width, height, rows } = pieces;
    const pixels = window.devicePixelRatio || 1;
    const { clientWidth, clientHeight } = this.stage;
    const [across, down] = [Math.round(clientWidth * pixels), Math.round(clientHeight * pixels)];
    if (canvas.width !== across || canvas.height !== down) [canvas.width, canvas.height] = [across, down];
    [canvas.style.width, canvas.style.height] = [`${clientWidth}px`, `${clientHeight}px`];
    const pen = canvas.getContext("2d");
    pen.setTransform(pixels, 0, 0, pixels, 0, 0);
    pen.clearRect(0, 0, clientWidth, clientHeight);
    pen.imageSmoothingEnabled = scale < NEAR;
    const row = height / rows;
    const x = (clientWidth - count * width * scale - (count - 1) * GAP) / 2;
    const y = (clientHeight + CAPTION - per * row * scale) / 2;
    for (let piece = 0; piece < count; piece++) {
      const tall = Math.min(per, rows - piece * per) * row;
      pen.drawImage(video, left, top + piece * per * row, width, tall, x + piece * (width * scale + GAP), y, width * scale, tall * scale);
    }
  }

  // Shows exactly one step. Seeks to the middle of its time, so that rounding cannot reach the step before or after.
  go(step) {
    if (!this.movie) return;
    this.isWanted = false;
    this.video.pause();
    this.say(clamp(Math.round(step), 1, this.movie.frames));
    this.video.currentTime = (this.step - 0.5) / this.movie.fps;
    this.remember();
  }

  say(step) {
    this.step = clamp(step, 1, this.movie.frames);
    this.part.seek.value = this.step;
    this.part.seek.setAttribute("aria-valuetext", `${this.step} of ${this.movie.frames} ${this.movie.unit}`);
    if (document.activeElement !== this.part.step || !this.isPlaying) this.part.step.value = this.step;
  }

  toggle() {
    if (this.isPlaying) {
      this.go(this.step);
      return;
    }
    if (this.step >= this.movie.frames) this.go(1);
    this.video.playbackRate = Number(this.part.speed.value);
    this.video.play().catch((error) => {
      if (error.name !== "AbortError") this.fail();
    });
  }

  stop() {
    this.video.pause();
    this.video.removeAttribute("src");
    this.video.load();
    this.forgetWhole();
    this.movie = null;
  }

  playingChanged() {
    const { play } = this.part;
    play.setAttribute("aria-label", this.isPlaying ? "Pause" : "Play");
    play.querySelector("use").setAttribute("href", this.isPlaying ? "#i-pause" : "#i-play");
    this.remember();
  }

  fail() {
    if (!this.movie) return;
    this.trouble.textContent = `${this.movie.id} cannot be played here. The file may be missing or damaged.`;
    this.trouble.hidden = false;
  }

  // Writes the view into the URL a moment later, because dragging would change it more often than browsers allow.
  remember() {
    clearTimeout(this.timer);
    if (this.writes)
      this.timer = setTimeout(() => {
        if (this.movie && !this.isPlaying) writeView(this.view);
      }, 120);
  }

  get view() {
    return { movie: this.movie.id, step: this.step > 1 ? this.step : "", panel: this.panel };
  }

  async copyLink() {
    clearTimeout(this.timer);
    writeView(this.view);
    const { link } = this.part;
    let said = "Copied";
    try {
      await navigator.clipboard.writeText(location.href);
    } catch {
      said = "See the address bar";
    }
    link.textContent = said;
    setTimeout(() => (link.textContent = "Copy link"), 2000);
  }

  // Returns whether the player handled the key.
  press(key) {
    if (!this.movie) return false;
    const names = ["", ...this.movie.panels.map((panel) => panel.name)];
    if (key === " " || key === "k") this.toggle();
    else if (key === "," || key === "ArrowLeft") this.go(this.step - 1);
    else if (key === "." || key === "ArrowRight") this.go(this.step + 1);
    else if (key === "Home") this.go(1);
    else if (key === "End") this.go(this.movie.frames);
    else if (/^\d$/.test(key) && Number(key) < names.length) this.zoom(names[key]);
    else if (key === "Escape" && this.panel) this.zoom("");
    else return false;
    return true;
  }
}

function clamp(value, low, high) {
  return Math.min(high, Math.max(low, value));
}

// ---- the dialog in which a card's movies play ----

class Viewer {
  constructor(dialog) {
    this.dialog = dialog;
    this.player = new Player(dialog.querySelector("[data-player]"), { writes: true });
    dialog.querySelector("[data-do=close]").addEventListener("click", () => dialog.close());
    dialog.addEventListener("click", (event) => {
      if (event.target === dialog) dialog.close(); // a click beside the dialog
    });
    dialog.addEventListener("cancel", (event) => {
      if (this.player.press("Escape")) event.preventDefault();
    });
    dialog.addEventListener("close", () => {
      clearTimeout(this.player.timer);
      this.player.stop();
      writeView({ movie: "", step: "", panel: "" });
    });
  }

  open(card, state, { plays = false } = {}) {
    const title = this.dialog.querySelector("h2 a");
    title.textContent = card.dataset.title;
    title.href = card.querySelector("h3 a").href;
    if (!this.dialog.open) this.dialog.showModal();
    this.player.load(moviesOf(card), state);
    this.player.part.play.focus();
    if (plays) this.player.toggle();
  }

  restore() {
    const state = viewOfPlayer();
    const card = state.movie && [...document.querySelectorAll(".card")].find((one) => holds(one, state.movie));
    if (card) this.open(card, state);
    else if (this.dialog.open) this.dialog.close();
  }
}

// The movies of a card or a player. Those of the index's cards, and what is drawn on them, are in cards.js.
function moviesOf(part) {
  const movies = part.querySelector(".movies");
  if (movies) return JSON.parse(movies.textContent);
  return typeof CARDS === "object" && part.dataset.id in CARDS ? CARDS[part.dataset.id].movies : [];
}

function holds(part, movie) {
  return moviesOf(part).some((entry) => entry.id === movie);
}

// Draws the index's cards as they come near.
function startCards() {
  if (typeof CARDS !== "object") return;
  const draw = (entries) => {
    for (const { isIntersecting, target } of entries) {
      if (!isIntersecting || !(target.dataset.id in CARDS)) continue;
      watch.unobserve(target);
      const { curve, likes } = CARDS[target.dataset.id];
      target.querySelector(".curve").innerHTML = curve;
      target.querySelector(".likes").innerHTML = likes;
    }
  };
  const watch = new IntersectionObserver(draw, { rootMargin: "100%" });
  for (const card of document.querySelectorAll(".card")) watch.observe(card);
}

function viewOfPlayer() {
  const view = readView();
  return { movie: view.get("movie"), step: Number(view.get("step")) || 1, panel: view.get("panel") || "" };
}

// ---- values of learning curves, under the mouse, a finger or the keyboard ----

class Reader {
  constructor(plot) {
    const { limits, last, lines } = JSON.parse(plot.querySelector(".values").textContent);
    [this.low, this.high] = limits;
    this.lines = lines;
    this.unit = plot.dataset.unit;
    this.last = last;
    const run = lines.filter((line) => line.role === "run");
    const read = run.length ? run : lines.filter((line) => line.role === "median");
    this.stops = [...new Set(read.flatMap((line) => line.frames))].sort((a, b) => a - b);
    this.at = this.stops.length - 1;
    this.root = document.createElement("div");
    this.root.className = "reader";
    this.root.tabIndex = 0;
    for (const [name, value] of [
      ["role", "slider"],
      ["aria-label", "Values of the curve"],
      ["aria-valuemin", 1],
      ["aria-valuemax", this.stops.length],
    ])
      this.root.setAttribute(name, value);
    plot.append(this.root);
    this.say();
    this.connect();
  }

  connect() {
    const { root } = this;
    const point = (event) => this.go(this.nearest(event.clientX));
    root.addEventListener("pointermove", point);
    root.addEventListener("pointerdown", point);
    root.addEventListener("pointerleave", (event) => {
      if (event.pointerType === "mouse" && document.activeElement !== root) this.hide(); // a finger leaves it shown
    });
    root.addEventListener("focus", () => this.go(this.at));
    root.addEventListener("blur", () => this.hide());
    document.addEventListener("pointerdown", (event) => root.contains(event.target) || this.hide());
    root.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || !this.press(event.key)) return;
      event.preventDefault();
      event.stopPropagation(); // the player has the same keys
    });
  }

  // Returns whether it handled the key.
  press(key) {
    const page = Math.max(1, Math.round(this.stops.length / 10));
    const moves = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -page, PageUp: page };
    if (key in moves) this.go(this.at + moves[key]);
    else if (key === "Home") this.go(0);
    else if (key === "End") this.go(this.stops.length - 1);
    else if (key === "Escape" && this.root.childElementCount) this.hide();
    else return false;
    return true;
  }

  nearest(clientX) {
    const { left, width } = this.root.getBoundingClientRect();
    const frame = ((clientX - left) / width) * this.last;
    const distances = this.stops.map((stop) => Math.abs(stop - frame));
    return distances.indexOf(Math.min(...distances));
  }

  // The lines that have a value at the current stop, linear between reports, as they are drawn.
  read() {
    const frame = this.stops[this.at];
    return this.lines.flatMap((line) => {
      const { frames, scores } = line;
      const next = frames.findIndex((each) => each >= frame);
      if (next < 0 || (next === 0 && frames[0] > frame)) return [];
      const share = next && (frame - frames[next - 1]) / (frames[next] - frames[next - 1]);
      const score = next ? scores[next - 1] + share * (scores[next] - scores[next - 1]) : scores[0];
      return [{ ...line, score }];
    });
  }

  go(stop) {
    this.at = clamp(stop, 0, this.stops.length - 1);
    this.say();
    this.draw();
  }

  say() {
    const values = this.read().map(({ label, score }) => `${label} ${scoreLabel(score)}`);
    this.root.setAttribute("aria-valuenow", this.at + 1);
    this.root.setAttribute("aria-valuetext", `${this.where()}: ${values.join("; ")}`);
  }

  where() {
    return `${Math.round(this.stops[this.at]).toLocaleString("en")} ${this.unit}`;
  }

  draw() {
    const found = this.read();
    const x = this.stops[this.at] / this.last;
    const heights = found.map(({ score }) => (score - this.low) / (this.high - this.low));
    const box = part("div", "readout", [
      part("p", "", [this.where()]),
      ...found.map(({ label, score, colour, role }) =>
        part("p", `${role} c${colour}`, [part("strong", "", [scoreLabel(score)]), ` ${label}`]),
      ),
    ]);
    const cursor = part("div", "cursor");
    cursor.style.left = `${100 * x}%`;
    const dots = found.map(({ colour, role }, place) => {
      const dot = part("div", `dot ${role} c${colour}`);
      [dot.style.left, dot.style.bottom] = [`${100 * x}%`, `${100 * heights[place]}%`];
      return dot;
    });
    this.root.replaceChildren(cursor, ...dots.reverse(), box);
    const { clientWidth } = this.root;
    const beside = x < 0.5 ? x * clientWidth + 14 : x * clientWidth - 14 - box.offsetWidth;
    box.style.left = `${clamp(beside, 0, Math.max(0, clientWidth - box.offsetWidth))}px`;
    box.classList.toggle("low", heights[0] > 0.5); // away from the first line, where it may be above it
  }

  hide() {
    this.root.replaceChildren();
  }
}

function part(tag, className, children = []) {
  const made = document.createElement(tag);
  made.className = className;
  made.append(...children);
  return made;
}

// In three digits or in whole numbers, as everywhere on the pages.
function scoreLabel(score) {
  const digits = Math.abs(score) < 100 ? { maximumSignificantDigits: 3 } : { maximumFractionDigits: 0 };
  return score.toLocaleString("en", digits);
}

// ---- loops on cards, while a mouse is on them ----

function startLoops() {
  const isStill = matchMedia("(prefers-reduced-motion: reduce)");
  for (const screen of document.querySelectorAll(".screen[data-loop]")) {
    screen.addEventListener("pointerenter", (event) => {
      if (event.pointerType !== "mouse" || isStill.matches || screen.querySelector(".loop")) return;
      const loop = new Image();
      loop.className = "loop";
      loop.alt = "";
      loop.addEventListener("load", () => screen.matches(":hover") && screen.querySelector("img").after(loop));
      loop.src = screen.dataset.loop;
    });
    screen.addEventListener("pointerleave", () => screen.querySelector(".loop")?.remove());
  }
}

// The best agent plays while it is in view, at half the movie's speed; not on touch screens, nor with reduced motion.
function startHero(video) {
  if (!matchMedia("(hover: hover)").matches || matchMedia("(prefers-reduced-motion: reduce)").matches) return;
  video.muted = true;
  video.defaultPlaybackRate = video.playbackRate = 0.5;
  const watch = ([entry]) => (entry.isIntersecting ? video.play().catch(() => {}) : video.pause());
  new IntersectionObserver(watch, { threshold: 0.25 }).observe(video);
}

// On a narrow screen, filters are folded away.
function startFold(fold) {
  const narrow = matchMedia("(max-width: 899px)");
  const set = () => (fold.open = !narrow.matches);
  narrow.addEventListener("change", set);
  set();
}

// ---- while a workflow runs ----

// The page asks for growth.js every few seconds, which works without a server, and loads itself again if there is something
// new and nobody watches a movie. A workflow that was killed says nothing more until it is
// started again.
function startGrowth(note) {
  const ask = () => {
    const script = document.createElement("script");
    script.src = `growth.js?${Date.now()}`;
    script.onload = script.onerror = () => script.remove();
    document.head.append(script);
  };
  window.grow = ({ built, words, until }) => {
    const isLate = built && Date.now() > 1000 * until;
    if (!isLate && built !== note.dataset.built && !document.querySelector("dialog[open]")) {
      location.reload();
      return;
    }
    note.textContent = isLate
      ? "The workflow was stopped before its end. The same command continues."
      : words || note.textContent;
    setTimeout(ask, 3000);
  };
  ask();
}

// ---- start ----

function start() {
  startTheme(document.getElementById("theme"));
  startCards();
  startLoops();
  for (const plot of document.querySelectorAll(".plot:has(> .values)")) new Reader(plot);
  for (const video of document.querySelectorAll("[data-hero]")) startHero(video);
  for (const form of document.querySelectorAll("form.what-if")) startWhatIf(form);
  for (const fold of document.querySelectorAll(".fold")) startFold(fold);
  for (const note of document.querySelectorAll("#growth")) startGrowth(note);
  const form = document.getElementById("filters");
  const filters = form && new Filters(form, document.querySelector("#runs .cards"));
  const dialog = document.getElementById("viewer");
  const viewer = dialog && new Viewer(dialog);

  const roots = [...document.querySelectorAll("[data-player]")].filter((root) => !root.closest("dialog"));
  const players = roots.map((root) => new Player(root, { writes: !viewer }));
  const restorePlayers = () => {
    for (const player of players) {
      player.load(moviesOf(player.root), holds(player.root, viewOfPlayer().movie) ? viewOfPlayer() : {});
    }
  };

  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[data-open]");
    if (!viewer || !link || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
    event.preventDefault();
    writeView({ movie: link.dataset.open, step: "", panel: "" }, { adds: true });
    const card = link.closest(".card") || [...document.querySelectorAll(".card")].find((one) => holds(one, link.dataset.open));
    viewer.open(card, { movie: link.dataset.open }, { plays: true });
  });

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const { target, key } = event;
    if (target.closest("input, select, textarea") && !(target.type === "range" && /^[,.k\d]$/.test(key))) return;
    if (key === " " && target.closest("button, a, summary")) return;
    const player = viewer && dialog.open ? viewer.player : players.find((one) => isInView(one.root));
    if (!player || (dialog && dialog.open && key === "Escape")) return;
    if (player.press(key)) event.preventDefault();
  });

  const restore = () => {
    if (location.hash && !location.hash.includes("=")) return; // an anchor on the page
    if (filters) filters.restore();
    if (viewer) viewer.restore();
  };
  restorePlayers();
  restore();
  window.addEventListener("hashchange", () => {
    if (!viewer && location.hash.includes("=")) restorePlayers();
    restore();
  });
}

function isInView(part) {
  const { top, bottom } = part.getBoundingClientRect();
  return bottom > 80 && top < innerHeight - 80;
}

start();
