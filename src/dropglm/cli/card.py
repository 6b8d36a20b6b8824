"""``dropglm card``: a model card."""

import sys
from pathlib import Path
from typing import Annotated

from dropglm.base.files import replacing
from dropglm.cli import options, terminal
from dropglm.cli.inputs_outputs import check_output
from dropglm.cli.options import OUTPUT, File, option


def card(
    model: options.ModelFile,
    out: Annotated[
        Path | None,
        option(OUTPUT, "Markdown file to write; by default standard output.", "--out", "-o"),
        File.WRITTEN,
    ] = None,
    name: Annotated[str | None, option(OUTPUT, "Name of the model; by default that of its file.")] = None,
    trust: options.Trust = False,
) -> None:
    """Write a model card: training data, settings, scores and limits, as far as the model file has them."""
    from dropglm.exports import model_card
    from dropglm.text.fitted_model import load_fitted_model

    if out is not None:
        check_output(out, "--out")
    page = model_card(load_fitted_model(model, trust=trust), name or model.stem)
    if out is None:
        sys.stdout.write(page)
        return
    with replacing(out) as stream:
        stream.write(page.encode())
    terminal.message(f"wrote {out}.")
