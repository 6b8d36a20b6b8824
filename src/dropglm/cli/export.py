"""``dropglm export``: a model for programs without dropglm."""

from pathlib import Path
from typing import Annotated

from dropglm.cli import options, terminal
from dropglm.cli.inputs_outputs import check_output
from dropglm.cli.options import File, bad_option, option

FORMATS = "Formats"


def export(
    model: options.ModelFile,
    onnx: Annotated[
        Path | None,
        option(
            FORMATS,
            "File to write for onnxruntime 1.17 or newer (opset 20): texts in, labels and probabilities out.",
        ),
        File.WRITTEN,
    ] = None,
    sklearn: Annotated[
        Path | None,
        option(
            FORMATS,
            "File to write for scikit-learn: a pipeline of its own classes, as .skops (no code in it) or "
            ".pkl (a pickle, which runs code when it is opened).",
        ),
        File.WRITTEN,
    ] = None,
    json: Annotated[
        Path | None,
        option(
            FORMATS,
            "File to write for other languages, in the format of docs/exporting.md; .json.gz is compressed.",
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
    if onnx is not None:
        exports.write_onnx(classifier, onnx)
        _say(onnx)
    if json is not None:
        exports.write_json(classifier, json)
        _say(json)
    if sklearn is not None:
        needed = exports.write_sklearn(classifier, sklearn)
        _say(
            sklearn, "a pickle, which runs code when it is opened" if sklearn.suffix.lower() == ".pkl" else ""
        )
        if needed:
            terminal.message(f"{sklearn} needs dropglm still, for {' and '.join(needed)}.")


def _say(path: Path, what: str = "") -> None:
    terminal.message(f"wrote {path}{', ' if what else ''}{what}.")
