import pytest

from app.conversations.thread import ThreadStorageError
from app.server.errors import answer_to
from app.server.runs import QueueFullError
from core.errors import IndexBusy, StoreUnavailable


@pytest.mark.parametrize(
    ("error", "status", "seconds"),
    [
        (StoreUnavailable("No connection was free.", retry_after=5), 503, "5"),
        (StoreUnavailable("It cannot be reached."), 503, None),
        (QueueFullError(7), 429, "7"),
        (IndexBusy("It is being changed."), 503, None),
        (ThreadStorageError("The disk is full."), 507, None),
    ],
)
def test_an_error_has_its_status_and_when_to_come_again_where_that_is_known(
    error: Exception, status: int, seconds: str | None
) -> None:
    answer = answer_to(error)
    assert (answer.status_code, answer.headers.get("retry-after")) == (status, seconds)
