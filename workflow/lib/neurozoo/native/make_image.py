"""Fills the folder of a container image with the core, its sources and a description: `envs/Dockerfile` runs it."""

import argparse
from pathlib import Path

from neurozoo.machine import cores
from neurozoo.native.build import ALE_VERSION, build_native, fetch_ale
from neurozoo.native.image import describe_image

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--march", required=True)
    parser.add_argument("--commit", required=True)
    parser.add_argument("--requirements", nargs="+", required=True)
    options = parser.parse_args()

    log, source = Path("build.log"), options.folder / f"ale-py-{ALE_VERSION}.tar.gz"
    options.folder.mkdir(parents=True)
    fetch_ale(source, log=log)
    build_native(
        source,
        options.folder,
        build_dir=Path("build"),
        march=options.march,
        jobs=cores(),
        log=log,
    )
    describe_image(options.folder, commit=options.commit, requirements=options.requirements)
