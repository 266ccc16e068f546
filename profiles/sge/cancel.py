#!/usr/bin/env python3
"""Deletes jobs of Grid Engine. Snakemake kills this command after two seconds; qdel itself goes on."""

import signal

if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second Ctrl-C changes nothing

import subprocess
import sys

if __name__ == "__main__":
    quiet = subprocess.DEVNULL
    subprocess.Popen(["qdel", *sys.argv[1:]], stdin=quiet, stdout=quiet, stderr=quiet, start_new_session=True)
