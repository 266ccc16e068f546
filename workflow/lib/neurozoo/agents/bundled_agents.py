"""The trained agents that come with the project: an index of their files, and the way from an entry to a run's folder.

The index is a YAML file, `config/agents/index.yaml`. An agent is one entry in it and one file beside it. The
file is the `checkpoint.npz` of a run, which holds everything that a run's folder needs, or a published genome.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from neurozoo.agents.checkpoint import read_checkpoint, read_facts
from neurozoo.agents.freeze import freeze_run
from neurozoo.agents.frozen import RECORD_FILE, outdated
from neurozoo.agents.genome_import import import_genome
from neurozoo.agents.imported_run import check_same_agent
from neurozoo.agents.playable_agent import IMPORTED
from neurozoo.agents.zoo_listing import score_text
from neurozoo.errors import NeurozooError, unknown_name
from neurozoo.files import PLAIN_NAME, copy_file, sha256_of
from neurozoo.files.yaml import read_yaml
from neurozoo.records.run_result import write_run_result
from neurozoo.text import aligned
from neurozoo.validation import FROM_YAML, Number, Whole, explain, json_schema

CHECKPOINT = ".npz"  # suffix of checkpoints; other files hold genomes
HEADS = ("name", "agent", "score", "interval", "episodes", "runs", "size", "licence", "sha256")
RIGHT = ("score", "episodes", "runs", "size")

Text = Annotated[str, Field(min_length=1)]


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Measured(_Entry):
    """A mean that was measured, with its interval."""

    mean: Number = Field(description="Mean score.")
    low: Number | None = Field(default=None, description="Lower end of the 95 % bootstrap interval; empty for none.")
    high: Number | None = Field(default=None, description="Upper end.")
    count: Whole = Field(ge=1, description="Number of episodes, or of runs.")
    note: str = Field(default="", description="Why there is no interval, or what else to know.")


class BundledAgent(_Entry):
    """An entry of the index."""

    file: Text = Field(
        description="The checkpoint.npz of a run, or a published genome in any form (docs/genomes.md); relative to the "
        "folder of the index."
    )
    sha256: str = Field(pattern="^[0-9a-f]{64}$", examples=["the output of sha256sum"], description="Hash of the file.")
    licence: Text = Field(description="Licence of the weights, such as MIT.")
    algo: str = Field(
        pattern=PLAIN_NAME,
        examples=["ga or another name of an algorithm"],
        description="Algorithm such as ga; imported for published genomes.",
    )
    game: Text = Field(description="Game id.")
    model: Text = Field(description="Network.")
    run: Whole = Field(default=1, ge=1, description="Number of the run.")
    start_state: Literal["today", "2018"] | None = Field(
        default=None, description="Of a published genome: the console's memory after a reset (docs/genomes.md)."
    )
    command: Text = Field(description="The command that made it, or where it was published.")
    score: Measured = Field(description="Over episodes with seeds that its training has not seen.")
    evaluation: Text = Field(description="The command that measured the score.")
    runs: Measured | None = Field(
        default=None,
        description="Last tests of all runs of the same command, the agent's included; empty if it is the only one.",
    )

    @property
    def title(self) -> str:
        """The agent as it is called in the zoo, such as `ga/gym.CartPole-v1/simple/1`."""
        return f"{self.algo}/{self.game}/{self.model}/{self.run}"


class _Index(_Entry):
    agents: dict[Annotated[str, Field(pattern="^[A-Za-z0-9_-]+$")], BundledAgent]


def read_index(path: str | os.PathLike) -> dict[str, BundledAgent]:
    """Reads the index of trained agents: the agents by name, in the order of the file.

    Raises:
        NeurozooError: The file is missing or damaged, has an entry that it cannot have, or names an agent twice.
    """
    values = read_yaml(path, "Go to the folder of the project, or name an index: --index FILE.")
    try:
        agents = _Index.model_validate(values, context=FROM_YAML).agents
    except ValidationError as error:
        raise NeurozooError(f"{path}: {' '.join(explain(error, json_schema(_Index)))}") from error
    names: dict[str, str] = {}
    for name, agent in agents.items():
        if (other := names.setdefault(agent.title, name)) != name:
            raise NeurozooError(
                f"{path}: {other} and {name} are both {agent.title}, and would have one folder. Give one of them "
                "another run."
            )
        if (agent.algo == IMPORTED) == agent.file.endswith(CHECKPOINT):
            raise NeurozooError(
                f"{path}: the file of {name} should be a checkpoint ({CHECKPOINT}) of a run, or a genome with the algo "
                f"{IMPORTED}, but is {agent.file} with the algo {agent.algo}."
            )
    return agents


def unpack_agent(
    name: str,
    *,
    core: str | os.PathLike,
    noise: str | os.PathLike,
    index: str | os.PathLike,
    results: str | os.PathLike,
) -> Path:
    """Makes a run's folder of a trained agent, and freezes it, so that everything works that works with a run.

    An agent that is frozen already is not frozen again.

    Returns:
        The folder of the run, `results`/runs/ALGO/GAME/MODEL/RUN, with `frozen/`.

    Raises:
        NeurozooError: The agent is unknown, its file is missing or is not the one that the index describes, or the
            folder holds another agent or would lie outside of the results.
    """
    agents = read_index(index)
    if name not in agents:
        raise unknown_name("trained agent", name, agents)
    agent = agents[name]
    path = Path(index).parent / agent.file
    check_file(path, agent.sha256)
    runs = Path(results, "runs")
    if not Path(os.path.abspath(runs / agent.title)).is_relative_to(os.path.abspath(runs)):
        raise NeurozooError(f"{index}: {name} is {agent.title}, which is no folder in {runs}. Correct its entry.")
    if path.suffix != CHECKPOINT:
        folder = import_genome(
            path,
            noise=noise,
            game=agent.game,
            model=agent.model,
            run=agent.run,
            start_state=agent.start_state,
            runs=runs,
        )
    else:
        folder = _copied(path, agent, runs / agent.title)
    if not (folder / "frozen" / RECORD_FILE).exists() or outdated(folder):
        freeze_run(folder, core=core, noise=noise, forms=())
    return folder


def check_file(path: Path, sha256: str) -> None:
    """Refuses a file whose content is not the one that was measured.

    Raises:
        NeurozooError: The file is missing, or has another hash.
    """
    remedy = f"Get it again: git checkout -- {path}"
    if not path.is_file():
        raise NeurozooError(f"{path} is missing. {remedy}")
    if (found := sha256_of(path)) != sha256:
        raise NeurozooError(
            f"{path} should have the SHA-256 {sha256[:16]}..., but has {found[:16]}...: it is damaged, or another "
            f"agent. {remedy}"
        )


def _copied(path: Path, agent: BundledAgent, folder: Path) -> Path:
    """Makes the folder of a run from its checkpoint."""
    checkpoint = read_checkpoint(path)
    if checkpoint.title != agent.title:
        raise NeurozooError(
            f"{path} should hold {agent.title}, but holds {checkpoint.title}. Correct the entry of the index."
        )
    try:
        check_same_agent(folder, checkpoint)
    except NeurozooError as error:
        raise NeurozooError(
            f"{folder} holds another agent than the index. Move the folder away, or give another one (--results)."
        ) from error
    target = folder / "checkpoint.npz"
    if not target.exists() or sha256_of(target) != agent.sha256:
        copy_file(path, target)
    facts = {name: value for name, value in read_facts(path).items() if name != "genome"}
    write_run_result(folder, kind="network", facts=facts, files=[target.name])
    return folder


# ---- for people


def as_table(agents: Mapping[str, BundledAgent], index: str | os.PathLike) -> str:
    """Returns a table with a line per agent; below it stand the commands that made them."""
    rows = [HEADS]
    for name, agent in agents.items():
        score, path = agent.score, Path(index).parent / agent.file
        size = f"{path.stat().st_size:,}" if path.exists() else "missing"
        runs = str(agent.runs.count) if agent.runs else "1"
        row = (name, agent.title, score_text(score.mean), _interval(score), str(score.count), runs, size, agent.licence)
        rows.append((*row, agent.sha256[:16]))
    lines = [*aligned(rows, right=RIGHT), "", "Made with:"]
    lines += [f"  {line}" for line in aligned([(n, a.command) for n, a in agents.items()], right=())]
    first = next(iter(agents), "NAME")
    lines += [
        "",
        f"Watch one play: python -m neurozoo zoo play {first}. See inside: python -m neurozoo zoo movie {first}.",
        "Scores are means over episodes with new seeds; intervals: 95 % bootstrap over episodes; runs: trained alike.",
    ]
    return "\n".join(lines)


def as_text(name: str, agent: BundledAgent) -> str:
    """Describes an agent of the index."""
    score, runs = agent.score, agent.runs
    lines = [
        ("agent", agent.title),
        ("file", agent.file),
        ("sha256", agent.sha256),
        ("licence", agent.licence),
        ("made with", agent.command),
        ("score", " ".join(filter(None, (score_text(score.mean), _interval(score), f"in {score.count} episodes")))),
        ("", score.note),
        ("measured", agent.evaluation),
    ]
    if runs:
        alike = f"{score_text(runs.mean)} {_interval(runs)}, the mean of the last tests of {runs.count} runs"
        lines += [("alike", alike), ("", runs.note)]
    return "\n".join([name, *(f"  {head:10}  {text}" for head, text in lines if text)])


def _interval(score: Measured) -> str:
    return "" if score.low is None or score.high is None else f"[{score_text(score.low)}, {score_text(score.high)}]"
