"""``dropglm compile``: functions compiled ahead of their first use."""

from dropglm.cli import options, terminal


def compile(quiet: options.Quiet = False) -> None:
    """Compile all functions of the package that are not compiled yet.

    Installing the package does this. It is needed again only where another version of Numba was installed
    since, as for the image of a container; otherwise the first command that needs a function compiles it.
    """
    from dropglm.compiling import compile_all

    folder = compile_all(shown=not quiet)
    if not quiet:
        terminal.message(f"compiled functions are in {folder}.")
