"""`querist ask` at the terminal: one key answers; off it a line does; and what programs read."""

import csv
import io
import json
import os
import subprocess
import sys
import threading

import pytest

from querist.asking.keys import COMMANDS, command_keys, keys_for
from querist.asking.store.sqlite import only_campaign
from querist.cli import conversation, main
from querist.cli.conversation import legend

EDGES = [
    ("ann", "bob"),
    ("bob", "cy"),
    ("cy", "ann"),
    ("dan", "eve"),
    ("eve", "fay"),
    ("fay", "dan"),
    ("cy", "dan"),
]
TEXT = {
    "ann": "guitar piano drums", "bob": "piano drums", "cy": "guitar drums", "dan": "goal ball",
    "eve": "ball team goal", "fay": "team goal",
}  # fmt: skip
LABELS = {name: "music" if name in ("ann", "bob", "cy") else "sport" for name in TEXT}


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("QUERIST_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("querist.cli.screen.QUIET_SECONDS", 600.0)  # what is said does not hang on the clock
    for name, head, rows in (
        ("edges.csv", ("source", "target"), EDGES),
        ("nodes.csv", ("node", "hobbies"), TEXT.items()),
        ("labels.csv", ("node", "label"), LABELS.items()),
        ("more.csv", ("source", "target"), [("gil", "fay"), ("gil", "eve")]),
    ):
        with (tmp_path / name).open("w", newline="") as file:
            csv.writer(file).writerows([head, *rows])
    return tmp_path


@pytest.fixture
def querist(capsys, files):
    def run(*arguments, code=0):
        found = main(arguments)
        out, err = capsys.readouterr()
        assert found == code, err
        return out if code == 0 else err

    return run


def typed(*arguments, keys):
    """A process whose input is a pipe."""
    done = subprocess.run(
        [sys.executable, "-m", "querist", *arguments],
        input="".join(f"{key}\n" for key in keys),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


KINDS = {"nodes", "classes", "multilabel", "strategy", "asked", "answers", "unsure", "skipped", "budget",
         "stopped", "known", "audit", "finding", "people", "journal",
         "out", "places"}  # fmt: skip


def test_json_tells_programs_everything(querist, files):
    found = json.loads(
        querist("ask", "edges.csv", "--nodes", "nodes.csv", "--oracle", "labels.csv", "--budget", "5",
                "--audit", "1", "--json", "-o", "out.csv", "--journal", "j")
    )  # fmt: skip
    assert set(found) == KINDS
    assert (found["asked"], found["answers"], found["classes"]) == (5, 5, ["music", "sport"])
    assert found["audit"]["answered"] == 1
    assert 0 <= found["audit"]["interval"][0] <= found["audit"]["interval"][1] <= 1
    assert found["out"] == "out.csv" and found["journal"] == "j"
    with (files / "out.csv").open() as file:
        rows = {row["node"]: row for row in csv.DictReader(file)}
    assert rows.keys() == LABELS.keys()
    assert sum(rows[node]["label"] == LABELS[node] for node in rows) >= 5


@pytest.mark.parametrize(
    ("way", "means"),
    [("pool", "contrast"), ("random", "random"), ("margin", "margin")],
)
def test_each_resolve_strategy_runs_and_is_remembered(querist, way, means):
    common = ("ask", "edges.csv", "--oracle", "labels.csv", "--journal", "j")
    said = querist(*common, "--budget", "2", "--strategy", way)
    assert "2 answers;" in said
    assert json.loads(querist(*common, "--budget", "3", "--json"))["strategy"] == means
    other = "ambiguity" if way == "random" else "random"
    assert f"begun with strategy '{means}', now it is '{other}'" in querist(
        *common, "--strategy", other, code=2
    )


def test_edges_that_arrived_join_the_campaign(querist, files):
    common = ("ask", "edges.csv", "--oracle", "labels.csv", "--journal", "j", "--json")
    assert json.loads(querist(*common, "--budget", "2"))["nodes"] == 6
    first = json.loads(querist(*common, "--budget", "4", "--extend", "more.csv", "-o", "out.csv"))
    assert first["nodes"] == 7
    again = json.loads(querist(*common, "--budget", "4", "--extend", "more.csv"))
    assert again["nodes"] == 7
    with (files / "out.csv").open() as file:
        assert len(list(csv.DictReader(file))) == 7


def test_a_program_answers_and_may_fail(querist, files):
    script = files / "answer.py"
    script.write_text(
        "import sys, pathlib\n"
        f"labels = {LABELS!r}\n"
        "if sys.argv[1] == 'eve' and not pathlib.Path('mended').exists(): sys.exit('eve is out')\n"
        "print(labels[sys.argv[1]])\n"
    )
    common = ("ask", "edges.csv", "--classes", "music,sport", "--budget", "6", "--journal", "j",
              "--oracle-command", f"{sys.executable} {script}")  # fmt: skip
    failed = querist(*common, code=2)
    assert "failed with exit status 1: eve is out; the question stays open" in failed
    (files / "mended").touch()
    assert "6 answers" in querist(*common)


def test_a_program_that_takes_too_long_or_answers_nonsense():
    from querist.asking.oracles import command_oracle
    from querist.errors import InputError

    with pytest.raises(InputError, match=r"no answer after 0\.2 s"):
        command_oracle(f"{sys.executable} -c 'import time; time.sleep(9)'", timeout=0.2)("ann")
    with pytest.raises(InputError, match="cannot be run"):
        command_oracle("/no/such/program")("ann")
    with pytest.raises(InputError, match="empty"):
        command_oracle("  ")
    assert command_oracle(f"{sys.executable} -c pass")("ann") is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--oracle", "labels.csv", "--oracle-command", "x"], "give one of them"),
        (["--oracle", "labels.csv", "-o", "out.docx"], "cannot tell the format"),
        (["--oracle", "labels.csv", "--classes", "music,sports"], "'sport'"),
        (["--oracle", "nothing.csv"], "nothing.csv"),
        (["--oracle-command", "echo"], "no classes: say what an answer may be, as in --classes cat,dog"),
        (["--oracle-command", "echo 'a", "--classes", "a,b"], "No closing quotation"),
        (["--oracle", "labels.csv", "-o", "labels.csv"], "labels.csv is read, and would be lost"),
        (["--oracle", "labels.csv", "-o", "./edges.csv"], "edges.csv is read, and would be lost"),
        (["--oracle", "labels.csv", "--strategy", "margni"], "did you mean 'margin'"),
        (["--oracle", "labels.csv", "--audit", "5", "--budget", "5"], "leaves no question to learn from"),
        (["--oracle", "labels.csv", "--labels", "more.csv"], "more.csv, line 2: node 'gil' is not in the"),
        (["--oracle", "labels.csv", "--audit", "99"], "between 0 and the 6 nodes"),
        (["--oracle", "labels.csv", "--journal", "no/j"], "there is no folder"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_cannot_be_is_said_in_one_line(querist, arguments, message):
    said = querist("ask", "edges.csv", *arguments, code=2)
    assert message in said
    assert said.count("\n") == 1


@pytest.mark.slow
def test_a_program_that_prints_no_text_or_leaves_children_behind(tmp_path):
    from querist.asking.oracles import command_oracle
    from querist.errors import InputError

    assert command_oracle("printf '\\377\\376'")("ann").startswith("\ufffd")
    child = tmp_path / "child"
    with pytest.raises(InputError, match=r"no answer after 1(\.0)? s.*the question stays open"):
        command_oracle(f"sh -c 'echo $$ > {child}; sleep 60; echo late'", timeout=1.0)("ann")
    with pytest.raises(ProcessLookupError):  # it was ended, and does not hold the pipe open
        os.kill(int(child.read_text()), 0)


def test_labels_go_beside_the_edges_where_no_place_is_named(querist, files):
    querist("ask", "edges.csv", "--oracle", "labels.csv", "--budget", "3")
    with (files / "edges.labelled.csv").open() as file:
        assert len(list(csv.DictReader(file))) == 6


@pytest.mark.slow
def test_a_data_set_by_its_name_is_asked_about(querist, files):
    found = json.loads(querist("ask", "karate", "--oracle", "karate", "--budget", "4", "--json"))
    assert (found["nodes"], found["answers"], found["classes"]) == (34, 4, ["Mr. Hi", "Officer"])
    assert found["out"] == "karate.labelled.csv" and (files / "karate.labelled.csv").is_file()
    assert "unknown data set 'karat'; did you mean 'karate'?" in querist("ask", "karat", code=2)
    shown = typed("ask", "karate", "--budget", "3", keys=["m", "q"])
    assert "[m] Mr. Hi   [o] Officer" in shown and "1 answer; left by the person" in shown
    assert (files / "karate.journal").is_file()


def test_columns_are_named_as_the_files_have_them(querist, files):
    (files / "met.csv").write_text("day,one,other\n" + "".join(f"1,{a},{b}\n" for a, b in EDGES))
    (files / "said.csv").write_text("row,who,likes\n" + "".join(f"1,{a},{b}\n" for a, b in LABELS.items()))
    words = (
        "ask",
        "met.csv",
        "--source",
        "one",
        "--target",
        "other",
        "--id",
        "who",
        "--label-column",
        "likes",
    )
    found = json.loads(querist(*words, "--oracle", "said.csv", "--budget", "6", "--json", "-o", "out.csv"))
    assert (found["answers"], found["classes"]) == (6, ["music", "sport"])
    with (files / "out.csv").open() as file:
        assert {row["node"]: row["label"] for row in csv.DictReader(file)} == LABELS


def test_known_labels_are_learned_and_never_asked(querist, files):
    (files / "known.csv").write_text("node,label\nann,music\nbob,music\n")
    common = ("ask", "edges.csv", "--nodes", "nodes.csv", "--oracle", "labels.csv", "--journal", "j")
    told = querist(*common, "--labels", "known.csv", "--budget", "9", "--classes", "music,sport")
    assert not {"ann", "bob"} & {line.split()[1].rstrip(":") for line in told.splitlines()[:4]}
    assert "4 answers; no node is left" in told
    found = json.loads(querist(*common, "--budget", "9", "--json"))
    assert (found["known"], found["answers"]) == (2, 4)
    (files / "known.csv").write_text("node,label\nann,sport\nbob,music\n")
    assert "known to be 'sport', and the journal has it as 'music'" in querist(
        *common, "--labels", "known.csv", code=2
    )


def test_classes_are_numbers_where_the_known_labels_are(querist, files):
    (files / "known.csv").write_text("node,label\nann,0\nbob,1\n")
    found = json.loads(
        querist("ask", "edges.csv", "--labels", "known.csv", "--classes", "0,1,2", "--oracle-command",
                "sh -c 'echo 2'", "--budget", "2", "--json")
    )  # fmt: skip
    assert found["classes"] == [0, 1, 2] and found["answers"] == 2


def test_nodes_with_attributes_arrive_and_the_oracle_knows_them(querist, files):
    kinds = {"music": "loud", "sport": "quick"}
    told = "".join(f"{node},{kinds[own]}\n" for node, own in LABELS.items())
    (files / "nodes.csv").write_text(f"node,kind\n{told}")
    (files / "nodes2.csv").write_text("kind,node\nquick,gil\nloud,hal\nloud,ann\n")
    (files / "labels.csv").open("a").write("gil,sport\nhal,music\nzoe,music\n")
    common = ("ask", "edges.csv", "--nodes", "nodes.csv", "--oracle", "labels.csv", "--journal", "j")
    assert json.loads(querist(*common, "--budget", "2", "--json"))["nodes"] == 6
    more = ("--extend", "more.csv", "--extend-nodes", "nodes2.csv")
    told = querist(*common, "--budget", "8", *more, "-o", "out.csv")
    assert "gil: sport" in told and "hal: music" in told and "8 answers" in told
    again = json.loads(querist(*common, "--budget", "8", "--json"))
    assert (again["nodes"], again["answers"]) == (8, 8)
    journal = only_campaign(files / "j")
    came = [event.body for event in journal.events if event.kind == "growth"]
    journal.store.close()
    assert sum(len(body["nodes"]) for body in came) == 2
    assert [entry for body in came for entry in body["attributes"]] == [[0, 1, 1.0], [1, 0, 1.0]]


def test_a_resumed_campaign_knows_the_nodes_that_came_before(querist, files):
    common = ("ask", "edges.csv", "--oracle", "labels.csv", "--journal", "j", "--json")
    (files / "labels.csv").open("a").write("gil,sport\n")
    querist(*common, "--budget", "1", "--extend", "more.csv")
    assert json.loads(querist(*common, "--budget", "9"))["answers"] == 7, "gil is asked about, and known"


@pytest.mark.slow
def test_lines_answer_where_there_is_no_terminal(files):
    common = ("ask", "edges.csv", "--nodes", "nodes.csv", "--budget", "4")
    shown = typed(*common, "--classes", "music,sport", keys=["m", "zebra", "sport", "u", "p", "?", "s"])
    assert "hobbies: " in shown and "neighbours: " in shown and "why: " in shown
    assert "'zebra' is none of the keys" in shown
    assert "taken back" in shown and "unsure: kept" in shown and "skip: kept" in shown
    assert "left" in shown, "the input has ended"
    assert (files / "edges.journal").is_file(), "a person's answers are kept without being asked to"
    rest = typed(*common, "-o", "out.csv", keys=["m", "m", "m", "m"])
    assert "Going on after 2 answers" in rest
    assert "the budget of 4 answers is spent" in rest
    assert (files / "out.csv").is_file()


@pytest.mark.slow
def test_one_key_answers_at_a_terminal(files):
    pexpect = pytest.importorskip("pexpect")
    child = pexpect.spawn(
        sys.executable,
        ["-m", "querist", "ask", "edges.csv", "--nodes", "nodes.csv", "--classes", "music,sport", "--budget",
         "3", "-o", "out.csv"],
        timeout=90, encoding="utf-8", dimensions=(50, 120), env={**os.environ, "TERM": "xterm"},
    )  # fmt: skip

    def shown(number):
        child.expect(rf"Question {number} of 3: node (\w+)")
        node = child.match[1]
        child.expect(r"hobbies: (\w+)")
        assert TEXT[node].startswith(child.match[1])
        for part in ("neighbours: ", "guess: ", "why: ", r"\[m\] music   \[p\] sport   \[s\] skip", "> "):
            child.expect(part)
        return node

    def key_of(node):
        return "m" if LABELS[node] == "music" else "p"

    first = shown(1)
    child.send("x")
    child.expect("'x' is none of the keys")
    child.send("p" if key_of(first) == "m" else "m")
    child.expect(": kept")
    shown(2)
    child.send("u")
    child.expect("taken back")
    assert shown(1) == first
    child.send(key_of(first))
    second = shown(2)
    child.send("s")
    child.expect("skip: kept")
    third = shown(2)
    assert third not in (first, second)
    child.send(key_of(third))
    last = shown(3)
    child.send("q")
    child.expect("left")
    child.expect("2 answers; left by the person")
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 0
    with (files / "out.csv").open() as file:
        rows = {row["node"]: row["label"] for row in csv.DictReader(file)}
    assert rows[first] == LABELS[first] and rows[third] == LABELS[third]
    again = typed("ask", "edges.csv", "--nodes", "nodes.csv", "--budget", "3", keys=["q"])
    assert f"node {last}" in again, "the very question that was open"


def at_terminal(pexpect, *arguments, **options):
    # The size is the terminal's own, not one that the environment of the tests names.
    environment = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
    return pexpect.spawn(
        sys.executable,
        ["-m", "querist", "ask", *arguments],
        timeout=90, encoding="utf-8", dimensions=(50, 120), env={**environment, "TERM": "xterm"}, **options,
    )  # fmt: skip


@pytest.mark.slow
def test_arrow_keys_are_no_answers(files):
    pexpect = pytest.importorskip("pexpect")
    many = ",".join(["apes", "bears", "cats", "owls", "newts"])  # the arrows' letters are keys
    child = at_terminal(pexpect, "edges.csv", "--classes", many, "--budget", "3")
    child.expect("Question 1 of 3")
    child.expect("> ")
    child.send("\x1b[A\x1bOB\x1b[1;5C")  # up, down, Ctrl-right: their letters are keys
    child.send("b")
    child.expect("bears: kept")
    child.expect("Question 2 of 3")
    child.expect("> ")
    child.sendintr()
    child.expect("every answer is kept in edges.journal")
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 130
    with only_campaign(files / "edges.journal") as journal:
        kinds = [event.kind for event in journal.events]
    assert kinds == ["campaign", "question", "answer", "question"]


def test_an_arrow_key_that_comes_in_two_pieces_is_no_answer(monkeypatch):
    monkeypatch.setattr(conversation, "REST_SECONDS", 60)
    ours, terminal = os.openpty()
    with open(terminal, encoding="utf-8") as typed:
        monkeypatch.setattr(sys, "stdin", typed)
        keyboard = conversation.Keyboard(["apes", "bears"])  # the arrow's letter is a key
        os.write(ours, b"\x1b")
        rest = threading.Timer(0.3, os.write, (ours, b"[Ab"))
        rest.start()
        assert keyboard.read() == ("answer", 1)
        rest.join()
    os.close(ours)


@pytest.mark.parametrize("typed", [b"\x1bbc", b"\x1b\x1b[Bc", b"\x1b[1;5Bc"])
def test_a_letter_with_alt_is_no_answer(monkeypatch, typed):
    ours, terminal = os.openpty()
    with open(terminal, encoding="utf-8") as typing:
        monkeypatch.setattr(sys, "stdin", typing)
        keyboard = conversation.Keyboard(["apes", "bears", "cats"])
        os.write(ours, typed)
        assert keyboard.read() == ("answer", 2)
    os.close(ours)


@pytest.mark.parametrize(
    ("names", "line", "meant"),
    [
        (["Senior", "Junior"], "S", ("answer", 0)),
        (["leave", "Quit", "uns"], "U", ("answer", 2)),
        (["More", "Less"], "MORE", ("answer", 0)),
        (["cats", "dogs"], "SKIP", ("skip", -1)),
    ],
)
def test_a_line_means_a_class_before_a_command_in_another_case(monkeypatch, names, line, meant):
    monkeypatch.setattr(sys, "stdin", io.StringIO(line + "\n"))
    assert conversation.Keyboard(names).read() == meant


@pytest.mark.slow
def test_edges_by_way_of_a_pipe_leave_the_terminal_to_the_person(files):
    pexpect = pytest.importorskip("pexpect")
    child = pexpect.spawn(
        "sh", ["-c", f"cat edges.csv | {sys.executable} -m querist ask - --classes music,sport --budget 1"],
        timeout=90, encoding="utf-8", dimensions=(50, 120), env={**os.environ, "TERM": "xterm"},
    )  # fmt: skip
    child.expect("> ")
    child.send("m")
    child.expect("music: kept")
    child.expect("querist.labelled.csv: a label for each of 6 nodes")
    child.expect(pexpect.EOF)
    assert (files / "querist.journal").is_file()


def test_a_wide_row_is_cut_and_what_is_empty_left_out():
    import pyarrow as pa

    from querist.tables.names import NodeTexts

    wide = {"age": [None], "id": ["ann"], **{f"w{k}x": [float(k % 2)] for k in range(60)}, "note": ["a  b"]}
    values = NodeTexts.of(pa.table(wide)).values(0)
    assert values[0] == ("w1x", "1.0") and values[-1] == ("note", "a b") and len(values) == 31
    assert NodeTexts.of(pa.table({"x": [0], "id": ["ann"], "y": [None]})).values(0) == [("x", "0")]


# -- several labels a node ----------------------------------------------------------------------------


SETS = {"ann": "music", "bob": "music;sport", "cy": "music", "dan": "sport", "eve": "music;sport", "fay": ""}


def several(files):
    with (files / "sets.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("node", "label"), *SETS.items()])
    return ("ask", "edges.csv", "--multilabel", "--journal", "j")


def test_a_file_answers_with_sets(querist, files):
    common = several(files)
    said = querist(*common, "--oracle", "sets.csv", "--budget", "4", "-o", "out.csv")
    said += querist("ask", "edges.csv", "--journal", "j", "--oracle", "sets.csv", "--budget", "9")
    for node, label in SETS.items():
        assert f" {node}: {label.replace(';', '; ') or 'unsure'}\n" in said
    with (files / "edges.labelled.csv").open() as file:
        rows = {row["node"]: row["label"] for row in csv.DictReader(file)}
    assert {**rows, "fay": ""} == SETS
    found = json.loads(querist(*common, "--oracle", "sets.csv", "--budget", "9", "--json"))
    assert found["multilabel"] is True and found["answers"] == 5
    refused = querist(*common[:3], "--oracle", "sets.csv", "--find", "music", code=2)
    assert "several labels a node" in refused


@pytest.mark.slow
def test_lines_with_sets_answer_where_there_is_no_terminal(files):
    out = typed(*several(files), "--classes", "music,sport", "--budget", "9",
                keys=["music;s p", "m;p", ";", "", "sport", "skip", "u", "?", "q"])  # fmt: skip
    assert "'music;s p' is none of the keys" in out
    said = [
        "music; sport: kept",
        "none of these: kept",
        "sport: kept",
        "skip: kept",
        "taken back",
        "unsure: kept",
    ]
    assert [out.count(each) for each in said] == [1, 1, 2, 1, 1, 1]
    assert "[;] between them, alone: none of these" in out
    with only_campaign(files / "j") as journal:
        codes = [event.body["code"] for event in journal.events if event.kind == "answer"]
    assert codes == [[0, 1], [], [1]]


@pytest.mark.slow
def test_keys_mark_classes_at_a_terminal_and_enter_sends_them(files):
    pexpect = pytest.importorskip("pexpect")
    child = at_terminal(pexpect, *several(files)[1:], "--classes", "music,sport", "--budget", "3")
    child.expect(r"\[Enter\] these, or none")
    child.expect("> ")
    for key, shown in (("p", "  sport"), ("m", "  music; sport"), ("p", "  music"), ("m", "  none of these")):
        child.send(key)
        child.expect_exact(f"{shown}\r\n")
    child.send("mp\r")
    child.expect("music; sport: kept")
    child.expect("> ")
    child.send("\r")
    child.expect("none of these: kept")
    child.expect("> ")
    child.send("q")
    child.expect("2 answers; left by the person")
    child.expect(pexpect.EOF)
    with only_campaign(files / "j") as journal:
        assert [event.body["code"] for event in journal.events if event.kind == "answer"] == [[0, 1], []]


# -- keys ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("names", "keys"),
    [
        ("0 1 2", "0 1 2"),
        ("1 0 10", "1 0 a"),
        ("roads waste parks water noise", "r w p a n"),
        ("s q sport", "s q p"),
        ("class1 class2 class10", "1 2 c"),
        ("A b", "A b"),
        ("Yes No", "y n"),
    ],
)
def test_keys_are_those_of_the_names(names, keys):
    assert keys_for(names.split()) == keys.split()


def test_no_digit_stands_for_another_class():
    """Whatever the classes are called, `1` is the class 1, or one that has a 1 in its name, or none."""
    for names in (["0", "1"], ["zero", "one"], ["x1", "x0"], [str(k) for k in range(30)], ["b2", "a1", "c"]):
        keys = keys_for(names)
        if keys is None:
            continue
        for name, key in zip(names, keys, strict=True):
            assert not key.isdigit() or key in name


def test_keys_are_distinct_and_leave_the_commands_theirs():
    kinds = [f"kind {chr(97 + k)}{chr(97 + k)}" for k in range(26)]
    for names in (kinds[:2], kinds[:9], kinds[:22], ["s", "u", "q", "?", "cat"]):
        keys, commands = keys_for(names), command_keys(names)
        assert len(set(keys)) == len(names) and commands.keys() == COMMANDS.keys()
        assert not set(keys) & set(commands.values())
    assert keys_for([f"kind {k}{k}" for k in range(40)]) is None
    said = "[c] cat   [d] dog   [s] skip   [?] unsure   [u] undo   [space] read on   [q] leave"
    assert legend(["cat", "dog"]) == said
    narrow = legend(["a long name", "bees"], 30).split("\n")
    assert narrow[:2] == ["[a] a long name   [b] bees", "[s] skip   [?] unsure"]
    assert "[-] skip" in legend(["s", "t"])


@pytest.mark.slow
def test_classes_that_outnumber_the_keys_are_written_out(files):
    many = ",".join(["music", "sport", *(f"kind {k}" for k in range(40))])
    shown = typed("ask", "edges.csv", "--classes", many, "--budget", "4", keys=["1", "kind 1", "mus", "skip"])
    assert "'1' is none of the keys" in shown, "a number is no class"
    assert "kind 1: kept" in shown and "music: kept" in shown and "skip: kept" in shown


# -- what is shown --------------------------------------------------------------------------------------


@pytest.fixture
def titled(files):
    """The nodes have titles, and ann has much to say."""
    long = " ".join(f"word{k}" for k in range(700))
    rows = [(node, f"{node.title()} the {LABELS[node]}al", long if node == "ann" else text)
            for node, text in TEXT.items()]  # fmt: skip
    with (files / "titled.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("node", "title", "hobbies"), *rows])
    return files


@pytest.mark.slow
def test_long_text_is_read_in_full(titled):
    pexpect = pytest.importorskip("pexpect")
    (titled / "known.csv").write_text("node,label\nbob,music\ncy,music\ndan,sport\neve,sport\nfay,sport\n")
    child = at_terminal(
        pexpect, "edges.csv", "--nodes", "titled.csv", "--labels", "known.csv", "--budget", "1"
    )
    child.expect(r"Question 1 of 1: node ann, Ann the musical")
    child.expect(r"hobbies: word0 .* \.\.\.")
    child.expect(r"neighbours: Bob the musical \(music\), Cy the musical \(music\)\s")
    child.expect(r"why: .*towards music: (Bob|Cy) the musical \(neighbour\) 0\.\d\d")
    child.expect(r"\[space\] read on")
    child.expect(r"\[\.{20}\] 0 of 1 answers")
    child.expect("> ")
    child.send(" ")
    child.expect("word699")
    child.expect("2 neighbours:")
    child.expect("> ")
    child.send(" ")
    child.expect(r"hobbies: word0 .* \.\.\.")
    child.expect("> ")
    child.send("m")
    child.expect("music: kept")
    child.expect("1 answer; the budget of 1 answer is spent")
    child.expect(pexpect.EOF)


@pytest.mark.slow
def test_the_name_column_can_be_chosen(titled):
    common = ("ask", "edges.csv", "--nodes", "titled.csv", "--classes", "music,sport")
    assert ", Ann the musical" in (shown := typed(*common, keys=["s"] * 6)) and "hobbies: guitar" in shown
    other = typed(*common, "--name-column", "hobbies", "--journal", "j", keys=["s"] * 6)
    assert "node cy, guitar drums" in other and "title: Cy the musical" in other


@pytest.mark.slow
def test_a_name_column_that_is_not_there_is_refused(querist, titled):
    common = ("ask", "edges.csv", "--classes", "music,sport", "--name-column", "nickname")
    assert "there is no table of nodes; give one as --nodes" in querist(*common, code=2)
    said = querist(*common, "--nodes", "titled.csv", code=2)
    assert "--name-column nickname: no such column; there are node, title, hobbies" in said
    shown = typed(*common[:-1], "title", "--nodes", "titled.csv", keys=["q"])
    assert "Question 1" in shown, "nothing was begun before"


@pytest.mark.slow
def test_skips_and_doubts_spend_nothing_and_have_a_limit(files):
    common = ("ask", "edges.csv", "--nodes", "nodes.csv", "--classes", "music,sport")
    shown = typed(*common, "--budget", "2", "--unanswered", "3", keys=["?", "m", "s", "p"])
    assert "1 unanswered (at most 3)" in shown and "2 unanswered (at most 3)" in shown
    assert "2 answers; the budget of 2 answers is spent" in shown
    shown = typed(*common, "--budget", "2", "--unanswered", "1", "--journal", "j", keys=["?", "m"])
    assert "0 answers; 1 question left unanswered, as many as may be" in shown


@pytest.mark.slow
def test_the_last_line_says_how_far_it_is(files, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    shown = typed("ask", "edges.csv", "--nodes", "nodes.csv", "--classes", "music,sport", "--budget", "4",
                  keys=["m", "p", "u", "s", "p", "q"])  # fmt: skip
    lines = [line for line in shown.splitlines() if line.startswith("[") and "] " in line and "of 4" in line]
    assert lines[:2] == ["[....................] 0 of 4 answers", "[#####...............] 1 of 4 answers"]
    assert "expected accuracy" not in shown, "too few answers to tell"
    assert lines[3] == lines[1], "an answer that is taken back is not counted"
    assert "1 unanswered (at most 10)" in lines[4]


@pytest.mark.slow
def test_the_example_can_be_answered_from_the_screen(files):
    pexpect = pytest.importorskip("pexpect")
    from querist.datasets import load_graph, table_of

    topics = dict(zip(load_graph("messages").nodes, load_graph("messages").labels, strict=True))
    texts = table_of("messages")
    child = at_terminal(pexpect, "messages", "--budget", "3")
    for number in range(1, 4):
        child.expect(rf"Question {number} of 3: node (m\d+), ([^\r]*)")
        node, title = child.match[1], child.match[2].strip()
        assert texts["title"][texts["node"].index(node)] == title
        child.expect("text: ")
        child.expect("> ")
        key = {"roads": "r", "waste": "w", "parks": "p", "water": "a", "noise": "n"}[topics[node]]
        child.send(key)
        child.expect(f"{topics[node]}: kept")
    child.expect("3 answers; the budget of 3 answers is spent")
    child.expect(pexpect.EOF)
