"""``dropglm export`` and ``dropglm card``: a model for programs without dropglm, and for readers."""

import sys
from pathlib import Path
from typing import Annotated

from dropglm.base.files import replacing
from dropglm.cli import options, terminal
from dropglm.cli.files import check_output
from dropglm.cli.options import OUTPUT, File, Panel, bad_option

FORMATS = Panel("Formats")


def export(
    model: options.ModelFile,
    onnx: Annotated[
        Path | None,
        FORMATS.option(
            "File to write for onnxruntime 1.17 or newer (opset 20): texts in, labels and probabilities out."
        ),
        File.WRITTEN,
    ] = None,
    sklearn: Annotated[
        Path | None,
        FORMATS.option(
            "File to write for scikit-learn: a pipeline of its own classes, as .skops (no code in it) or "
            ".pkl (a pickle, which runs code when it is opened)."
        ),
        File.WRITTEN,
    ] = None,
    json: Annotated[
        Path | None,
        FORMATS.option(
            "File to write for other languages, in the format of docs/exporting.md; .json.gz is compressed."
        ),
        File.WRITTEN,
    ] = None,
    trust: options.Trust = False,
) -> None:
    """Write a model for programs without dropglm, which predict the same labels and probabilities."""
    from dropglm import exports
    from dropglm.exports.sklearn_file import FORMATS as SUFFIXES
    from dropglm.text.fitted_model import load_fitted_model

    chosen = {"--onnx": onnx, "--sklearn": sklearn, "--json": json}
    if not any(chosen.values()):
        raise bad_option(" / ".join(chosen), "name at least one file to write.")
    for name, path in chosen.items():
        if path is not None:
            check_output(path, name)
    if sklearn is not None and sklearn.suffix.lower() not in SUFFIXES:
        raise bad_option(
            "--sklearn", f"{sklearn} must end in {' or '.join(SUFFIXES)}, which says how it is written."
        )
    classifier = load_fitted_model(model, trust=trust)
    # Those that refuse more models come first.
    for write, path in ((exports.write_onnx, onnx), (exports.write_json, json)):
        if path is not None:
            write(classifier, path)
            terminal.message(f"wrote {path}.")
    if sklearn is not None:
        needed = exports.write_sklearn(classifier, sklearn)
        is_pickle = sklearn.suffix.lower() == ".pkl"
        warning = ", a pickle, which runs code when it is opened" if is_pickle else ""
        terminal.message(f"wrote {sklearn}{warning}.")
        if needed:
            terminal.message(f"{sklearn} needs dropglm still, for {' and '.join(needed)}.")


def card(
    model: options.ModelFile,
    out: Annotated[
        Path | None,
        OUTPUT.option("Markdown file to write; by default standard output.", "--out", "-o"),
        File.WRITTEN,
    ] = None,
    name: Annotated[str | None, OUTPUT.option("Name of the model; by default that of its file.")] = None,
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
