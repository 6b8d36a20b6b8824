"""The directive ``dropglm-commands``: commands, arguments and options, from the program itself."""

import re
from collections.abc import Iterator
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from typer.main import get_command

from dropglm.cli.app import app

HELP = {"install_completion", "show_completion", "help"}
OTHER = "Options"


def usage(command: Any, context: Any) -> str:
    """Return the line that shows how a command is called."""
    return " ".join([context.command_path, *command.collect_usage_pieces(context)])


def marked(text: str) -> str:
    """Return help as Markdown, with options as code."""
    plain = text.replace("*", r"\*").replace("<", r"\<")
    return re.sub(r"(?<![\w-])--[a-z][a-z-]*", r"`\g<0>`", plain)


def described(parameter: Any, context: Any) -> tuple[str, str]:
    """Return the names of an option or argument, and its help with the default and the range."""
    names, text = parameter.get_help_record(context)
    return names, text


def by_panel(command: Any) -> dict[str, list[Any]]:
    """Return the options of a command by the panel of the help that shows them, in their order."""
    panels: dict[str, list[Any]] = {}
    for parameter in command.params:
        if parameter.name not in HELP and not getattr(parameter, "hidden", False):
            is_argument = parameter.param_type_name == "argument"
            panel = "Arguments" if is_argument else (parameter.rich_help_panel or OTHER)
            panels.setdefault(panel, []).append(parameter)
    return panels


def markdown(command: Any, context: Any) -> Iterator[str]:
    """Yield lines of Markdown that describe a command and all commands below it."""
    yield from (f"## {context.command_path}", "", marked((command.help or "").replace("\b\n", "")), "")
    yield from ("```text", usage(command, context), "```", "")
    for panel, parameters in by_panel(command).items():
        yield from (f"**{panel}**", "")
        for parameter in parameters:
            names, text = described(parameter, context)
            yield from (f"`{names}`", f": {marked(text)}", "")
    if command.epilog:
        yield from (command.epilog, "")
    for name in command.list_commands(context) if hasattr(command, "list_commands") else ():
        below = command.get_command(context, name)
        yield from markdown(below, type(context)(below, info_name=name, parent=context))


class Commands(SphinxDirective):
    """Describe all commands of dropglm."""

    def run(self) -> list[nodes.Node]:
        """Return one section per command."""
        command = get_command(app)
        lines = "\n".join(markdown(command, command.context_class(command, info_name="dropglm")))
        return self.parse_text_to_nodes(lines, allow_section_headings=True)


def setup(sphinx: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    sphinx.add_directive("dropglm-commands", Commands)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
