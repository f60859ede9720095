"""All pages in Chromium: what axe finds, a phone's width, script in names, the manager's work."""

import re
import subprocess
import tarfile

import pytest


@pytest.fixture(scope="module")
def axe(tmp_path_factory):
    """The text of axe-core, from npm."""
    folder = tmp_path_factory.mktemp("axe")
    command = ["npm", "pack", "--silent", "axe-core@4"]
    try:
        subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=120)
    except (OSError, subprocess.SubprocessError) as error:
        pytest.skip(f"axe-core is not to be had from npm here: {error}")
    with tarfile.open(next(folder.glob("*.tgz"))) as packed:
        return packed.extractfile("package/axe.min.js").read().decode()


def visit(page, papers, path):
    """One of the pages, with everything on it."""
    page.goto(f"{papers.site.address}/" if not path else f"{papers.place}/{path}")
    if path == "label":
        page.locator("#question").wait_for()
    elif path == "manage":
        page.locator("#fresh", has_text="Up to date").wait_for()


def in_doubt(papers):
    """Three people disagree on two nodes; the rows."""
    own, people = papers.campaign, ("p1", "p2", "p3")
    for person in people:
        rows = [question.row for question in own.lease(person, 2)[0]]
        for row in rows:
            own.give_back(person, row)
    for code, person in enumerate(people):
        for row in rows:
            own.close_question(person, row, "answer", code)
    own.learner.caught_up(own.last, 20)
    return rows


def serious(page, axe):
    page.evaluate(axe)
    found = page.evaluate("() => axe.run()")["violations"]
    return [
        (each["id"], each["nodes"][0]["html"]) for each in found if each["impact"] in ("serious", "critical")
    ]


@pytest.mark.slow
def test_axe_finds_nothing_serious_and_nothing_is_wider_than_a_phone(opened, papers, axe):
    in_doubt(papers)
    page = opened(papers.link("manager"))
    for path in ("", "label", "manage"):
        page.emulate_media(color_scheme="light")
        page.set_viewport_size({"width": 360, "height": 740})
        visit(page, papers, path)
        assert serious(page, axe) == []
        assert page.evaluate("document.documentElement.scrollWidth") == 360
        page.emulate_media(color_scheme="dark")
        page.set_viewport_size({"width": 1200, "height": 800})
        assert serious(page, axe) == []
        if path == "label":
            page.keyboard.press("c")
            assert serious(page, axe) == []


@pytest.mark.slow
def test_script_in_names_is_shown_as_text(opened, site, payloads):
    """Ids, attributes, classes, comments and people, wherever a page shows them."""
    kept = [text for text in payloads if "\0" not in text]  # a table of text holds no NUL
    titles = [f"{kept[row % len(kept)]} {row}" for row in range(60)]
    papers = site.papers(kept, titles, column=kept[0], text=" ".join(kept), name=" ".join(kept))
    rows = in_doubt(papers)
    page = opened(papers.link("manager", kept[1]))
    for path in ("", "label", "manage"):
        visit(page, papers, path)
        if path == "label":
            assert page.locator("#classes button span").all_text_contents() == kept
            assert page.locator("#texts h2").text_content() == kept[0]
            assert " ".join(page.locator("#name").text_content().split()) in map(spaced, titles)
            page.locator("#near button").first.click()
            page.locator("#other-texts p").wait_for()
            page.keyboard.press("Escape")
            for text in kept:
                page.get_by_role("button", name="comment").click()
                page.locator("#comment-text").fill(text)
                page.keyboard.press("Control+Enter")
            assert page.locator("#comments li").count() == len(kept)
            page.locator("#classes button").first.click()
            page.locator("#past .saved").wait_for()
        elif path == "manage":
            page.locator("#doubts summary").first.click()
            page.locator("#doubts dl").wait_for()
            page.locator("#people th", has_text=kept[1]).wait_for()
            names = [spaced(name) for name in page.locator("#doubts h3").all_text_contents()]
            assert names and set(names) <= {spaced(titles[row]) for row in rows}
        assert page.evaluate("window.hit") is None
        strange = "img, iframe, style, script:not([src]):not([type='application/json'])"
        assert page.locator(strange).count() == 0


def spaced(text):
    return " ".join(text.split())


@pytest.mark.slow
def test_a_manager_sees_how_it_goes_and_decides(opened, papers):
    own, rows = papers.campaign, in_doubt(papers)
    page = opened(papers.link("manager", "Grace"))
    visit(page, papers, "manage")
    assert "of a budget of 30" in page.locator("#headline").inner_text()
    assert page.locator("#people tr").count() == 4
    first = page.locator("#doubts > li").first
    row = int(first.get_attribute("data-row"))
    assert row in rows
    first.get_by_role("button", name="Databases").click()
    page.locator(f"#doubts > li[data-row='{row}']").wait_for(state="detached")
    assert own.status.settled == {row: 1}
    assert page.evaluate("document.activeElement.closest('#doubts') !== null")  # on to the next one

    page.locator("#pause").click()
    page.locator("#pause", has_text="Go on").wait_for()
    assert own.status.paused
    page.locator("#more summary").click()
    page.locator("#options #budget").fill("1")
    page.keyboard.press("Enter")
    page.locator("#notice", has_text="give that or more").wait_for()
    page.locator("#options #budget").fill("40")
    page.keyboard.press("Enter")
    page.locator("#headline", has_text="of a budget of 40").wait_for()
    assert own.status.options.budget == 40 and page.locator("#notice").is_hidden()


@pytest.mark.slow
def test_a_campaign_that_stopped_says_why_and_goes_on_by_its_manager(opened, site):
    papers = site.papers(stop=1.0)
    own = papers.campaign
    for _ in range(10):
        own.close_question("p1", own.lease("p1", 1)[0][0].row, "answer", 0)
    labeller = opened(papers.link("labeller"))
    labeller.locator("#rest-text", has_text="less than 100.000%").wait_for()
    page = opened(papers.link("manager"))
    page.locator("#state", has_text="less than 100.000%").wait_for()
    page.locator("#more summary").click()
    assert page.locator("#options #stop").input_value() == "1"
    page.locator("#options #stop").fill("")
    page.keyboard.press("Enter")
    page.locator("#state", has_text="Running").wait_for()
    assert own.status.options.stop is None
    labeller.locator("#question").wait_for()


@pytest.mark.slow
def test_invitations(opened, papers):
    page = opened(papers.link("manager", "Grace"))
    visit(page, papers, "manage")
    page.locator("#invite-name").fill("Linus")
    page.get_by_role("button", name="Make a link").click()
    page.locator("#made").wait_for()
    assert "Only this machine can open it" in page.locator("#made-text").inner_text()
    invited = opened(page.locator("#made-link").input_value())
    invited.locator("#question").wait_for()
    assert invited.get_by_text("How it goes").count() == 0
    page.on("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Erase name Linus").click()
    page.locator("#people", has_not_text="Linus").wait_for()
    assert set(papers.site.server.store.people(papers.campaign.id).values()) == {"Grace"}
    page.get_by_role("button", name="Revoke the link of p").last.click()
    page.locator("#tokens", has_text="revoked").wait_for()
    invited.reload()
    assert "ask the manager for a new one" in invited.locator("main").inner_text()


@pytest.mark.slow
def test_exports(opened, papers):
    page = opened(papers.link("manager", "Grace"))
    visit(page, papers, "manage")  # until then links move as lists above them fill, and a click goes astray
    page.get_by_role("link", name="CSV", exact=True).click()
    page.locator("#notice", has_text="no answer").wait_for()
    in_doubt(papers)
    visit(page, papers, "manage")
    page.locator("#anonymous").check()
    for name, begins in (
        ("CSV", "node,"), ("JSON lines", '{"node'), ("Answers as CSV", "node,outcome,"), ("Events", '{"seq'),
    ):  # fmt: skip
        with page.expect_download() as started:
            page.get_by_role("link", name=name, exact=True).click()
        text = started.value.path().read_text()
        assert text.startswith(begins) and "p1" not in text


@pytest.mark.slow
def test_a_reader_looks_and_changes_nothing(opened, papers):
    in_doubt(papers)
    page = opened(papers.link("reader", "Ken"))
    page.locator("#fresh", has_text="Up to date").wait_for()
    assert page.locator("#doubts li").count() > 0
    assert page.locator("#doubts button, #pause, #invite, #people").count() == 0


@pytest.mark.slow
def test_a_page_names_nobody_to_a_reader(opened, papers):
    own = papers.campaign
    people = [papers.link(name=name).rpartition("=")[2] for name in ("Ann", "Bob", "Cem")]
    who = [papers.site.server.gate.entered(secret).person for secret in people]
    row = own.lease(who[0])[0][0].row
    for code, person in enumerate(who):
        own.had.add((row, person))
        own.close_question(person, row, "answer", code)
    own.comment(who[0], row, "odd")
    own.learner.caught_up(own.last, 20)
    page = opened(papers.link("reader", "Ken"))
    doubt = page.locator("#doubts > li").first
    doubt.wait_for()
    doubt.locator("summary").first.click()
    doubt.locator("dl").wait_for()
    text = doubt.inner_text()
    assert "Agents by somebody" in text and "somebody: odd" in text
    assert not re.search("Ann|Bob|Cem|" + "|".join(who), page.content())


@pytest.mark.slow
def test_the_graph_is_drawn_in_the_colours_of_the_classes(opened, papers):
    from querist.report.figures import DARK, LIGHT

    in_doubt(papers)
    own = papers.campaign
    for code, row in enumerate((5, 25, 45)):
        own.verdict("p", row, code)
    for scheme, colours in (("light", LIGHT), ("dark", DARK)):
        page = opened(papers.link("manager"), color_scheme=scheme)
        page.locator("#map-text", has_text="answered").wait_for()
        pixels = page.evaluate(
            "() => { const c = document.getElementById('map'), d = c.getContext('2d');"
            " const all = d.getImageData(0, 0, c.width, c.height).data;"
            " return [...new Set(new Uint32Array(all.buffer))] }"
        )
        # Little end first: red, green, blue, and how opaque.
        opaque = [pixel.to_bytes(4, "little") for pixel in pixels if pixel >> 24 == 255]
        found = {f"#{pixel[:3].hex()}" for pixel in opaque}
        assert found >= {colours[f"class-{code}"] for code in range(3)}


# -- a new campaign ----------------------------------------------------------------------------------------


@pytest.fixture
def graph_files(tmp_path):
    """Edges, nodes and a few labels of a graph of two rings, in files."""
    ends = [(20 * c + i, 20 * c + (i + s) % 20) for c in range(2) for i in range(20) for s in (1, 3)]
    texts = {
        "edges.csv": "source,target\n" + "".join(f"{a},{b}\n" for a, b in [*ends, (0, 20)]),
        "nodes.csv": "id,title\n" + "".join(f"{i},Paper {i}\n" for i in range(40)),
        "labels.csv": "node,label\n0,cat\n",
        "odd.csv": "source,target,weight\n0,1,heavy\n",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.fixture
def everywhere(site):
    """A link that makes whoever opens it the manager of the server."""
    return f"{site.address}/enter?token={site.server.gate.invite(None, 'manager')[1]}"


@pytest.mark.slow
def test_a_campaign_is_made_in_the_browser_and_answered(opened, site, everywhere, graph_files, axe):
    page = opened(everywhere, viewport={"width": 360, "height": 740})
    page.get_by_role("link", name="New campaign").click()

    page.get_by_role("button", name="Create the campaign").click()
    page.locator("#edges-wrong", has_text="Choose a file").wait_for()
    page.locator("#edges").set_input_files(graph_files / "odd.csv")
    page.locator("#nodes").set_input_files(graph_files / "nodes.csv")
    page.locator("#labels").set_input_files(graph_files / "labels.csv")
    page.locator("#classes").fill("cow\ndog")
    page.locator("#audit").fill("41")

    def refused(field, says):
        page.get_by_role("button", name="Create the campaign").focus()
        page.keyboard.press("Enter")
        page.locator(f"#{field}-wrong", has_text=says).wait_for()
        assert page.evaluate("document.activeElement.id") == field
        assert page.locator("[aria-invalid=true]").count() == 1

    refused("edges", "'weight' is String, not numbers")
    assert serious(page, axe) == []
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    page.emulate_media(color_scheme="dark")
    assert serious(page, axe) == []
    page.locator("#edges").set_input_files(graph_files / "edges.csv")
    refused("audit", "audit 41; it must lie between 0 and the 40 nodes")
    page.locator("#audit").fill("2")
    refused("labels", "'cat' is not among the classes")
    page.locator("#classes").fill("cow, dog, cat")

    page.locator("#budget").fill("7")
    page.locator("#stop").fill("0.001")
    page.locator("#overlap").fill("2")
    page.locator("#strategy").select_option("random")
    page.locator("#name").fill("Papers of mine")
    page.keyboard.press("Enter")
    page.wait_for_url("**/manage")
    id = page.url.split("/")[-2]
    own = site.server.views(id).campaign
    spec = own.asking.specification
    assert (own.name, own.classes, own.status.options.budget) == ("Papers of mine", ("cow", "dog", "cat"), 7)
    assert own.status.options.stop == 0.001
    assert (spec.audit, spec.overlap, spec.second_opinions, spec.strategy) == (2, 2, False, "random")
    page.locator("#invite").wait_for()
    page.get_by_role("link", name="Answer questions").click()
    page.locator("#question").wait_for()
    page.locator("#classes button", has_text="dog").click()
    page.locator("#past .saved").wait_for()
    assert [event.body["code"] for event in site.server.store.events(id) if event.kind == "answer"] == [1]


@pytest.mark.slow
def test_a_campaign_of_several_labels_a_node_is_made_by_its_form(opened, everywhere, site, graph_files):
    page = opened(everywhere)
    page.goto(f"{page.url}new")
    page.locator("#edges").set_input_files(graph_files / "edges.csv")
    page.locator("#classes").fill("cat, dog")
    page.locator("#multilabel").select_option("true")
    page.locator("#find").fill("cat")
    page.keyboard.press("Enter")
    page.locator("#find-wrong", has_text="several labels a node").wait_for()
    page.locator("#find").fill("")
    page.keyboard.press("Enter")
    page.wait_for_url("**/manage")
    assert site.server.views(page.url.split("/")[-2]).campaign.asking.multilabel


@pytest.mark.slow
def test_whoever_may_not_create_campaigns_sees_no_form(opened, papers):
    page = opened(papers.link("manager"))
    page.goto(papers.site.address)
    assert page.get_by_role("link", name="New campaign").count() == 0
    page.goto(f"{papers.site.address}/new")
    assert "takes the manager of the server" in page.locator("main").inner_text()


@pytest.mark.slow
def test_how_far_the_server_is_with_a_new_campaign_is_shown(opened, everywhere, graph_files):
    page = opened(everywhere)
    page.goto(f"{page.url}new")
    page.route("**/v1/campaigns/files", lambda route: (
        route.fulfill(json={"fraction": 0.25, "text": "embedding the graph"})
        if route.request.method == "GET" else None
    ))  # fmt: skip
    page.locator("#edges").set_input_files(graph_files / "edges.csv")
    page.locator("#classes").fill("cat, dog")
    page.get_by_role("button", name="Create the campaign").click()
    page.locator("#doing", has_text="Embedding the graph").wait_for()
    assert page.locator("#progress").evaluate("bar => bar.value") == 0.25


@pytest.mark.slow
def test_axe_finds_nothing_serious_in_check_boxes(opened, site, axe):
    papers = site.papers(multilabel=True)
    own = papers.campaign
    (question,), _ = own.lease("p1", 1)
    own.close_question("p1", question.row, "answer", [0, 1])
    page = opened(papers.link("manager"), viewport={"width": 360, "height": 740})
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        visit(page, papers, "label")
        page.keyboard.press("t")
        assert serious(page, axe) == []
        assert page.evaluate("document.documentElement.scrollWidth") == 360
