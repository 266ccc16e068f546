"""`python -m neurozoo site`, `live`, `provenance`, `show`, `check-core`, `book`: pages of results, checks of files."""

import argparse
import os
import webbrowser
from pathlib import Path
from urllib.parse import urlsplit

from neurozoo.cli import arguments as args
from neurozoo.errors import NeurozooError
from neurozoo.folders import guard


def add_commands(commands: args.Commands) -> None:
    """Adds `site`, `live`, `provenance`, `show`, `check-core` and `book`."""
    command = args.add_command(commands, "site", _site, "write the gallery: web pages that show all results")
    option = command.add_argument
    args.add(command, "results")
    option("--bundle", type=Path, metavar="FOLDER_OR_ZIP", help="write a copy with all files that it shows, to pass on")
    url = "address of the folder with index.html on the web, for previews of links (site.url of the configuration)"
    option("--url", type=web_address, help=url)

    summary = "run a Snakemake command, and open the gallery with the first movie; it grows until the command ends"
    command = args.add_command(commands, "live", _live, summary)
    words = (
        "such as: snakemake --profile local --configfile config/published_genomes.yaml. It should work in this folder, "
        "and name its configurations itself: neither directory nor configfile of a profile is read"
    )
    command.add_argument("snakemake", nargs=argparse.REMAINDER, metavar="COMMAND", help=words)

    summary = "write a page about the versions and settings behind the results"
    command = args.add_command(commands, "provenance", _provenance, summary)
    args.add(command, "results")
    command.add_argument("--build", type=Path, help="build.json of the native core")

    command = args.add_command(commands, "show", _show, "list the files that a finished workflow has made")
    args.add(command, "results")
    command.add_argument("--open", action="store_true", help="open the gallery in a browser, where there is a desktop")

    summary = "check whether the native core was built from the sources in this checkout"
    args.add(args.add_command(commands, "check-core", _check_core, summary), "core")

    summary = "take the results that are there into the book of results, and write its pages"
    option = args.add_command(commands, "book", _book, summary).add_argument
    claims = "of docs/results/book.yaml (default: all); learning curves without results are drawn from the record"
    option("claims", nargs="*", metavar="CLAIM", help=claims)
    folder = "folder in which Snakemake was started, with the results (default: this one)"
    option("--directory", type=Path, default=Path(), help=folder)
    option("--replace", action="store_true", help="take runs also if the record has them further")
    option("--pages", action="store_true", help="take nothing, only write the pages from the records")
    option("--check", action="store_true", help="write nothing, and fail if a page is out of date")


def web_address(text: str) -> str:
    """Reads an absolute address on the web."""
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.netloc or parts.query or parts.fragment:
        raise argparse.ArgumentTypeError(f"should be an address such as https://example.org/gallery, but is {text!r}")
    return text


def _site(options):
    from neurozoo.gallery.pages import build_site, bundle_site

    if options.bundle:
        manifest, page = bundle_site(options.results, options.bundle, url=options.url or ""), options.bundle
    else:
        manifest, page = build_site(options.results, url=options.url or ""), options.results / "site" / "index.html"
    damaged = sum(entry.is_damaged for entry in manifest.missing)
    print(f"{page}: {len(manifest.runs)} runs, {damaged} damaged, {len(manifest.missing) - damaged} not made yet")


def _provenance(options):
    from neurozoo.gallery.provenance_page import find_settings, write_provenance

    page = options.results / "provenance.html"
    write_provenance(find_settings(options.results), html=page, json=page.with_suffix(".json"), build=options.build)
    print(page)


def _live(options):
    from neurozoo.gallery.growing import grow, outlook
    from neurozoo.plan.config_files import config_files_of
    from neurozoo.plan.planned_runs import labels_of_runs
    from neurozoo.status import read_config, read_overview

    if not options.snakemake:
        raise NeurozooError("A command is needed, such as: python -m neurozoo live snakemake --profile local")
    for word in options.snakemake:
        if word.startswith(("-d", "--di")):
            raise NeurozooError(f"live shows the gallery of this folder, but {word} names another. Start live there.")
        if word.startswith("pathvars="):
            raise NeurozooError(f"live reads pathvars from files, but {word} is none. Write it into a --configfile.")
    files = list(config_files_of(options.snakemake)) or ["config.yaml"]
    config = read_config(files)
    results = config["pathvars"]["results"]
    guard(results)

    def write(growth):
        from neurozoo.gallery.pages import build_site  # slow, and not needed before the first movie

        url, labels = config["site"]["url"], labels_of_runs(config)
        build_site(results, url=url, labels=labels, growth=growth, **config["statistics"])

    def foresee():
        return outlook(read_overview(files))

    raise SystemExit(grow(options.snakemake, results, write=write, foresee=foresee, show=_open))


def _show(options):
    from neurozoo.gallery.summary import describe_results

    print(describe_results(options.results))
    page = options.results / "site" / "index.html"
    if options.open and page.exists():
        _open(page.resolve().as_uri())


def _open(address):
    if os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"):
        webbrowser.open(address)


def _check_core(options):
    from neurozoo.native import check_library

    check_library(options.core)
    print(f"{options.core} was built from the sources in this checkout")


def _book(options):
    from neurozoo.book.pages import outdated_pages, write_pages
    from neurozoo.book.update import make_book

    if options.check:
        if outdated := outdated_pages():
            pages = ", ".join(outdated)
            raise NeurozooError(f"The book is out of date: {pages}. Write it: python -m neurozoo book --pages")
        print("All pages of the book are up to date")
    elif options.pages:
        for page in write_pages():
            print(f"{page}: written")
    else:
        make_book(options.claims, workdir=options.directory, replaces=options.replace)
