"""Local web pages and services: what ``dropglm serve`` and ``dropglm label`` share, and each of the two.

An application consists of routes, the files of a page and ``SecurityMiddleware``; ``running`` runs it with
uvicorn. Nothing here is imported unless one of these commands runs.
"""
