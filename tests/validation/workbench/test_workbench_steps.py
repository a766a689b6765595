"""Steps of applications as fields: their values, the names that are offered, and their times on a system."""

import html
import re
import shutil
import tomllib

import pytest

pytest.importorskip("starlette", reason="the extra workbench is not installed")

from platforms.errors import UserError
from validation.workbench.editing.step_fields import FIELDS, fields_of_step, names_for, with_values
from validation.workbench.editing.steps import EXAMPLES
from validation.workbench.project.folder import checked_name
from validation.workbench.web.colours import darkened


def test_every_example_of_a_step_has_fields_with_its_values():
    for text in EXAMPLES.values():
        step = tomllib.loads(f"step = {text}")["step"]
        fields = {field.key: shown for field, shown in fields_of_step(step, {})}
        inner = {"do", "then", "else"}
        assert {key for key, shown in fields.items() if shown} == set(step) - inner


@pytest.mark.parametrize(
    ("text", "changes", "wanted"),
    [('{ compute = "n" }', {"compute": "2 * n"}, {"compute": "2 * n"}),
     ("{ compute = 5 }", {"compute": "1e9"}, {"compute": 1e9}),
     ("{ allreduce = 8 }", {"among": "a, b"}, {"allreduce": 8, "among": ["a", "b"]}),
     ('{ allreduce = 8, among = ["a"] }', {"among": ""}, {"allreduce": 8}),
     ("{ wait = true }", {"wait": "edge"}, {"wait": "edge"}),
     ('{ wait = "edge" }', {"wait": "all"}, {"wait": True}),
     ('{ send_to = "a", bytes = 1 }', {"buffered": "true", "request": "r"},
      {"send_to": "a", "bytes": 1, "buffered": True, "request": "r"}),
     ('{ repeat = 3, do = [{ compute = 1 }] }', {"repeat": "k", "as": "turn"},
      {"repeat": "k", "as": "turn", "do": [{"compute": 1}]}),
     ('{ call = "own", size = 2 }', {"size": "3"}, {"call": "own", "size": 3})],
)  # fmt: skip
def test_a_value_of_a_step_is_changed_in_its_text(text, changes, wanted):
    named = {"own": {"parameters": ["size"], "do": []}}
    assert tomllib.loads(f"step = {with_values(text, changes, named)}")["step"] == wanted


def test_a_value_that_a_step_does_not_have_is_refused():
    with pytest.raises(UserError, match="no value 'bytes'"):
        with_values("{ compute = 1 }", {"bytes": "1"}, {})
    assert fields_of_step({"nothing": 1}, {}) == []
    assert len({field.key for field in FIELDS["send_to"]}) == len(FIELDS["send_to"])


def test_the_names_of_a_step_are_those_that_its_expressions_may_use():
    values = tomllib.loads(
        'variables = { n = 8 }\nfunctions = { "cost(k)" = "k" }\n[labels.p]\ncount = 2\n'
        'program = [{ repeat = 3, as = "k", do = [{ compute = "n" }] }]\n'
        '[steps.s]\nparameters = ["m"]\ndo = [{ compute = 1 }]\n'
    )  # fmt: skip
    names = {name for name, _ in names_for(values, ("labels", "p", "program", 0, "do", 0))}
    assert {"n", "cost", "p", "index", "k", "part", "sum"} <= names and "m" not in names
    assert "m" in {name for name, _ in names_for(values, ("steps", "s", "do", 0))}


def test_the_time_of_each_step_is_shown_on_a_system(client, change, project):
    shutil.copy("validation/workbench/editing/examples/master-slave.toml", project.applications / "ms.toml")
    shutil.copy("examples/systems/merpsys.toml", project.platforms / "figure-1.toml")
    page = html.unescape(client.get("/applications/ms.toml?cost=figure-1.toml").text)
    # By hand: 4 rounds of 2e10 operations on a core of 27.2 Gflop/s.
    assert f"{4 * 2e10 / 27.2e9:.3g} s computing" in page
    assert "s computing" not in client.get("/applications/ms.toml?cost=-").text
    change("/applications/ms.toml", "set", part="labels.slave1.program.0.do.1", **{"field:compute": "2 * operations"})
    assert '{ compute = "2 * operations" },' in client.get("/applications/ms.toml/draft.toml").text
    assert f"{8 * 2e10 / 27.2e9:.3g} s computing" in html.unescape(
        client.get("/applications/ms.toml?cost=figure-1.toml").text
    )
    fields = client.get("/applications/ms.toml?part=labels.slave1.program.0.do.1").text
    assert re.search(r'<input id="field-compute" name="field:compute" value="2 \* operations"[^>]* data-names>', fields)


@pytest.mark.parametrize("name", ["żółć", "集群", "सिस्टम", "кластер-2"])
def test_files_have_names_of_any_script(client, send, change, name):
    assert send("/systems/new", {"file_name": name}).status_code == 303
    address = f"/systems/{name}.toml"
    assert change(address, "save").status_code == 303
    assert name in client.get("/platforms").text and client.get(address).status_code == 200
    headers = client.get(f"{address}/draft.toml").headers["content-disposition"]
    assert "filename*=UTF-8''%" in headers and headers.isascii()
    assert client.get(f"{address}/draft.xml").status_code == 200


@pytest.mark.parametrize("name", ["a/b", "..", "-a", "a\u202eb", "a b", "a.b", "\u0301a", "a" * 61, "集" * 67, ""])
def test_names_that_could_deceive_or_lead_elsewhere_are_refused(name):
    with pytest.raises(UserError, match="cannot be the name of a file"):
        checked_name(name, "name")


def test_a_picture_for_a_dark_page_has_dark_paper_and_light_ink():
    paper, ink, other = darkened("#ffffff #000000 #1a1a1a").split()
    assert paper == "#14181c" and int(ink[1:3], 16) > 220 and int(other[1:3], 16) > 200
    hue = darkened("#3b528b")
    assert int(hue[5:7], 16) > int(hue[1:3], 16)  # blue stays blue
