"""The server of the workbench answers its own pages alone: each test is an attempt to get more."""

import asyncio

import pytest
from starlette.testclient import TestClient

from validation.workbench.application import application
from validation.workbench.guard.accounts import Accounts
from validation.workbench.guard.guard import MOST_FORM_BYTES, Guard
from validation.workbench.guard.hosts import allowed_host
from validation.workbench.guard.limits import Limits
from validation.workbench.guard.tokens import Tokens
from validation.workbench.pages.routes import ROUTES

HERE = "http://127.0.0.1:8765"
POSTS = [route.path for route in ROUTES if "POST" in (getattr(route, "methods", None) or ())]
INTERFACE = [path for path in POSTS if path.startswith("/api/")]  # takes JSON, which no form of another site can send
WITH_TOKEN = [path for path in POSTS if path not in (*INTERFACE, "/login")]  # at /login there is no session yet
BOMB = b"""<?xml version="1.0"?><!DOCTYPE platform [<!ENTITY a "aaaaaaaaaa">
<!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]><platform version="4.1"><zone id="&b;" routing="None"/></platform>"""


def filled(path):
    """Return the path of a route with the values of its parameters."""
    return path.replace("{number:int}", "1").replace("{action}", "cancel")


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example:8765", "192.168.1.7:8765", "", "a b"])
def test_a_name_of_another_site_that_resolves_to_this_computer_is_refused(client, host):
    assert client.get("/queue", headers={"host": host}).status_code == 421


@pytest.mark.parametrize("host", ["127.0.0.1:8765", "localhost:9000", "[::1]:8765", "LOCALHOST"])
def test_the_own_names_are_answered_through_tunnels_too(client, host):
    assert client.get("/queue", headers={"host": host}).status_code == 200


def test_on_other_addresses_numbers_and_names_of_this_computer_are_hosts():
    names = frozenset({"node1", "node1.site"})
    assert all(allowed_host(host, "0.0.0.0", names) for host in ("10.0.0.5:8765", "Node1:8765", "node1.site"))
    assert not allowed_host("evil.example", "0.0.0.0", names)


def test_behind_a_proxy_its_name_is_answered_over_tls_with_a_secure_cookie(desk, project):
    tokens = Tokens(project.secret())
    made = application(desk, tokens, names=("grid.example.org",))
    with TestClient(made, base_url="https://grid.example.org", follow_redirects=False) as client:
        entered = client.get(f"/queue?token={tokens.access}")
        assert entered.headers["location"] == "/queue" and "; Secure" in entered.headers["set-cookie"]
        assert client.get("/queue").status_code == 200
        assert client.get("/queue", headers={"host": "node1.site"}).status_code == 421


@pytest.mark.parametrize(
    "headers",
    [{}, {"origin": "http://evil.example"}, {"origin": "null"}, {"origin": "http://127.0.0.1:1"},
     {"origin": "http://127.0.0.1:8765.evil.example"}],
)  # fmt: skip
def test_a_form_of_another_site_is_refused(client, headers):
    said = {path: client.post(filled(path), data={"form_token": "x"}, headers=headers).status_code for path in POSTS}
    assert said == dict.fromkeys(POSTS, 403)


@pytest.mark.parametrize("token", [None, "", "0" * 40, "é"])
def test_a_form_without_the_token_of_the_session_does_nothing(client, desk, cases, token):
    desk.queue.add("one", "Ann", cases(2))
    client.get("/queue")
    data = {} if token is None else {"form_token": token}
    for path in WITH_TOKEN:
        answer = client.post(filled(path), data=data, headers={"origin": HERE})
        assert answer.status_code == 400 and "does not come from this workbench" in answer.text, path
        assert desk.queue.suite(1).counts["waiting"] == 2, path
        assert not any(desk.project.platforms.iterdir()) and not any(desk.project.suites.iterdir()), path


def test_the_interface_takes_no_forms(client, desk, cases):
    desk.queue.add("one", "Ann", cases(2))
    for path in INTERFACE:
        answer = client.post(filled(path), data={"name": "two"}, headers={"origin": HERE})
        assert answer.status_code == 400 and "no JSON object" in answer.text, path
    assert desk.queue.suite(1).counts["waiting"] == 2 and not any(desk.project.suites.iterdir())


def test_the_token_of_another_session_does_not_fit(client, project):
    token = Tokens(project.secret()).form("0" * 32)
    client.get("/queue")
    answer = client.post("/panel", data={"form_token": token}, headers={"origin": HERE})
    assert answer.status_code == 400


def test_the_policy_lets_no_inline_script_run_and_no_page_frame_it(client):
    for path in ("/platforms", "/panel", "/queue", "/results", "/nowhere", "/static/style.css"):
        headers = client.get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'; script-src 'self'; style-src 'self'" in policy and "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy and headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("path", ["/platforms", "/platforms/new", "/panel", "/queue", "/results"])
def test_pages_have_no_inline_script_or_style_and_name_no_other_host(client, path):
    text = client.get(path).text
    assert "<style" not in text and " style=" not in text and " onclick" not in text and "<script>" not in text
    assert "http://" not in text and "https://" not in text
    assert '"allowEval": false' in text and '"includeIndicatorStyles": false' in text


def test_what_users_type_is_text_on_pages(client, desk, cases):
    desk.queue.add("<script>alert(1)</script>", '"><img src=x>', cases(1))
    text = client.get("/queue").text
    assert "<script>alert" not in text and "<img" not in text and "&lt;script&gt;" in text


@pytest.mark.parametrize(
    "name", ["..%2F..%2Fetc%2Fpasswd", "%2Fetc%2Fpasswd", "%2e%2e", ".xml", "a%00.xml", "secret.xml"]
)
def test_paths_outside_of_the_folder_of_platforms_do_not_exist(client, project, tmp_path, name):
    (tmp_path / "secret.xml").write_text("<platform/>")
    (project.platforms / "secret.xml").symlink_to(tmp_path / "secret.xml")
    for path in (f"/platforms/{name}", f"/platforms/{name}/file.xml", f"/platforms/{name}/picture.svg"):
        answer = client.get(path)
        assert answer.status_code in (303, 400, 404) and "root:" not in answer.text
    assert client.get(f"/static/{name}").status_code == 404
    assert "secret.xml" not in client.get("/platforms").text


@pytest.mark.parametrize("name", ["grid.so", "grid.toml", "a b.xml", "", ".xml", "x" * 100 + ".xml"])
def test_uploads_of_other_kinds_and_names_are_refused(send, project, name):
    assert send("/platforms/upload", files={"file": (name, b"<platform/>")}).status_code == 400
    assert list(project.folder.rglob("*grid*")) == []


def test_the_folders_in_the_name_of_an_upload_are_left_out(send, project):
    send("/platforms/upload", files={"file": ("../../grid.xml", b"<platform/>")})
    assert list(project.folder.parent.rglob("*.xml")) == [project.platforms / "grid.xml"]


def test_an_upload_that_is_too_large_is_refused_before_it_is_read(send, monkeypatch):
    monkeypatch.setattr("validation.workbench.guard.guard.MOST_UPLOAD_BYTES", 2 << 20)
    answer = send("/platforms/upload", files={"file": ("big.xml", b" " * (3 << 20))})
    assert answer.status_code == 413


def test_a_form_may_not_be_as_large_as_an_upload(send):
    assert send("/panel", {"suite_name": "x" * (MOST_FORM_BYTES + 1)}).status_code == 413


def test_other_methods_are_refused(client):
    assert {client.request(method, "/queue").status_code for method in ("PUT", "DELETE", "OPTIONS", "TRACE")} == {405}


def run_guard(messages, *, headers, accounts, body_s=5.0, pause_s=5.0):
    """Return what the guard sends for a request whose body comes in these (pause in s, bytes, more) parts."""
    sent, parts = [], list(messages)

    async def receive():
        pause_s, body, more = parts.pop(0)
        await asyncio.sleep(pause_s)
        return {"type": "http.request", "body": body, "more_body": more}

    async def send(message):
        sent.append(message)

    async def app(scope, receive, send):
        while (await receive())["more_body"]:
            pass
        await send({"type": "http.response.start", "status": 200, "headers": []})

    headers = [*headers, (b"cookie", f"workbench_8765={accounts.begin('owner', 'here')}".encode())]
    scope = {"type": "http", "method": "POST", "path": "/panel", "query_string": b"", "headers": headers,
             "scheme": "http", "server": ("127.0.0.1", 8765), "client": ("127.0.0.1", 50000)}  # fmt: skip
    guard = Guard(app, tokens=Tokens(b"secret"), accounts=accounts, limits=Limits(), may_read=None, bound="127.0.0.1",
                  body_s=body_s, pause_s=pause_s)  # fmt: skip
    asyncio.run(guard(scope, receive, send))
    return sent[0]["status"]


@pytest.fixture
def accounts(project):
    made = Accounts(project.private / "accounts.sqlite")
    yield made
    made.close()


OURS = [(b"host", b"127.0.0.1"), (b"origin", b"http://127.0.0.1")]


def test_a_body_without_a_stated_length_is_counted(accounts):
    part = b" " * (1 << 18)
    assert run_guard([(0, part, True), (0, part, False)], headers=OURS, accounts=accounts) == 200
    assert run_guard([(0, part, True)] * 5, headers=OURS, accounts=accounts) == 413


def test_a_slow_upload_is_ended(accounts):
    assert run_guard([(0.5, b"x", False)], headers=OURS, accounts=accounts, pause_s=0.05) == 408
    assert run_guard([(0.05, b"x", True)] * 20, headers=OURS, accounts=accounts, body_s=0.2) == 408


def test_headers_that_decide_may_not_be_there_twice(accounts):
    assert run_guard([(0, b"", False)], headers=[*OURS, (b"host", b"evil.example")], accounts=accounts) == 400


def test_code_in_suites_runs_only_where_the_server_allows_it(send, desk, project):
    (project.suites / "own.toml").write_text('scenarios = ["grid4x2"]\npredictors = ["mine.py:NAME"]\n')
    form = {"suite_name": "own", "user": "Ann", "platforms": "grid4x2", "predictors": "mine.py:NAME"}
    answer = send("/panel", form)
    assert answer.status_code == 400 and "--allow-programs" in answer.text
    assert desk.queue.suites() == []


def test_variants_of_predictors_are_no_code(desk):
    desk.start()
    assert desk.count('scenarios = ["grid4x2"]\npredictors = ["npt:ls", "dpgraph:known"]\n').runs == 3
    with pytest.raises(Exception, match="'mine:NAME' is code"):
        desk.count('scenarios = ["grid4x2"]\npredictors = ["mine:NAME"]\n')


@pytest.mark.parametrize(
    "line", ['platforms = ["../../x.xml"]', 'platforms = ["/etc/passwd"]', 'scenarios = ["../../y.toml"]']
)
def test_suites_name_files_of_the_project_alone(desk, line):
    desk.start()
    with pytest.raises(Exception, match="outside of the project folder"):
        desk.count(line)


def test_an_xml_bomb_is_refused_by_the_reader(tmp_path):
    from platforms.errors import UserError
    from validation.workbench.work.reading import show

    (tmp_path / "bomb.xml").write_bytes(BOMB)
    with pytest.raises(UserError, match="entit"):
        list(show(tmp_path, str(tmp_path / "bomb.xml")))
