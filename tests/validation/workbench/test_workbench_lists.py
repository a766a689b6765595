"""Lists of the workbench: logs of runs, what the places do, and who sees them."""

import pytest

from validation.workbench.dispatch.places import Place
from validation.workbench.queue.logs import keep_log
from validation.workbench.work.process import Worker


@pytest.fixture
def logged(desk, cases):
    """A suite of Ann with a run that failed and has a log, and one that waits."""
    desk.queue.add("one", "Ann", cases(2))
    (run,) = desk.queue.take(1).runs.values()
    desk.queue.finish(run, [], "no route")
    keep_log(desk.queue.tables, 1, run, ["</pre><script>alert(1)</script>", "failed: no route"], failed=True)
    return run


def test_the_log_of_a_run_is_plain_text_for_who_queued_it_and_for_owners(client, logged, person):
    shown = client.get("/queue/1/runs/1/log")
    assert shown.status_code == 200 and shown.headers["content-type"].startswith("text/plain")
    assert shown.headers["x-content-type-options"] == "nosniff"
    assert "run 1 of suite one of Ann: failed" in shown.text and "failed: no route" in shown.text
    ann, eve, viewer = (
        person(role, name)[0] for role, name in (("editor", "Ann"), ("editor", "Eve"), ("viewer", "Vi"))
    )
    assert ann.get("/queue/1/runs/1/log").status_code == 200
    assert 'href="/queue/1/runs/1/log"' in ann.get("/queue/1").text
    for browser in (eve, viewer):
        assert browser.get("/queue/1/runs/1/log").status_code == 400
        assert "runs/1/log" not in browser.get("/queue/1").text
    for run, problem in ((2, "no log is kept of it"), (0, "no such run"), (3, "no such run"), (10**30, "no such run")):
        assert problem in client.get(f"/queue/1/runs/{run}/log").text
    link = client.app.state.accounts.make_link("suite", 1, "Ann")
    viewer.cookies.clear()
    viewer.get(f"/share/{link}")
    assert viewer.get("/queue/1").status_code == 200 and viewer.get("/queue/1/runs/1/log").status_code == 403


def test_the_queue_shows_what_each_place_does(client, desk, logged):
    place = Place(desk.queue.take(1), Worker(desk.project))
    place.hear(1, "[    0.50 s] hcf predicts <b>cg</b>")
    desk.dispatcher._at_work[1] = place
    text = client.get("/queue/part").text
    assert 'Place 1</strong> <span class="soft">idle' in text
    assert "run 2: cg S on grid4x2, 2 ranks" in text and "hcf predicts &lt;b&gt;cg&lt;/b&gt;" in text
