"""Finds the movies, pictures and other files of a folder, and describes them with their titles and sizes."""

import contextlib
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from PIL import Image

from neurozoo.agents.frozen import RECORD_FILE, open_frozen
from neurozoo.agents.tags import FINAL
from neurozoo.environments.games import world_of
from neurozoo.errors import NeurozooError
from neurozoo.files import open_file
from neurozoo.files.npz import NpzReader
from neurozoo.gallery.file_titles import BY_FRAME, MOVIES, PICTURES, Titles, title_of
from neurozoo.gallery.manifest import File, MovieFile, Picture
from neurozoo.gallery.missing import REMAKE, MissingList
from neurozoo.gallery.video_facts import VideoFacts, crop_picture, find_poster, read_video
from neurozoo.machine import cores
from neurozoo.movies.classic_frame import Place
from neurozoo.movies.video import POSTER
from neurozoo.movies.wide_frame import places_on

LOOP = "loop.webp"  # of an activation movie, beside it
POSTERS = "posters"  # subfolder of the pages, for pictures taken from movies
SCREEN = (210, 160, 3)  # of an Atari game; used if there is no rollout to ask


def portable(path: str) -> str:
    """Returns the path of a file in a bundle.

    Windows has no `:` in names, but games of modules (`gym.MODULE:ID`) have; no name of a game has `~`.
    """
    return path.replace(":", "~")


class MediaReader:
    """Describes the files of a results folder, and puts damaged ones on the missing list.

    Pictures from movies are written to `site`, the folder of the pages; if these are a bundle and `is_passed_on`, under
    `portable` paths.
    """

    def __init__(self, results: Path, site: Path, missing: MissingList, *, is_passed_on: bool = False):
        self._results, self._site, self._missing, self._is_passed_on = results, site, missing, is_passed_on

    def movies(
        self, folder: Path, pattern: str = "*.mp4", *, tag: str = FINAL, titles: Titles = MOVIES, game: str = ""
    ) -> list[MovieFile]:
        """Describes a folder's movies; `game` is the game of their run, or empty if they show several runs."""
        has_frames = bool(game) and world_of(game) == "atari"
        found = []
        for path, title in self._found(folder, titles, pattern):
            with self._missing.noting_errors(path):
                facts = read_video(path)
                panels: tuple[Place, ...] = ()
                if path.name == "activation.mp4":
                    with self._missing.noting_errors(folder / "frozen"):
                        panels = _panels(folder, facts)
                poster, screen = self._posters(path)
                find_poster(path, facts, poster)
                if panels:
                    crop_picture(poster, panels[0].box, screen)
                unit = "frames" if has_frames and path.name in BY_FRAME else "steps"
                pictures = self._drawn(poster), self._drawn(screen if panels else poster)
                loop = folder / LOOP
                has_loop = path.name == "activation.mp4" and self._missing.has(loop) and loop.is_file()
                loop_path = loop.relative_to(self._results).as_posix() if has_loop else ""
                found.append(MovieFile(*self._named(path, title), tag, unit, facts, panels, *pictures, loop_path))
        return found

    def prepare(self, *patterns: str) -> None:
        """Finds the posters of all movies that match, several at once, because ffmpeg takes its time for each.

        Damaged movies are left to `movies`, which puts them on the missing list.
        """

        def draw(path: Path) -> None:
            with contextlib.suppress(NeurozooError, OSError):
                find_poster(path, read_video(path), self._posters(path)[0])

        paths = [path for path in self._missing.find(self._results, *patterns) if path.is_file()]
        with ThreadPoolExecutor(cores()) as pool:
            list(pool.map(draw, paths))

    def _posters(self, movie: Path) -> tuple[Path, Path]:
        """Returns where the pages have a movie's poster, and the same with only the game's screen."""
        path = movie.relative_to(self._results).as_posix()
        drawn = self._site / POSTERS / (portable(path) if self._is_passed_on else path)
        return drawn.with_suffix(".png"), drawn.with_suffix(".screen.png")

    def _drawn(self, path: Path) -> tuple[str, int, int]:
        with open_file(path) as file, Image.open(file) as picture:
            return path.relative_to(self._site).as_posix(), *picture.size

    def pictures(self, folder: Path, *patterns: str) -> list[Picture]:
        """Describes a folder's pictures that match a pattern."""
        found = []
        for path, title in self._found(folder, PICTURES, *patterns):
            try:
                with open_file(path) as file, Image.open(file) as picture:
                    picture.verify()
                    found.append(Picture(*self._named(path, title), *picture.size))
            except Exception as error:  # Pillow raises many kinds
                self._missing.note_error(path, f"{path} is not a complete picture ({error}). {REMAKE}")
        return found

    def files(self, folder: Path, titles: Titles, *patterns: str) -> list[File]:
        """Describes a folder's files that match a pattern; default: the patterns of the titles."""
        patterns = patterns or tuple(name for name, _ in titles)
        return [File(*self._named(path, title)) for path, title in self._found(folder, titles, *patterns)]

    def _found(self, folder: Path, titles: Titles, *patterns: str) -> Iterable[tuple[Path, str]]:
        """Returns files that match a pattern, with titles, in page order; posters belong to movies."""
        files = [path for path in self._missing.find(folder, *patterns) if not path.name.endswith(POSTER)]
        files = [path for path in files if path.is_file()]
        known = [(path, title_of(path.relative_to(folder).as_posix(), titles)) for path in files]
        listed = sorted((title[0], path.as_posix(), path, title[1]) for path, title in known if title)
        return [(path, title) for _, _, path, title in listed]

    def _named(self, path: Path, title: str) -> tuple[str, str, int]:
        return path.relative_to(self._results).as_posix(), title, path.stat().st_size


def _panels(folder: Path, facts: VideoFacts) -> tuple[Place, ...]:
    """Returns the panels of an activation movie, or none if its size does not fit this network and rollout."""
    if not (folder / "frozen" / RECORD_FILE).exists():
        return ()
    frozen, shape = open_frozen(folder / "frozen"), SCREEN
    if (folder / "rollout.npz").exists():
        with NpzReader(folder / "rollout.npz", keys=("frames",), remedy=REMAKE) as reader:
            height, width, colours = reader.shape("frames")[1:]
            shape = (height, width, colours)
    places = places_on(frozen, screen_shape=shape, width=facts.width, height=facts.height, steps=facts.frames)
    return tuple(places)
