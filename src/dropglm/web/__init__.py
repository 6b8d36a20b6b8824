"""Local web pages and services: what ``dropglm serve`` and ``dropglm label`` share, and each of the two.

An application consists of routes, the files of a page and ``SecurityMiddleware``; ``running`` runs it with
uvicorn. Nothing here is imported unless one of these commands runs.
"""

from dropglm.base.imports import import_extra


def require_server(purpose: str) -> None:
    """Raise an error unless the packages are installed that a server needs."""
    for package in ("starlette", "uvicorn"):
        import_extra(package, "label", purpose)
