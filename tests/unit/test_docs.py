"""The pages of the documentation: links, the index, the example of an environment."""

import re
import shlex
import sys
from pathlib import Path

import numpy as np
import pytest
import yaml
from neurozoo.__main__ import build_parser
from neurozoo.environments.games import TRUSTED_MODULES, gymnasium_spaces, trust_module_of
from neurozoo.environments.gymnasium_world import GymnasiumWorld
from neurozoo.environments.protocols import protocol_of

PROJECT = Path(__file__).parents[2]
PAGES = sorted((PROJECT / "docs").rglob("*.md"))
ROOT = [PROJECT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "config/README.md")]


def links(page):
    """Returns the paths of a page's links to files."""
    text = re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text(), flags=re.DOTALL)
    targets = re.findall(r"\]\(([^)\s]+)\)", text)
    return [target.partition("#")[0] for target in targets if not re.match(r"https?:|mailto:|#", target)]


@pytest.mark.parametrize("page", [*PAGES, *ROOT], ids=lambda page: str(page.relative_to(PROJECT)))
def test_links_lead_to_files(page):
    assert [link for link in links(page) if not (page.parent / link).exists()] == []


@pytest.mark.parametrize("page", [*PAGES, *ROOT], ids=lambda page: str(page.relative_to(PROJECT)))
def test_an_empty_line_stands_before_every_table(page):
    """Without it, the documentation site shows the rows as one paragraph."""
    lines = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL).split("\n")
    heads = [number for number, line in enumerate(lines) if re.fullmatch(r"\|( ?:?-+:? ?\|)+", line)]
    assert [lines[number - 1] for number in heads if lines[number - 2].strip()] == []


@pytest.mark.parametrize("page", [*PAGES, *ROOT], ids=lambda page: str(page.relative_to(PROJECT)))
def test_an_empty_line_stands_before_every_list(page):
    """Without it, the documentation site shows the list as a part of the paragraph before it."""
    blocks = re.split(r"\n\s*\n", re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL))
    item = re.compile(r"^([-*] |\d+\. )", re.MULTILINE)
    inside = re.compile(rf"{item.pattern}| ")  # a list, or a further paragraph of its last item
    assert [block[:60] for block in blocks if item.search(block) and not inside.match(block.lstrip("\n"))] == []


def test_the_index_and_the_site_name_every_page():
    index = PROJECT / "docs" / "README.md"
    pages = {str(page.relative_to(PROJECT / "docs")) for page in PAGES}
    book = PROJECT / "docs" / "results" / "README.md"  # names its own pages
    pages -= {f"results/{link}" for link in links(book)}
    assert set(links(index)) == pages - {"README.md"}
    nav = yaml.safe_load((PROJECT / "mkdocs.yml").read_text())["nav"]
    flat = [page for entry in nav for page in (next(iter(entry.values())) if isinstance(entry, dict) else [entry])]
    assert sorted(flat) == sorted(pages)


@pytest.mark.parametrize("page", [*PAGES, *ROOT], ids=lambda page: str(page.relative_to(PROJECT)))
def test_the_program_takes_the_commands_of_a_page(page):
    text = page.read_text().replace("\\\n", "")
    for command in re.findall(r"^ *python -m neurozoo ([a-z].*)$", text, re.MULTILINE):
        words = shlex.split(command, comments=True)
        if "..." not in words and words[0] not in ("simple_dqn", "impala_gym"):  # these have options of other programs
            build_parser().parse_args(words)


def test_every_configuration_has_a_line():
    named = set(links(PROJECT / "config" / "README.md"))
    assert {path.name for path in (PROJECT / "config").glob("*.yaml")} <= named


def test_the_environment_of_the_documentation_can_be_played(tmp_path, monkeypatch):
    page = (PROJECT / "docs" / "your_environment.md").read_text()
    code = next(block for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if "gymnasium.register" in block)
    (tmp_path / "corridor_of_the_docs.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv(TRUSTED_MODULES, "")
    game = "gym.corridor_of_the_docs:Corridor-v0"
    trust_module_of(game)
    assert gymnasium_spaces(game) == ((2,), ("ACTION_0", "ACTION_1", "ACTION_2"))
    world = GymnasiumWorld(game, protocol_of(game))
    world.reset(seed=3)
    place, door = np.ravel(world.observation)
    assert place == 0
    score, is_done = 0.0, False
    while not is_done:  # walk towards the door
        place, door = np.ravel(world.observation)
        _, reward, is_done = world.act(np.eye(3, dtype=np.float32)[1 + int(np.sign(door - place))])
        score += reward
    assert score == 1
    assert world.screen.shape == (60, 210, 3)
    sys.modules.pop("corridor_of_the_docs")


def test_the_page_of_results_names_every_file_that_a_rule_makes():
    page = (PROJECT / "results" / "README.md").read_text()
    outputs = [
        name
        for path in (PROJECT / "workflow" / "rules").glob("*.smk")
        for name in re.findall(r'"<results>/(?:runs/[^"/]+/[^"/]+/[^"/]+/[^"/]+/|[^"/]+/)([^"]+)"', path.read_text())
    ]
    # The page writes `classification.{json,csv,png}`, so what stands before the ending is compared.
    files = {re.split("[{.]", Path(name).name)[0] for name in outputs if not name.endswith(".log")} - {""}
    assert len(files) > 40
    assert {name for name in files if not re.search(rf"\b{name}[{{._/]", page)} == set()
