"""Whatever path the pages name can be made."""

import re
import shlex
from pathlib import Path

import yaml
from neurozoo.errors import NeurozooError
from neurozoo.plan.configuration import check_config
from neurozoo.plan.run_targets import check_run_targets

PROJECT = Path(__file__).parents[2]
PAGES = [
    *(PROJECT / "docs").rglob("*.md"),
    *(PROJECT / "config").glob("*.yaml"),
    *(PROJECT / name for name in ("README.md", "CONTRIBUTING.md", "config/README.md", "results/README.md")),
]
# What a page makes by other commands first: a network of the reader's, snapshots, populations, imports.
MADE_BEFORE = re.compile(r"tiny_tanh|/snapshots/|/population\.html|/imported/|\.\.\.")
# What comes with another file, or from a command.
BESIDE = re.compile(r"(.*/)?(genome\.json|snapshots/.*|tags/human/check.*|population/.*|.*recorded.*|.*streamlined.*)")
RUNS = re.compile(r"results/runs/\w+/[\w.-]+/\w+/\d+(?:/[\w.{},/]*\w)?(?![\w/])")
ALL_KINDS = """
experiments:
  a: {algo: ga_ns, games: [river_crossing], models: [small], overrides: {record_population: true}}
  b: {algo: dqn, games: [frostbite], models: [nature]}
  c: {algo: impala, games: [frostbite], models: [impala_shallow]}
  d: {algo: dsage, games: [mario], models: [full], preset: mario_demo}
  e: {algo: ga, games: [river_crossing], models: [modular], preset: jolley2018}
imports: {f: {game: frostbite, model: small, genome: [1]}}
freeze: {forms: [saved_model, graph]}
interventions: {blind: {layer: observation, with: zero}}
what_if: {grid-2: {step: 120, action: LEFT}}
"""
KINDS = (
    *("ga_ns/river_crossing/small", "ga/river_crossing/modular", "dqn/frostbite/nature"),
    *("impala/frostbite/impala_shallow", "dsage/mario/full"),
)
PLACES = {
    "layer": "conv1",
    "n": "3",
    "frames": "9",
    "tag": "human",
    "generation": "1",
    "game": "frostbite",
    "intervention": "blind",
    "name": "grid-2",  # not the grid itself
}


def in_all_forms(path: str) -> list[str]:
    """Expands braces as a shell does: `a.{b,c}` becomes `a.b` and `a.c`."""
    if not (braces := re.search(r"\{([^{}]*,[^{}]*)\}", path)):
        return [path]
    forms = [path[: braces.start()] + part.strip() + path[braces.end() :] for part in braces[1].split(",")]
    return [whole for form in forms for whole in in_all_forms(form)]


def named_targets(text: str) -> set[str]:
    """Finds the runs and files of runs on a page, and what its commands want with `config.yaml`."""
    named = {path if re.search(r"/\d+/", path) else f"{path}/result.json" for path in RUNS.findall(text)}
    for command in re.findall(r"snakemake (--[^`#\n]*results/[^`#\n]*)", text):
        if not re.search(r"--config|--report|results/mine", command):
            named.update(word for word in shlex.split(command) if word.startswith("results/"))
    return {target for path in named for target in in_all_forms(path)}


def is_possible(config: dict, target: str) -> bool:
    try:
        check_run_targets(config, [target])
    except NeurozooError:
        return False
    return True


def test_every_run_and_target_that_a_page_names_can_be_made(snakemake):
    named = set[str]().union(*(named_targets(page.read_text().replace("\\\n", "")) for page in PAGES))
    targets = [target for target in sorted(named) if not MADE_BEFORE.search(target) and not BESIDE.fullmatch(target)]
    assert len(targets) > 25
    answer = snakemake("-n", "--", *targets)
    assert answer.returncode == 0, answer.stdout


def test_every_file_on_the_page_of_results_can_be_made(project, snakemake):
    (project / "all.yaml").write_text(ALL_KINDS)
    config, targets = check_config(yaml.safe_load(ALL_KINDS)), []
    page = (PROJECT / "results" / "README.md").read_text()
    for title, _, section in (part.partition("\n") for part in page.split("\n## ")[1:]):
        places = [f"runs/{kind}/1/" for kind in KINDS] if "runs/" in title else [""]
        places = ["comparisons/frostbite/"] if "comparisons/" in title else places
        names = " ".join(re.findall(r"^\| (`[^|]*) \|", section, re.MULTILINE))
        for file in [form for name in re.findall("`([^`]+)`", names) for form in in_all_forms(name)]:
            # Patterns, folders, endings, and logs of schedulers are no single files.
            if not re.search(r"\*|/$|^\.|\{job\}|\{N\}", file) and not BESIDE.fullmatch(file.format(**PLACES)):
                paths = [f"results/{place}{file.format(**PLACES)}" for place in places]
                possible = [path for path in paths if is_possible(config, path)]
                assert possible, file
                targets.append(possible[0])
    assert len(targets) > 80
    answer = snakemake("-n", "--configfile", "all.yaml", "--", *targets)
    assert answer.returncode == 0, answer.stdout
