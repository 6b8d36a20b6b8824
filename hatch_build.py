"""Compile the package's functions when a wheel is built, or when it is installed from its sources."""

import os
import subprocess
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
        path = os.pathsep.join(filter(None, [str(source), os.environ.get("PYTHONPATH")]))
        command = [sys.executable, "-P", "-m", "dropglm.compiling"]
        subprocess.run(command, env=os.environ | {"PYTHONPATH": path}, check=True)
        if version != "editable":
            listed = subprocess.run(
                [*command, "--list"],
                env=os.environ | {"PYTHONPATH": path},
                check=True,
                capture_output=True,
                text=True,
            )
            files = listed.stdout.split()
            build_data["force_include"] |= {file: Path(file).relative_to(source).as_posix() for file in files}
            build_data["pure_python"], build_data["infer_tag"] = False, True
