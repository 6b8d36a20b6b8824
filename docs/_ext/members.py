"""Which members of a class the reference shows: those that are written in dropglm."""

from typing import Any

from sphinx.application import Sphinx


def skip_foreign(sphinx: Sphinx, kind: str, name: str, member: Any, skip: bool, options: Any) -> bool | None:
    """Skip methods that scikit-learn and other packages add; scikit-learn's own pages describe them."""
    function = member.fget if isinstance(member, property) else getattr(member, "__func__", member)
    module = getattr(function, "__module__", None)
    if module is not None and not module.startswith("dropglm"):
        return True
    return None


def setup(sphinx: Sphinx) -> dict[str, bool]:
    """Register the filter."""
    sphinx.connect("autodoc-skip-member", skip_foreign)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
