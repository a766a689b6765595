"""Access to a workbench: the token, sessions, accounts with roles, links to read, and the list of who did what."""

import io
import re
import stat

import pytest
from starlette.testclient import TestClient

from platforms.errors import UserError
from validation.workbench.application import application
from validation.workbench.cli import COMMAND_USER
from validation.workbench.guard import accounts as accounts_module
from validation.workbench.guard.tokens import Tokens
from validation.workbench.pages.entering import place_in

HERE = "http://127.0.0.1:8765"
PASSWORD = "correct horse battery"


@pytest.fixture
def tokens(project):
    return Tokens(project.secret())


@pytest.fixture
def made(desk, tokens):
    return application(desk, tokens)


@pytest.fixture
def browsers(made):
    """Return a function that gives a new browser, which is not logged in; the server runs."""
    with TestClient(made, base_url=HERE, follow_redirects=False) as first:
        yield lambda: TestClient(made, base_url=HERE, follow_redirects=False) if first else None


def log_in(browser, name, secret, place="/queue"):
    data = {"account": name, "secret": secret, "next": place}
    return browser.post("/login", data=data, headers={"origin": HERE})


def post(browser, path, **fields):
    token = re.search(r'name="form_token" value="(\w+)"', browser.get("/platforms").text)[1]
    return browser.post(path, data={"form_token": token, **fields}, headers={"origin": HERE})


@pytest.fixture
def people(made, browsers):
    """Return an owner, an editor called Eva and a viewer, each with a browser that is logged in."""
    logged_in = []
    for name, role in (("Otto", "owner"), ("Eva", "editor"), ("Vera", "viewer")):
        made.state.accounts.add_user(name, role, PASSWORD)
        browser = browsers()
        assert log_in(browser, name, PASSWORD).headers["location"] == "/queue"
        logged_in.append(browser)
    return logged_in


def test_on_this_computer_too_a_browser_needs_the_token_which_its_cookie_has_not(browsers, tokens):
    browser = browsers()
    sent = browser.get("/results?suite=3&app=cg")
    assert sent.status_code == 303 and sent.headers["location"] == "/login?next=%2Fresults%3Fsuite%3D3%26app%3Dcg"
    assert 'value="/results?suite=3&amp;app=cg"' in browser.get(sent.headers["location"]).text
    assert browser.get("/queue?token=0").status_code == 303
    entered = browser.get(f"/results/7?token={tokens.access}&x=1")
    assert entered.headers["location"] == "/results/7?x=1"  # the page that the link names, without the token
    cookie = entered.headers["set-cookie"]
    assert cookie.startswith("workbench_8765=") and tokens.access not in cookie
    assert "HttpOnly" in cookie and "SameSite=Lax" in cookie and "Max-Age=604800" in cookie
    assert browser.get("/queue").status_code == 200


def test_who_types_the_token_comes_to_the_page_that_was_asked_for(browsers, tokens):
    browser = browsers()
    assert log_in(browser, "", "0" * 48).status_code == 403
    assert log_in(browser, "", tokens.access, "/results/9").headers["location"] == "/results/9"
    assert log_in(browser, "", tokens.access, "//evil.example/x").headers["location"] == "/platforms"


@pytest.mark.parametrize("place", ["", "//evil.example", "/\\evil.example", "https://evil.example", "/a\nb", "/login"])
def test_a_login_leads_to_no_other_server(place):
    assert place_in(place) == "/platforms"


def test_parts_and_streams_of_one_who_is_not_logged_in_say_so(browsers):
    browser = browsers()
    part = browser.get("/queue/part", headers={"hx-request": "true", "hx-current-url": f"{HERE}/queue/1?state=done"})
    assert part.status_code == 401 and part.headers["hx-redirect"] == "/login?next=%2Fqueue%2F1%3Fstate%3Ddone"
    assert browser.get("/queue/events", headers={"accept": "text/event-stream"}).status_code == 401
    assert browser.post("/panel", headers={"origin": HERE}).status_code == 401


def test_a_session_ends_by_logging_out_by_an_owner_and_by_itself(browsers, tokens, made, monkeypatch):
    first, second = browsers(), browsers()
    for browser in (first, second):
        browser.get(f"/?token={tokens.access}")
    kept = dict(second.cookies)
    assert post(second, "/logout").headers["location"] == "/login"
    assert first.get("/queue", cookies={}).status_code == 200
    assert browsers().get("/queue", cookies=kept).status_code == 303  # the id is worth nothing any more
    second.get(f"/?token={tokens.access}")
    number = made.state.accounts.sessions()[0]["id"]
    post(first, "/access/end", number=number)
    assert second.get("/queue").status_code == 303
    second.get(f"/?token={tokens.access}")
    assert post(first, "/logout", others="1").headers["location"] == "/access"
    assert second.get("/queue").status_code == 303 and first.get("/queue").status_code == 200
    monkeypatch.setattr(accounts_module, "SESSION_S", -1.0)
    assert first.get("/queue").status_code == 303


def test_sessions_outlive_a_restart_and_the_token_does_not(desk, browsers, tokens, project):
    browser = browsers()
    browser.get(f"/?token={tokens.access}")
    again = TestClient(application(desk, Tokens(project.secret())), base_url=HERE, follow_redirects=False)
    assert again.get("/queue", cookies=dict(browser.cookies)).status_code == 200
    assert again.get(f"/?token={tokens.access}").headers["location"].startswith("/login")


def test_files_have_no_passwords_and_no_session_ids(people, project, tokens):
    path = project.private / "accounts.sqlite"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    content = path.read_bytes()
    assert content.count(b"$argon2id$") >= 3 and PASSWORD.encode() not in content
    assert all(session.encode() not in content for browser in people for session in dict(browser.cookies).values())


def test_passwords_cannot_be_guessed_one_after_the_other(browsers, made):
    made.state.accounts.add_user("Ann", "owner", PASSWORD)
    browser = browsers()
    made.state.accounts._hasher = Quick  # so that the test is
    statuses = [log_in(browser, "Ann", f"guess {number}").status_code for number in range(12)]
    assert statuses == [403] * 10 + [429] * 2
    assert log_in(browser, "Ann", PASSWORD).status_code == 429


class Quick:
    """A hash that takes no time and fits nothing."""

    def hash(self, password):
        return ""

    def verify(self, hashed, password):
        from argon2.exceptions import VerifyMismatchError

        raise VerifyMismatchError


def test_a_viewer_changes_nothing_and_an_editor_suites_of_their_own(people, desk, cases):
    owner, editor, viewer = people
    desk.queue.add("mine", "Eva", cases(2))
    desk.queue.add("his", "Otto", cases(2))
    assert viewer.get("/queue/1").status_code == 200 and 'id="cancel-1"' not in viewer.get("/queue").text
    assert post(viewer, "/queue/1/cancel").status_code == 403
    assert 'id="cancel-1"' in editor.get("/queue").text and 'id="cancel-2"' not in editor.get("/queue").text
    answer = post(editor, "/queue/2/remove")
    assert answer.status_code == 400 and "it is of Otto. Ask that person, or an owner" in answer.text
    assert post(editor, "/queue/1/cancel").status_code == 303 and post(owner, "/queue/1/remove").status_code == 303
    assert [suite.name for suite in desk.queue.suites()] == ["his"]
    assert owner.get("/access").status_code == 200
    assert [browser.get("/access").status_code for browser in (editor, viewer)] == [400, 400]


def test_a_suite_belongs_to_the_account_whatever_the_form_says(people, desk):
    form = {
        "suite_name": "one",
        "user": "Otto",
        "platforms": "grid4x2",
        "apps": "ep",
        "classes": "S",
        "predictors": "hcf",
    }
    assert post(people[1], "/panel", **form).headers["location"] == "/queue/1"
    assert desk.queue.suite(1).owner == "Eva"
    listed = people[0].get("/access").text
    assert "queued the suite one as number 1" in listed and '<td data-title="who">Eva</td>' in listed


def test_the_audit_list_has_who_did_what(people, desk, cases):
    desk.queue.add("mine", "Eva", cases(1))
    post(people[1], "/queue/1/cancel")
    post(people[0], "/queue/1/remove")
    listed = people[0].get("/access").text
    assert listed.index("removed suite 1, mine of Eva") < listed.index("cancelled suite 1, mine of Eva")
    assert listed.count("logged in") >= 3


def test_a_removed_account_is_logged_out_at_once(people, made):
    made.state.accounts.remove_user("Eva")
    assert people[1].get("/queue").status_code == 303
    with pytest.raises(UserError, match="Known: Otto, Vera"):
        made.state.accounts.remove_user("Eva")


@pytest.fixture
def results(desk, cases, row):
    """Two suites of two runs with a result each: numbers 1 and 2 of the first, 3 and 4 of the second."""
    for name in ("shared", "secret"):
        (desk.project.private / "queued" / f"{desk.queue.add(name, 'Ann', cases(2))}.toml").write_text("")
        job = desk.queue.take(2)
        for run in job.runs.values():
            desk.queue.finish(run, [row()])


def test_a_link_shows_a_suite_and_nothing_else_until_it_is_taken_back(people, browsers, results):
    link = re.search(r"/share/[\w-]+", post(people[1], "/links", kind="suite", number="1").text)[0]
    guest = browsers()
    assert guest.get(link).headers["location"] == "/queue/1"
    may = ("/queue/1", "/queue/1/part", "/queue/1/suite.toml", "/results?suite=1", "/results?suite=1&sort=ranks",
           "/results.csv?suite=1", "/results/figure?suite=1", "/results/1", "/results/2/timeline",
           "/results/2/graph")  # fmt: skip
    assert {path: guest.get(path).status_code for path in may} == dict.fromkeys(may, 200)
    may_not = ("/queue", "/queue/2", "/queue/1/remove", "/results", "/results?suite=2", "/results?suite=1&suite=2",
               "/results?suite=1&other=2", "/results?other=1", "/results.csv", "/results/3", "/results/compare?first=1",
               "/platforms", "/panel", "/access", "/applications", "/results.csv?suite=2", "/views/1",
               "/hardware")  # fmt: skip
    assert {path: guest.get(path).status_code for path in may_not} == dict.fromkeys(may_not, 403)
    assert (
        "secret" not in guest.get("/results?suite=1").text and "secret" not in guest.get("/results/figure?suite=1").text
    )
    for path in (
        "/results?suite=1&mark=3&mark=4",
        "/results?suite=1&mark=3&marked=only",
        "/results/figure?suite=1&mark=3",
    ):
        shown = guest.get(path).text  # results of the other suite may be named, but they are not shown
        assert 'data-result="3"' not in shown and "/results/3" not in shown and "saved views" not in shown
    assert guest.post("/queue/1/cancel", headers={"origin": HERE}).status_code == 403
    post(people[0], "/access/take-back", number="1")
    assert guest.get("/queue/1").status_code == 303 and guest.get(link).status_code == 404


def test_a_link_to_a_result_shows_that_result_alone(people, browsers, results):
    link = re.search(r"/share/[\w-]+", post(people[1], "/links", kind="result", number="3").text)[0]
    guest = browsers()
    assert guest.get(link).headers["location"] == "/results/3"
    paths = ("/results/3", "/results/4", "/results?suite=2", "/queue/2")
    assert [guest.get(path).status_code for path in paths] == [200, 403, 403, 403]
    before = dict(people[0].cookies)
    assert people[0].get(link).headers["location"] == "/results/3" and dict(people[0].cookies) == before


def test_the_command_adds_lists_and_removes_accounts(tmp_path, monkeypatch, capsys):
    def run(*words, typed=""):
        monkeypatch.setattr("sys.stdin", io.StringIO(typed))
        status = COMMAND_USER.main([*words, "--folder", str(tmp_path / "mine")])
        said = capsys.readouterr()
        return status, said.out + said.err

    assert run("list") == (0, "no accounts\n")
    assert run("add", "Ann", "--role", "viewer", typed=f"{PASSWORD}\n") == (0, "Ann may log in as viewer\n")
    assert run("list") == (0, "Ann  viewer\n")
    for words, typed, said in (
        (("add", "Ann"), f"{PASSWORD}\n", "there is an account of this name"),
        (("add", "Bob"), "short\n", "5 characters"),
        (("remove", "Eve"), "", "Known: Ann"), (("add",), "", "NAME: missing"),
    ):  # fmt: skip
        status, line = run(*words, typed=typed)
        assert status == 2 and said in line
    assert run("remove", "Ann")[0] == 0 and run("list") == (0, "no accounts\n")
    assert run("list", "Ann")[0] == 2
