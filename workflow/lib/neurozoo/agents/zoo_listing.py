"""Finds the frozen agents below a folder of results, and lists them as a table, as JSON facts, or in detail."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import NoneType

from neurozoo.agents.frozen import RECORD_FILE, REMEDY, open_frozen
from neurozoo.agents.tagged_agents import reached_tags
from neurozoo.agents.tags import FINAL, TAGS
from neurozoo.errors import NeurozooError, unknown_name
from neurozoo.files import read_json
from neurozoo.folders import find
from neurozoo.text import aligned

PRODUCTS = ("rollout.npz", "activation.mp4")  # files made from an agent that the list mentions
HEADS = ("algo", "game", "network", "run", "tag", "frames", "score", "episodes", "protocol", "made of it")
RIGHT = ("run", "frames", "score", "episodes")  # columns of numbers


@dataclass(frozen=True)
class ZooAgent:
    """One frozen agent."""

    algo: str  # algorithm such as `ga`, or `imported`
    game: str  # game id such as `frostbite`
    model: str  # network such as `large`
    run: int  # number of the run
    tag: str  # `final` for the run's result, or a tag such as `400M`, `2HR` or `human`
    folder: Path  # the run's folder

    @property
    def place(self) -> Path:
        """The folder for everything made from this agent, such as `rollout.npz`: the run's, or `tags/{tag}` in it."""
        return self.folder if self.tag == FINAL else self.folder / TAGS / self.tag

    @property
    def frozen(self) -> Path:
        """The folder with `model.json`."""
        return self.place / "frozen"

    @property
    def title(self) -> str:
        """The agent's name, such as `ga/frostbite/large/1` or `ga/frostbite/large/1/400M`."""
        names = (self.algo, self.game, self.model, str(self.run))
        return "/".join(names if self.tag == FINAL else (*names, self.tag))


def check_results(results: str | os.PathLike) -> Path:
    """Returns a folder of results after checking that it exists, so that a misspelt one does not count as empty.

    Raises:
        NeurozooError: The folder does not exist.
    """
    if not Path(results).is_dir():
        raise NeurozooError(f"{results} should be a folder of results, but does not exist. Give one: --results FOLDER")
    return Path(results)


def is_run_number(name: str) -> bool:
    """Says whether a folder's name is the number of a run; `01`, perhaps a copy of 1, would count as a second run 1."""
    return name.isascii() and name.isdigit() and str(int(name)) == name


def find_agents(results: str | os.PathLike) -> list[ZooAgent]:
    """Finds all frozen agents below a folder of results, by algorithm, game, network and run.

    Of each run, its result comes first, then its tags by name. Only names count, so damaged agents are found, too;
    `open_frozen` says what is wrong with them.
    """
    runs = Path(results, "runs")
    agents = []
    for record in find(runs, f"*/*/*/*/frozen/{RECORD_FILE}", f"*/*/*/*/{TAGS}/*/frozen/{RECORD_FILE}"):
        algo, game, model, run, *rest = record.relative_to(runs).parts
        if is_run_number(run):
            tag = FINAL if rest[0] != TAGS else rest[1]
            agents.append(ZooAgent(algo, game, model, int(run), tag, runs / algo / game / model / run))
    return sorted(agents, key=lambda m: (m.algo, m.game, m.model, m.run, m.tag != FINAL, m.tag))


def select_agents(
    results: str | os.PathLike,
    *,
    algo: str | None = None,
    game: str | None = None,
    model: str | None = None,
    run: int | None = None,
    tag: str | None = None,
) -> list[ZooAgent]:
    """Returns the agents in a folder of results that match; None matches everything.

    Raises:
        NeurozooError: The folder does not exist, or no agent in it has one of these values.
    """
    wanted = {"algo": algo, "game": game, "model": model, "run": run, "tag": tag}
    wanted = {name: value for name, value in wanted.items() if value is not None}
    agents = find_agents(check_results(results))
    for name, value in wanted.items() if agents else ():
        if value not in (known := {getattr(each, name) for each in agents}):
            raise unknown_name(f"frozen agent with {name}", str(value), map(str, known), owner=str(results))
    return [m for m in agents if all(getattr(m, name) == value for name, value in wanted.items())]


def named_agent(results: str | os.PathLike, name: str) -> ZooAgent:
    """Finds an agent by its title, such as `ga/frostbite/large/1` or `ga/frostbite/large/1/human`, or by its folder.

    Raises:
        NeurozooError: No frozen agent has this name, or the folder of results does not exist.
    """
    agents = find_agents(check_results(results))
    for agent in agents:
        if name.rstrip("/") in (agent.title, f"{agent.title}/{FINAL}") or Path(name).resolve() == agent.place.resolve():
            return agent
    known = ", ".join(agent.title for agent in agents[:8]) or "none"
    more = f" and {len(agents) - 8} more" if len(agents) > 8 else ""
    raise NeurozooError(f"{name} is not a frozen agent in {results}. Frozen agents: {known}{more}.")


def facts_of(agent: ZooAgent) -> dict:
    """Returns an agent's facts as plain JSON; for a damaged agent, only what its folders say and what is wrong.

    Returns:
        `algo`, `game`, `model`, `run`, `tag`, `frozen` and `made` (which of `PRODUCTS` exist). A damaged agent has
        `problem` besides. The others have `frames` (of the run when it found the agent), `score` and `episodes` (mean
        and number of the test episodes) and `protocol`.
    """
    facts = {name: getattr(agent, name) for name in ("algo", "game", "model", "run", "tag")}
    facts |= {"frozen": str(agent.frozen), "made": [name for name in PRODUCTS if (agent.place / name).exists()]}
    try:
        frozen = open_frozen(agent.frozen)
        scores = _scores(agent)
    except NeurozooError as error:
        return facts | {"problem": str(error)}
    return facts | {
        "frames": scores.get("frames"),
        "score": scores.get("test_score"),
        "episodes": scores.get("test_episodes"),
        "protocol": frozen.protocol.name,
    }


def _scores(agent: ZooAgent) -> dict:
    """Returns an agent's scores from its run; an imported agent's scores come from its evaluation."""
    record = agent.frozen / RECORD_FILE
    scores = read_json(record, REMEDY).get("scores", {})
    if not isinstance(scores, dict) or not all(isinstance(each, int | float | NoneType) for each in scores.values()):
        raise NeurozooError(f"{record} is damaged: its scores should be numbers. {REMEDY}")
    path = agent.place / "evaluation.json"
    if "test_score" in scores or not path.exists():
        return scores
    remedy = "Evaluate the run again: the rule evaluate."
    found = read_json(path, remedy)
    try:
        return scores | {"test_score": float(found["summary"]["mean"]), "test_episodes": len(found["episodes"])}
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise NeurozooError(f"{path} is not an evaluation ({type(error).__name__}: {error}). {remedy}") from error


def as_table(agents: Iterable[ZooAgent]) -> str:
    """Returns a table with a line per agent; below it stands what is wrong with damaged ones."""
    rows, problems = [], []
    for agent in agents:
        facts = facts_of(agent)
        numbers = [score_text(facts.get(key)) for key in ("frames", "score", "episodes")]
        made = "damaged" if "problem" in facts else ", ".join(Path(name).stem for name in facts["made"])
        protocol = facts.get("protocol", "")
        rows.append((agent.algo, agent.game, agent.model, str(agent.run), agent.tag, *numbers, protocol, made))
        problems += [f"{agent.title}: {facts['problem']}"] if "problem" in facts else []
    if not rows:
        return "No frozen agent matches."
    return "\n".join([*aligned([HEADS, *rows], right=RIGHT), *problems])


def score_text(value: float | None) -> str:
    """Formats a number with at most two decimals; nothing for None."""
    return "" if value is None else f"{value:,.2f}".rstrip("0").rstrip(".")


def as_text(agent: ZooAgent) -> str:
    """Describes an agent: its network, inputs and actions, its score, and the tags that its run has reached.

    Raises:
        NeurozooError: Its frozen model is damaged.
    """
    try:
        return _described(agent)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        reason = f"{type(error).__name__}: {error}"[:200]
        raise NeurozooError(f"{agent.frozen / RECORD_FILE} is damaged ({reason}). {REMEDY}") from error


def _described(agent: ZooAgent) -> str:
    frozen = open_frozen(agent.frozen)
    record = read_json(agent.frozen / RECORD_FILE, REMEDY)
    fed, scores, protocol = record["input"], _scores(agent), record["protocol"]
    low_high = "of any size" if fed["range"] is None else "from {:g} to {:g}".format(*fed["range"])
    graph = f"; model.pb: {fed['node']}" if "node" in fed else ""
    others = [part["input"] for key in ("history", "memory") for part in record.get(key, ())]
    lines = [
        agent.title,
        f"  network     {record['model']}, {record['parameters']:,} parameters",
        f"  game        {frozen.game}, {len(frozen.actions)} outputs: {' '.join(frozen.actions)}",
        f"  feed it     {fed['dtype']} {fed['shape']}, {low_high}: {fed['meaning']}",
        f"              model.keras: {fed['keras_layer']}; saved_model: {fed['signature']}{graph}",
        *([f"              with {', '.join(others)}"] if others else []),
        f"  obey it     {record['action_rule']}",
        *(
            f"  {'' if number else 'layers':10}  {each.name}, {each.kind}, {_by(each.shape)}"
            + (f"; model.pb: {each.node}" if each.node else "")
            for number, each in enumerate(frozen.layers)
        ),
        f"  protocol    {', '.join(f'{key} {value}' for key, value in protocol.items() if value not in (None, ''))}",
    ]
    if scores.get("test_score") is not None:
        is_known = {"iteration", "frames"} <= scores.keys()
        found = f", found in generation {scores['iteration']}, at {scores['frames']:,} frames" if is_known else ""
        lines.append(
            f"  score       {score_text(scores['test_score'])}, the mean of {scores.get('test_episodes')} test "
            f"episodes under {protocol['name']}{found}"
        )
    lines.append(f"  files       {agent.frozen}" + "".join(f", {agent.place / n}" for n in facts_of(agent)["made"]))
    try:
        reached = reached_tags(agent.folder, game=agent.game)
    except NeurozooError:  # an imported agent has no log
        return "\n".join(lines)
    tags = ", ".join(f"{tag} (generation {moment.generation})" for tag, moment in reached.items())
    return "\n".join([*lines, f"  tags        {tags}"])


def _by(shape: Sequence[int]) -> str:
    return " x ".join(map(str, shape))
