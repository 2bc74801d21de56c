"""All routes below `/mem0`. They are not in our OpenAPI document: mem0's own one describes them."""

from fastapi import APIRouter

from . import account, adding, finding, removing, single

router = APIRouter(include_in_schema=False)
for part in (
    adding.router,
    finding.router,
    removing.router,
    removing.erasing,
    single.router,  # after the paths that begin as its own do
    account.router,
    account.unserved,
):
    router.include_router(part)
