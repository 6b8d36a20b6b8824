"""The command line: arguments in, library calls out.

Commands import the library when they run, so that help and completion need not wait for it.
"""

import sys


def main() -> None:
    """Run the command; ``python -m dropglm`` does the same."""
    try:
        from dropglm.cli.app import app
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("dropglm"):
            raise
        sys.exit(f"dropglm: the command line needs {error.name}: pip install 'dropglm[cli]'.")
    app(prog_name="dropglm")
