"""Writes the gallery's pages: one of all runs, one per run and one per game, with style, script and manifest."""

import contextlib
import datetime
import json
import os
import re
import shlex
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path, PurePosixPath
from typing import Unpack
from urllib.parse import quote, urljoin

import jinja2

from neurozoo.algorithms.agent_names import algo_name, called
from neurozoo.environments.game_titles import game_title
from neurozoo.errors import NeurozooError
from neurozoo.figures.style import reservations, si_label
from neurozoo.files import copy_file, read_json, write_text, written_whole
from neurozoo.files.templates import STATIC, environment
from neurozoo.folders import delete, find, guard
from neurozoo.gallery.crate import write_crate
from neurozoo.gallery.explanations import (
    best_run,
    explain_algorithm,
    explain_network,
    explain_protocol,
    share_of_human,
)
from neurozoo.gallery.file_titles import BUNDLED
from neurozoo.gallery.growing import Growth
from neurozoo.gallery.manifest import Collection, Manifest, MovieFile, Run
from neurozoo.gallery.media import POSTERS, portable
from neurozoo.gallery.run_charts import RunCharts
from neurozoo.gallery.scan import Resampling, comparable, read_manifest
from neurozoo.records.tables import NO_LABELS
from neurozoo.text import number_label

_BESIDE = "../"  # from the folder of the pages to the results
_INSIDE = "files/"  # from a bundle's pages to its copies of the results
_OTHER_ARCHIVES = (".tar", ".gz", ".tgz", ".bz2", ".xz", ".7z", ".rar")  # which a bundle cannot be


def build_site(
    results: str | os.PathLike,
    *,
    url: str = "",
    labels: Mapping[str, str] = NO_LABELS,
    growth: Growth | None = None,
    **statistics: Unpack[Resampling],
) -> Manifest:
    """Writes the gallery of a results folder into its folder `site`, and returns the manifest of what the pages show.

    The pages link to the original files in the results folder. They need no server and no network. `index.html` comes
    last. `url` is the address of the folder of the pages on the web, for previews of links; empty if it is unknown.
    With `growth`, `index.html` asks for a newer one (`grow`), and `manifest.json` stays as it is. All else is as in
    `read_manifest`.

    Raises:
        NeurozooError: There is no such folder.
    """
    results = Path(results)
    guard(results)
    site = results / "site"
    manifest = read_manifest(results, site, labels=labels, **statistics)
    _write_pages(manifest, site, files=_BESIDE, url=url, growth=growth)
    return manifest


def bundle_site(
    results: str | os.PathLike, bundle: str | os.PathLike, *, url: str = "", **statistics: Unpack[Resampling]
) -> Manifest:
    """Writes the gallery with copies of everything it shows, to pass on or to put on a web server.

    Networks and recordings are left out because of their size; the pages name them without a link. Files that links
    bring from outside of the results are left out, too, and listed as missing. The `bundle` is a new or empty folder,
    or a new `.zip`; all else is as in `build_site`.

    Raises:
        NeurozooError: There are no results, or the bundle exists already or would be another kind of archive.
    """
    results, bundle = Path(results), Path(bundle)
    guard(results, bundle)
    if bundle.is_file() or (bundle.is_dir() and any(bundle.iterdir())):
        raise NeurozooError(f"{bundle} exists already. Delete it, or choose another name for the bundle.")
    if bundle.suffix in _OTHER_ARCHIVES:
        raise NeurozooError(f"A bundle should be a folder or a .zip, but {bundle} ends in {bundle.suffix}.")
    if bundle.suffix != ".zip":
        return _fill_bundle(results, bundle, url, **statistics)
    with tempfile.TemporaryDirectory() as folder, written_whole(bundle) as temporary:
        filled = Path(folder, bundle.stem)
        manifest = _fill_bundle(results, filled, url, **statistics)
        with zipfile.ZipFile(temporary, "w") as archive:
            for path in find(filled, "**/*"):
                packs = zipfile.ZIP_STORED if path.suffix in (".mp4", ".png", ".webp") else zipfile.ZIP_DEFLATED
                archive.write(path, path.relative_to(folder), packs)
    return manifest


def _fill_bundle(results: Path, folder: Path, url: str, **statistics: Unpack[Resampling]) -> Manifest:
    manifest = read_manifest(results, folder, is_passed_on=True, **statistics)
    for path in sorted(_bundled_paths(manifest)):
        copy_file(results / path, folder / _INSIDE / portable(path), is_durable=False)
    _write_pages(manifest, folder, files=_INSIDE, url=url)
    write_crate(manifest, folder, inside=_INSIDE)
    return manifest


def _bundled_paths(manifest: Manifest) -> set[str]:
    files = [file for part in _parts(manifest) for file in (*part.movies, *part.pictures, *part.files)]
    loops = {movie.loop for part in _parts(manifest) for movie in part.movies if movie.loop}
    return {file.path for file in files if file.path.endswith(BUNDLED)} | loops


def _parts(manifest: Manifest) -> list[Collection | Run]:
    return [manifest.overall, *manifest.games.values(), *manifest.runs]


def _write_pages(manifest: Manifest, site: Path, *, files: str, url: str, growth: Growth | None = None) -> None:
    templates, common = _templates(files, url), _common(manifest, files=files)
    pages = {}
    for number, run in enumerate(manifest.runs):
        neighbours = manifest.runs[number - 1] if number else None, (*manifest.runs, None)[number + 1]
        pages[_named(f"runs/{run.id}.html", files)] = ("run.html", {"run": run, "neighbours": neighbours})
    for game, collection in manifest.games.items():
        runs = [run for run in manifest.runs if run.game == game]
        pages[_named(f"games/{game}.html", files)] = (
            "game.html",
            {"game": game, "runs": runs, "collection": collection},
        )
    for name in ("style.css", "gallery.js"):
        write_text(site / name, (STATIC / name).read_text(encoding="utf-8"))
    for path, (template, values) in pages.items():
        root = "../" * path.count("/")
        write_text(site / path, templates.get_template(template).render(**common, **values, root=root, path=path))
    movies = [movie for part in _parts(manifest) for movie in part.movies]
    pictures = [path for movie in movies for path in (movie.poster[0], movie.screen[0])]
    written = list(dict.fromkeys([*pages, *pictures]))
    _delete_written(site, but=written)
    if not growth:  # Snakemake wonders about an output that another process has written meanwhile
        facts = manifest.to_json() | {"written": written}
        write_text(site / "manifest.json", json.dumps(facts, allow_nan=False) + "\n")
    write_index(manifest, site, files=files, url=url, growth=growth)


def _common(manifest: Manifest, *, files: str) -> dict[str, object]:
    """Returns what all templates use."""
    return {
        "manifest": manifest,
        "drawn": RunCharts(manifest),
        "built": f"{datetime.datetime.now(datetime.UTC):%Y-%m-%d %H:%M} UTC",
        "bundled": None if files == _BESIDE else BUNDLED,
    }


def write_index(manifest: Manifest, site: Path, *, files: str, url: str = "", growth: Growth | None = None) -> None:
    """Writes the page of all runs, and the script with what its cards show.

    `files` is the path from the folder of the pages to the results.
    """
    templates, common = _templates(files, url), _common(manifest, files=files)
    write_text(site / "cards.js", _card_script(manifest, templates, common))
    index = templates.get_template("index.html").render(
        **common, hero=best_run(manifest.runs), growth=growth, root="", path=""
    )
    write_text(site / "index.html", re.sub(r"\n\s+", "\n", index))  # indentation is a tenth of a long page


def _card_script(manifest: Manifest, templates: jinja2.Environment, common: Mapping[str, object]) -> str:
    """Returns a script with what the index draws and plays on its cards, which it does as they come into view.

    In the page itself it would be three quarters of all bytes. A script can be loaded without a server; JSON cannot.
    """
    macros = templates.get_template("macros.html").make_module({**common, "root": ""})
    movie_json, cards = templates.filters["movie_json"], {}
    for run in manifest.runs:
        drawn = {"curve": macros.card_curve(run), "likes": macros.card_likes(run)}  # type: ignore[attr-defined]
        texts = {name: re.sub(r"\s*\n\s*", "", str(html)) for name, html in drawn.items()}
        cards[run.id] = {**texts, "movies": movie_json(run.movies, "")}
    return f"const CARDS = {json.dumps(cards, separators=(',', ':'))};\n"


def _delete_written(site: Path, *, but: Sequence[str]) -> None:
    """Deletes what an earlier gallery has written, as its manifest says: pages and pictures of what is gone."""
    try:
        written = read_json(site / "manifest.json", "")["written"]
        gone = {PurePosixPath(path) for path in written} - {PurePosixPath(path) for path in but}
    except (NeurozooError, LookupError, TypeError):  # the first gallery here, or not a manifest of ours
        return
    for path in sorted(gone):
        if path.parts[0] in ("runs", "games", POSTERS) and ".." not in path.parts:
            with contextlib.suppress(OSError):
                delete(site / path)


def _named(path: str, files: str) -> str:
    """Returns the path of a page or a file: in a bundle, a `portable` one."""
    return portable(path) if files == _INSIDE else path


def _templates(files: str, url: str) -> jinja2.Environment:
    """Returns the templates with their filters and tests."""
    templates, top = environment(), url.rstrip("/") + "/"
    templates.filters |= {
        "url": quote,
        "file_url": lambda path: quote(files + _named(path, files)),
        "absolute": lambda path: urljoin(top, path),
        "shell": shlex.quote,
        "page": lambda run: quote(_named(f"runs/{run.id}.html", files)),
        "game_page": lambda game: quote(_named(f"games/{game}.html", files)),
        "number": number_label,
        "frames": si_label,
        "bytes": _bytes_label,
        "game": game_title,
        "explained_algo": explain_algorithm,
        "explained_network": explain_network,
        "explained_protocol": explain_protocol,
        "of_human": _human_label,
        "algo": algo_name,
        "full_algo": _full_algo,
        "settings": lambda run: called(run.algo, run.variant)[1],
        "network": lambda model: model.replace("_", " "),
        "reservations": lambda runs: reservations(comparable(runs), of="scores"),
        "movie_json": lambda movies, root: [_movie_json(movie, root, files) for movie in movies],
    }
    templates.globals |= {"is_on_web": bool(url)}
    templates.tests["in_run"] = lambda path, run: path == run or path.startswith(f"{run}/")
    return templates


def _full_algo(run: Run) -> str:
    """Returns the full name of a run's algorithm, such as "Genetic algorithm", or what its settings are called."""
    return run.called if run.called != algo_name(run.algo) else explain_algorithm(run.algo) or run.called


def _human_label(run: Run) -> str:
    """Returns a run's human-normalised score, such as "3 % of human"; empty if it is unknown."""
    share = share_of_human(run)
    return "" if share is None else f"{round(100 * share)} % of human".replace("-", "−")


def _bytes_label(size: float) -> str:
    for unit in ("B", "kB", "MB"):
        if size < 1000:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:.3g} GB"


def _movie_json(movie: MovieFile, root: str, files: str) -> dict:
    """Returns a movie's facts for the player in `gallery.js`."""
    return {
        "id": movie.path,
        "title": movie.title if movie.tag == "final" else f"{movie.title} ({movie.tag})",
        "source": root + quote(files + _named(movie.path, files)),
        "poster": root + quote(movie.poster[0]),
        **asdict(movie.video),
        "unit": movie.unit,
        "panels": [asdict(panel) for panel in movie.panels],
    }
