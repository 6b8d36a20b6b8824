"""``llms.txt``: every page of the site with its first sentence, for programs that read documentation."""

from collections.abc import Iterator
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

DETAILS = "reference/generated/"  # pages of single names, which come last


def in_order(env: BuildEnvironment, docname: str, seen: set[str]) -> Iterator[str]:
    """Yield the pages in the order of the tables of contents."""
    if docname not in seen:
        seen.add(docname)
        yield docname
        for below in env.toctree_includes.get(docname, ()):
            yield from in_order(env, below, seen)


def first_sentence(env: BuildEnvironment, docname: str) -> str:
    """Return the first sentence of a page's first paragraph."""
    found = env.get_doctree(docname).findall(nodes.paragraph)
    paragraph = next((each for each in found if isinstance(each.parent, nodes.section)), None)
    text = " ".join(paragraph.astext().split()) if paragraph is not None else ""
    return text if text.endswith(".") and ". " not in text else text.split(". ")[0].rstrip(".:") + "."


def write(sphinx: Sphinx, error: Exception | None) -> None:
    """Write the list, with links to the sources of pages where these are Markdown."""
    if error is not None or sphinx.builder.format != "html":
        return
    env = sphinx.env
    pages = list(in_order(env, env.config.root_doc, set()))
    pages.sort(key=lambda docname: docname.startswith(DETAILS))
    lines = [f"# {env.config.project} {env.config.release}", "", f"> {first_sentence(env, pages[0])}", ""]
    for docname in pages[1:]:
        suffix = Path(env.doc2path(docname)).suffix
        address = f"_sources/{docname}{suffix}.txt" if suffix == ".md" else f"{docname}.html"
        title = env.titles[docname].astext()
        lines.append(f"- [{title}]({env.config.html_baseurl}{address}): {first_sentence(env, docname)}")
    Path(sphinx.outdir, "llms.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


def setup(sphinx: Sphinx) -> dict[str, bool]:
    """Register the last step of a build."""
    sphinx.connect("build-finished", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
