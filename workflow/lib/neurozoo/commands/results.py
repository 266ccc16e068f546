"""`python -m neurozoo site`, `provenance` and `show`: what lies in a folder of results, and where it comes from."""

from pathlib import Path

from neurozoo.commands.arguments import Commands, add_command, add_results


def add_result_commands(commands: Commands) -> None:
    """Adds what shows all results together."""
    site = add_command(commands, "site", _site, "write the gallery: pages of all that lies in a folder of results")
    add_results(site)
    site.add_argument(
        "--bundle", type=Path, metavar="FOLDER_OR_ZIP", help="a copy with all that is shown, to be passed on"
    )

    origins = add_command(commands, "provenance", _provenance, "say which versions and settings results come from")
    add_results(origins)
    origins.add_argument("--build", type=Path, help="build.json of the op library")

    show = add_command(commands, "show", _show, "say what a finished workflow has made, and where it is")
    show.add_argument("--results", type=Path, default=Path("results"))


def _site(options):
    from neurozoo.site.pages import build_site, bundle_site

    if options.bundle:
        manifest, page = bundle_site(options.results, options.bundle), options.bundle
    else:
        manifest, page = build_site(options.results), options.results / "site" / "index.html"
    damaged = sum(entry.is_damaged for entry in manifest.missing)
    print(f"{page}: {len(manifest.runs)} runs, {damaged} damaged files, {len(manifest.missing) - damaged} to come")


def _provenance(options):
    from neurozoo.site.origins import find_settings, write_provenance

    page = options.results / "provenance.html"
    write_provenance(find_settings(options.results), html=page, json=page.with_suffix(".json"), build=options.build)
    print(page)


def _show(options):
    from neurozoo.tables import describe_results

    print(describe_results(options.results))
