"""Compile the package's functions when a wheel is built, or when it is installed from its sources."""

import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CompiledFunctions(BuildHookInterface):
    """Puts machine code for this Python, this platform and a baseline processor into the wheel.

    An editable installation finds it where it is written, in the folder of the sources.
    """

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile what is not there yet."""
        source = Path(self.root, "src")
        sys.path.insert(0, str(source))
        from dropglm.compiling import compile_all
        from dropglm.core.maths.kernel_files import usable_files

        compile_all(shown=True)
        if version != "editable":
            files = {str(path): path.relative_to(source).as_posix() for path in usable_files()}
            build_data["force_include"] |= files
            build_data["pure_python"], build_data["infer_tag"] = False, True
