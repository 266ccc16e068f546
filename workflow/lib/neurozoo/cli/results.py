"""`python -m neurozoo site`, `provenance`, `show` and `check-op`: shows a results folder, and checks the op library."""

import argparse
import os
import webbrowser
from pathlib import Path
from urllib.parse import urlsplit

from neurozoo.cli.arguments import OPS, Commands, add_command, add_results


def add_result_commands(commands: Commands) -> None:
    """Adds `site`, `provenance`, `show` and `check-op`."""
    site = add_command(commands, "site", _site, "write the gallery: web pages that show all results")
    add_results(site)
    site.add_argument(
        "--bundle", type=Path, metavar="FOLDER_OR_ZIP", help="write a copy with all files that it shows, to pass on"
    )
    site.add_argument(
        "--url",
        type=web_address,
        help="address of the folder with index.html on the web, for previews of links (site.url of the configuration)",
    )

    provenance = add_command(
        commands, "provenance", _provenance, "write a page about the versions and settings behind the results"
    )
    add_results(provenance)
    provenance.add_argument("--build", type=Path, help="build.json of the op library")

    show = add_command(commands, "show", _show, "list the files that a finished workflow has made")
    add_results(show)
    show.add_argument("--open", action="store_true", help="open the gallery in a browser, where there is a desktop")

    check = add_command(
        commands, "check-op", _check_op, "check whether the op library was built from the sources in this checkout"
    )
    check.add_argument("--ops", type=Path, default=OPS, help="op library (default: %(default)s)")


def web_address(text: str) -> str:
    """Reads an absolute address on the web.

    Raises:
        argparse.ArgumentTypeError: It does not begin with https:// or http:// and a host.
    """
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


def _show(options):
    from neurozoo.gallery.summary import describe_results

    print(describe_results(options.results))
    page = (options.results / "site" / "index.html").resolve()
    if options.open and page.exists() and has_desktop():
        webbrowser.open(page.as_uri())


def has_desktop() -> bool:
    """Returns whether a browser window could be seen."""
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def _check_op(options):
    from neurozoo.native import check_ops

    check_ops(options.ops)
    print(f"{options.ops} was built from the sources in this checkout")
