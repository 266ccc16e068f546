#!/usr/bin/env python3
"""Deletes jobs of Grid Engine. Snakemake kills this command after two seconds; qdel itself goes on."""

import subprocess
import sys

if __name__ == "__main__":
    quiet = subprocess.DEVNULL
    subprocess.Popen(["qdel", *sys.argv[1:]], stdin=quiet, stdout=quiet, stderr=quiet, start_new_session=True)
