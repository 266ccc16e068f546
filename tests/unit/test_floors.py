"""The floors of docs/architecture.md hold: no import goes up, none goes round in a circle."""

import subprocess
import sys


def test_every_import_goes_down(request):
    # In a process of its own: import-linter configures logging, and that closes the stream of every other handler,
    # pytest's among them once TensorFlow is there.
    program = "import sys; from importlinter.cli import lint_imports_command; sys.exit(lint_imports_command())"
    command = [sys.executable, "-c", program, "--no-cache"]
    checked = subprocess.run(command, cwd=request.config.rootpath, capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout + checked.stderr
