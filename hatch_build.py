"""Compile the package's functions when a wheel is built, or when it is installed from its sources."""

import os
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
        os.environ.pop("NUMBA_CACHE_DIR", None)  # a wheel takes functions from the package's folder
        from dropglm.compiling import compile_all
        from dropglm.core.maths.kernel_files import SHIPPED, mark, usable_files

        folder = compile_all(shown=True)
        if folder != SHIPPED:
            raise RuntimeError(f"{SHIPPED} cannot be written, so no compiled functions can be included.")
        if version != "editable":
            files = [*usable_files(), SHIPPED / mark()]
            build_data["force_include"] |= {str(path): path.relative_to(source).as_posix() for path in files}
            build_data["pure_python"], build_data["infer_tag"] = False, True
