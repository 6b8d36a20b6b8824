"""``dropglm export`` and ``dropglm card``: a model for programs without dropglm, and for readers."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from dropglm.base.files import replacing
from dropglm.cli import options, terminal
from dropglm.cli.files import check_output
from dropglm.cli.options import OUTPUT, File, Panel, bad_option

FORMATS = Panel("Formats")
SUFFIXES = {"--onnx": (".onnx",), "--sklearn": (".skops", ".pkl"), "--json": (".json", ".json.gz")}


def export(
    model: options.ModelFile,
    outputs: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="FILE",
            help="Files to write, in the formats of their suffixes: .onnx, .json, .skops, .pkl.",
        ),
        File.WRITTEN,
    ] = None,
    out: Annotated[
        list[Path] | None,
        FORMATS.option("The same as FILE; may be repeated.", "--out", "-o"),
        File.WRITTEN,
    ] = None,
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
    from dropglm.text.fitted_model import load_fitted_model

    chosen: dict[str, Path | None] = {"--onnx": onnx, "--sklearn": sklearn, "--json": json}
    for path in (*(outputs or ()), *(out or ())):
        option = _option_of(path)
        if chosen[option] is not None:
            raise bad_option("FILE", f"{path} and {chosen[option]} are in the same format; name one of them.")
        chosen[option] = path
    onnx, sklearn, json = chosen.values()
    if not any(chosen.values()):
        raise bad_option("FILE", "name at least one file to write, such as model.onnx.")
    for name, file in chosen.items():
        if file is not None:
            check_output(file, name)
    if sklearn is not None and sklearn.suffix.lower() not in SUFFIXES["--sklearn"]:
        names = " or ".join(SUFFIXES["--sklearn"])
        raise bad_option("--sklearn", f"{sklearn} must end in {names}, which says how it is written.")
    classifier = load_fitted_model(model, trust=trust)
    # Those that refuse more models come first.
    for write, file in ((exports.write_onnx, onnx), (exports.write_json, json)):
        if file is not None:
            write(classifier, file)
            terminal.message(f"wrote {file}.")
    if sklearn is not None:
        needed = exports.write_sklearn(classifier, sklearn)
        is_pickle = sklearn.suffix.lower() == ".pkl"
        warning = ", a pickle, which runs code when it is opened" if is_pickle else ""
        terminal.message(f"wrote {sklearn}{warning}.")
        if needed:
            terminal.message(f"{sklearn} still requires dropglm for {' and '.join(needed)}.")


def _option_of(path: Path) -> str:
    """Return the option that writes a file with this suffix."""
    for option, suffixes in SUFFIXES.items():
        if path.name.lower().endswith(suffixes):
            return option
    known = ", ".join(suffix for suffixes in SUFFIXES.values() for suffix in suffixes)
    raise bad_option("FILE", f"{path} must end in one of {known}, which says how it is written.")


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
